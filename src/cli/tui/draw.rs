//! Draws the screens.

use super::app::{App, Areas, Mode, SCREENS};
use super::gather::lock;
use super::listing::{Listing, Target};
use super::packets::{BYTES_IN_ROW, BYTES_WIDTH, COLUMNS, OFFSET, Packets, Pane};
use super::paint::{line_of, put};
use super::theme::{Theme, sign};
use super::windows::{columns, overlay};
use crate::browse::Row;
use crate::report::screen::shortened;
use crate::report::{duration, grouped_count};
use crate::text::digits::grouped;
use crate::text::escape::{escaped, truncated};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use std::sync::atomic::Ordering;
use unicode_width::UnicodeWidthStr;

/// The width from which on the tree and the bytes stand side by side.
const WIDE: u16 = 140;
/// On narrower screens the list has no lengths, and addresses are cut.
const NARROW: u16 = 100;
/// To this width.
const CUT_ADDRESS: usize = 15;
/// Draws everything.
pub fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    app.width = area.width;
    app.areas = Areas::default();
    app.tick();
    let buffer = frame.buffer_mut();
    tabs(app, buffer, line_of(area, 0));
    filter_line(app, buffer, line_of(area, 1));
    let body = Rect { y: area.y + 2, height: area.height.saturating_sub(3), ..area };
    match app.screen.checked_sub(1) {
        None => packets(app, buffer, body),
        Some(at) => {
            app.areas.list = listing(&mut app.listings[at], app.theme, buffer, body);
        }
    }
    last_line(app, buffer, Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area });
    match &mut app.mode {
        Mode::Overlay(text) => overlay(text, app.theme, buffer, area),
        Mode::Columns(at) => columns(*at, &app.packets, app.theme, buffer, area),
        _ => {}
    }
}

/// The names of the screens. Where there is no room for all, only the selected one has more than its number.
pub fn tab_names(selected: usize, width: u16) -> Vec<String> {
    let full = |(at, name): (usize, &&str)| format!(" {} {name} ", at + 1);
    let all: Vec<String> = SCREENS.iter().enumerate().map(full).collect();
    // The last one ends with a blank.
    if all.iter().map(String::len).sum::<usize>() <= usize::from(width) + 1 {
        return all;
    }
    let short = |(at, text)| if at == selected { text } else { format!(" {} ", at + 1) };
    all.into_iter().enumerate().map(short).collect()
}

fn tabs(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let mut x = area.x;
    for (at, text) in tab_names(app.screen, area.width).into_iter().enumerate() {
        let style = if at == app.screen { app.theme.selected() } else { Style::new() };
        let room = area.right().saturating_sub(x);
        buffer.set_stringn(x, area.y, &text, room.into(), style);
        x += text.len() as u16;
    }
    app.areas.tabs = area;
}

/// Draws how far the reading has come at the end of the line, behind `used` columns: the longest form that has room. Returns
/// the rest of the line.
fn state(app: &App, buffer: &mut Buffer, area: Rect, used: u16) -> Rect {
    for progress in progress(app) {
        let width = progress.width() as u16;
        if let Some(start) = area.right().checked_sub(width).filter(|start| *start > area.x + used) {
            put(buffer, Rect { x: start, width, ..area }, &progress, app.theme.dim());
            return Rect { width: start - area.x, ..area };
        }
    }
    area
}

/// How far the reading has come: in full, and shorter.
fn progress(app: &App) -> [String; 3] {
    let index = lock(&app.reading.shared.index);
    let left_out = match index.left_out {
        0 => String::new(),
        n => format!(", and {} without room", grouped(n)),
    };
    let packets = format!("{}{left_out}", grouped_count(app.length as u64, "packet"));
    let follows = if app.packets.follows { ", following" } else { "" };
    let (mib, size) = (app.reading.bytes.load(Ordering::Relaxed) >> 20, index.size() >> 20);
    let read = match app.reading.is_done() {
        true => String::new(),
        false => format!(" in {mib} MiB, {size} MiB kept"),
    };
    [
        format!("{packets}{read}{follows} "),
        format!("{packets}{follows} "),
        format!("{} ", grouped(app.length as u64)),
    ]
}

fn filter_line(app: &App, buffer: &mut Buffer, area: Rect) {
    let theme = app.theme;
    let (label, text, cursor) = match &app.mode {
        Mode::Filter(input, _) => (" Filter: ", input.text.as_str(), Some(input.cursor)),
        Mode::Search(input) => (" Search: ", input.text.as_str(), Some(input.cursor)),
        _ => (" Filter: ", app.filter.as_str(), None),
    };
    put(buffer, area, label, if cursor.is_some() { theme.bold() } else { theme.dim() });
    let area = match (cursor, escaped(text).width().max(20)) {
        (None, width) => state(app, buffer, area, (label.len() + width) as u16),
        // Whoever types needs the whole line.
        (Some(_), _) => area,
    };
    let room =
        Rect { x: area.x + label.len() as u16, width: area.width.saturating_sub(label.len() as u16), ..area };
    // The end of a long text is shown while it is typed.
    let before = cursor.map_or(0, |cursor| text[..cursor].width());
    let skipped = (before + 1).saturating_sub(room.width.into());
    let shown: String = escaped(text).chars().skip(skipped).collect();
    match (cursor, text) {
        (None, "") => put(buffer, room, "none (f: enter one)", theme.dim()),
        _ => put(buffer, room, &shown, Style::new()),
    }
    if let Mode::Filter(_, Some(wrong)) = &app.mode {
        let column = |at: usize| text.get(..at).unwrap_or(text).width().saturating_sub(skipped) as u16;
        let (from, to) = (column(wrong.at.start), column(wrong.at.end));
        let place = Rect {
            x: room.x + from.min(room.width),
            width: (to - from).min(room.width - from.min(room.width)),
            ..room
        };
        buffer.set_style(place, theme.wrong().add_modifier(Modifier::UNDERLINED));
    }
    if cursor.is_some() && room.width > 0 {
        let x = room.x + (before - skipped) as u16;
        if let Some(cell) = buffer.cell_mut((x.min(area.right().saturating_sub(1)), room.y)) {
            cell.set_style(theme.selected());
        }
    }
}

fn packets(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let list_height = (area.height * app.share / 100).max(3).min(area.height);
    let list = Rect { height: list_height, ..area };
    let rest = Rect { y: area.y + list_height, height: area.height - list_height, ..area };
    packet_list(app, buffer, list);
    let (tree_area, bytes_area) = if area.width >= WIDE {
        let left = Rect { width: area.width - BYTES_WIDTH - 2, ..rest };
        (left, Rect { x: rest.x + left.width + 2, width: BYTES_WIDTH, ..rest })
    } else {
        // A short message leaves its room to the tree.
        let rows = app.packets.packet().map_or(0, |opened| opened.bytes.len().div_ceil(BYTES_IN_ROW));
        let below = (rest.height / 2).min(u16::try_from(rows.max(1)).unwrap_or(u16::MAX - 1) + 1);
        let above = Rect { height: rest.height - below, ..rest };
        (above, Rect { y: rest.y + above.height, height: rest.height - above.height, ..rest })
    };
    let theme = app.theme;
    app.areas.tree = tree(&mut app.packets, theme, buffer, tree_area);
    app.areas.bytes = bytes(&mut app.packets, theme, buffer, bytes_area);
}

/// Draws the title of a pane, and returns the area below it.
fn title(buffer: &mut Buffer, area: Rect, text: &str, has_focus: bool, theme: Theme) -> Rect {
    let rule = "─".repeat(usize::from(area.width).saturating_sub(text.width() + 2));
    let style = if has_focus { theme.bold() } else { theme.dim() };
    put(buffer, line_of(area, 0), &format!("{text} {rule}"), style);
    Rect { y: area.y + area.height.min(1), height: area.height.saturating_sub(1), ..area }
}

fn packet_list(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let lines = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    app.areas.list = lines;
    let visible = app.packets.cursor.visible(app.length, lines.height.into());
    let rows: Vec<(usize, Row)> = {
        let index = lock(&app.reading.shared.index);
        visible.filter_map(|at| Some((at, *index.rows().get(at)?))).collect()
    };
    app.packets.is_narrow = area.width < NARROW;
    let mut texts: Vec<[String; COLUMNS.len()]> = rows.iter().map(|(at, row)| cells(app, *at, row)).collect();
    if app.packets.is_narrow {
        let ends = texts.iter_mut().flat_map(|cells| cells[2..4].iter_mut());
        ends.for_each(|end| *end = shortened(end, CUT_ADDRESS));
    }
    let (widths, theme) = (widths(&app.packets, &texts), app.theme);
    app.packets.drawn_widths = widths;
    let shift = app.packets.shift;
    let show = |cells: &[String; COLUMNS.len()]| -> String {
        scrolled(&joined(&app.packets, cells, &widths), shift)
    };
    put(
        buffer,
        line_of(area, 0),
        &format!("  {}", show(&COLUMNS.map(|(name, _)| name.to_owned()))),
        theme.bold(),
    );
    if rows.is_empty() {
        let text = if app.reading.is_done() { "No packets are listed." } else { "Reading ..." };
        put(buffer, line_of(lines, 0), &format!("  {text}"), theme.dim());
    }
    for (line, ((at, row), cells)) in rows.iter().zip(&texts).enumerate() {
        let area = line_of(lines, line as u16);
        let mark = if app.packets.marks.contains(&row.frame) { "*" } else { " " };
        let worst = row.worst();
        let style = worst.map_or(Style::new(), |severity| theme.severity(severity));
        let text = format!("{mark}{}{}", worst.map_or(" ", sign), show(cells));
        put(buffer, area, &text, style);
        if *at == app.packets.cursor.at {
            let has_focus = app.packets.pane == Pane::List;
            buffer.set_style(area, if has_focus { theme.selected() } else { theme.bold() });
        }
    }
}

/// The cells of a packet; where its frame cannot be read, those that the index knows.
fn cells(app: &mut App, at: usize, row: &Row) -> [String; COLUMNS.len()] {
    if let Some(cells) = app.packets.cells(&app.reading.shared, &mut app.frames, at) {
        let mut texts = cells.iter().map(|(text, _)| text.as_str());
        let mut out: [String; COLUMNS.len()] =
            std::array::from_fn(|_| texts.next().unwrap_or_default().to_owned());
        out[3] = out[3].trim_start_matches("→ ").to_owned();
        let what: Vec<&str> =
            std::iter::once(out[6].as_str()).chain(texts).filter(|text| !text.is_empty()).collect();
        out[6] = what.join(" ");
        return out;
    }
    let number = lock(&app.reading.shared.index).place(row.frame).frame.to_string();
    let (protocol, what) = match row.protocol() {
        Some(id) => (id.info().name, id.info().message_name(row.message())),
        None => ("udp", "-"),
    };
    let answer =
        row.response_time().map(|time| format!(" [answer in {}]", duration(time))).unwrap_or_default();
    let blank = String::new;
    [number, blank(), blank(), blank(), protocol.to_owned(), blank(), format!("{what}{answer}")]
}

/// The widths of the columns: those of their widest cell on the screen; 0 for a column that is not shown.
fn widths(packets: &Packets, texts: &[[String; COLUMNS.len()]]) -> [usize; COLUMNS.len()] {
    std::array::from_fn(|at| {
        let widest =
            || texts.iter().map(|cells| cells[at].width()).max().unwrap_or(0).max(COLUMNS[at].0.width());
        if packets.shows(at) { packets.widths[at].map_or_else(widest, usize::from) } else { 0 }
    })
}

fn joined(packets: &Packets, cells: &[String; COLUMNS.len()], widths: &[usize; COLUMNS.len()]) -> String {
    let mut line = String::new();
    for (at, cell) in cells.iter().enumerate().filter(|(at, _)| packets.shows(*at)) {
        let is_last = at + 1 == COLUMNS.len();
        let cell = if is_last { cell.clone() } else { truncated(cell, widths[at]) };
        let blanks = " ".repeat(widths[at].saturating_sub(cell.width()));
        match (is_last, COLUMNS[at].1) {
            (true, _) => line.push_str(&cell),
            (false, true) => line.extend([&blanks, cell.as_str(), " "]),
            (false, false) => line.extend([cell.as_str(), &blanks, " "]),
        }
    }
    line
}

fn tree(packets: &mut Packets, theme: Theme, buffer: &mut Buffer, area: Rect) -> Rect {
    let has_focus = packets.pane == Pane::Tree;
    let area = title(buffer, area, "Fields", has_focus, theme);
    if let Some((_, Err(why))) = &packets.opened {
        put(buffer, line_of(area, 0), why, theme.wrong());
        return area;
    }
    let len = packets.lines().len();
    let visible = packets.tree.visible(len, area.height.into());
    let lines = packets.lines();
    for (at, line) in visible.clone().zip(lines.get(visible).unwrap_or_default()) {
        let place = line_of(area, (at - packets.tree.top) as u16);
        let (has_lower, is_folded) = packets.has_lower_lines(line);
        let fold = match (has_lower, is_folded) {
            (true, true) => "+",
            (true, false) => "-",
            (false, _) => " ",
        };
        let style = line.severity.map_or(Style::new(), |severity| theme.severity(severity));
        let text = format!("{}{fold} {}", "  ".repeat(line.level), line.text);
        put(buffer, place, &scrolled(&text, packets.tree_shift), style);
        if at == packets.tree.at {
            buffer.set_style(place, if has_focus { theme.selected() } else { theme.related() });
        }
    }
    area
}

fn bytes(packets: &mut Packets, theme: Theme, buffer: &mut Buffer, area: Rect) -> Rect {
    let has_focus = packets.pane == Pane::Bytes;
    let Some(opened) = packets.packet() else { return title(buffer, area, "Bytes", has_focus, theme) };
    let joined = if opened.joined { " of the joined message" } else { "" };
    let cut = if opened.cut > 0 { format!(", {} more not captured", opened.cut) } else { String::new() };
    let heading = format!("{}{joined}{cut}", grouped_count(opened.bytes.len() as u64, "byte"));
    let area = title(buffer, area, &heading, has_focus, theme);
    let rows = opened.bytes.len().div_ceil(BYTES_IN_ROW);
    let visible = {
        let mut cursor = packets.rows;
        let visible = cursor.visible(rows, area.height.into());
        packets.rows = cursor;
        visible
    };
    let marked = packets.marked_bytes();
    let Some(opened) = packets.packet() else { return area };
    for row in visible {
        let place = line_of(area, (row - packets.rows.top) as u16);
        put(buffer, place, &format!("{:04x}", row * BYTES_IN_ROW), theme.dim());
        let cells = opened.bytes.iter().enumerate().skip(row * BYTES_IN_ROW).take(BYTES_IN_ROW);
        for (column, (at, cell)) in cells.enumerate() {
            let digits = cell.value.map_or("**".to_owned(), |value| format!("{value:02x}"));
            let text = match cell.value {
                None => "*".to_owned(),
                Some(value @ b' '..=b'~') => char::from(value).to_string(),
                Some(_) => ".".to_owned(),
            };
            let mut style = cell.severity.map_or(Style::new(), |severity| theme.severity(severity));
            if marked.contains(&at) {
                style = style.patch(theme.related());
            }
            if has_focus && at == packets.byte {
                style = style.patch(theme.selected());
            }
            let column = column as u16;
            let of_digits = Rect { x: place.x + OFFSET + 3 * column, width: 2, ..place };
            let of_text =
                Rect { x: place.x + OFFSET + 3 * BYTES_IN_ROW as u16 + 2 + column, width: 1, ..place };
            for (area, text) in [(of_digits, &digits), (of_text, &text)] {
                let room = place.right().saturating_sub(area.x).min(area.width);
                put(buffer, Rect { width: room, ..area }, text, style);
            }
        }
    }
    area
}

/// A text scrolled to the right, which then begins with `…`.
fn scrolled(text: &str, shift: usize) -> String {
    match shift {
        0 => text.to_owned(),
        _ => std::iter::once('…').chain(text.chars().skip(shift + 1)).collect(),
    }
}

/// The same behind a blank.
fn shifted(text: &str, shift: usize) -> String {
    format!(" {}", scrolled(text, shift))
}

/// Draws the lines of another screen, and returns their area.
fn listing(listing: &mut Listing, theme: Theme, buffer: &mut Buffer, area: Rect) -> Rect {
    let has_head = !listing.head.is_empty();
    put(buffer, line_of(area, 0), &shifted(&listing.head, listing.shift), theme.bold());
    let lines = match has_head {
        true => Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area },
        false => area,
    };
    if listing.lines.is_empty() {
        put(buffer, line_of(lines, 0), &format!(" {}", listing.nothing()), theme.dim());
    }
    let visible = listing.cursor.visible(listing.lines.len(), lines.height.into());
    for (at, line) in visible.clone().zip(listing.lines.get(visible).unwrap_or_default()) {
        let place = line_of(lines, (at - listing.cursor.top) as u16);
        let style = line.severity.map_or(Style::new(), |severity| theme.severity(severity));
        put(buffer, place, &shifted(&line.text, listing.shift), Style::new());
        // The severity comes first.
        let word = line.text.find(' ').unwrap_or(0).saturating_sub(listing.shift) as u16;
        buffer.set_style(Rect { width: (word + 1).min(place.width), ..place }, style);
        if at == listing.cursor.at {
            buffer.set_style(place, theme.selected());
        }
    }
    lines
}

/// The last line: what went wrong or was done, or the keys that are needed most.
fn last_line(app: &App, buffer: &mut Buffer, area: Rect) {
    let theme = app.theme;
    let hints = match (&app.mode, app.screen) {
        (Mode::Filter(input, wrong), _) => match (input.candidates(&app.names, 12).join("  "), wrong) {
            (none, None) if none.is_empty() => " Enter: filter  Tab: complete  Esc: leave".to_owned(),
            (none, Some(wrong)) if none.is_empty() => {
                return put(buffer, area, &format!(" {}", wrong.what), theme.wrong());
            }
            (some, _) => format!(" {some}"),
        },
        (Mode::Search(_), _) => " Text, or 0x and hex digits  Enter: search  Esc: leave".to_owned(),
        (Mode::Columns(_), _) => {
            " Space: show or hide  Left, Right: width  y: copy for qdissect.toml  Enter: done".to_owned()
        }
        (Mode::Overlay(_), _) => " Esc: back".to_owned(),
        (_, 0) => " ?: keys  q: quit  f: filter  /: search  Enter: fields  e: next finding  m: mark  w: save"
            .to_owned(),
        (_, screen) => match app.listings[screen - 1].target() {
            Target::None => " ?: keys  q: quit  Esc: packets  Tab: next screen  Left, Right: scroll".to_owned(),
            _ => " ?: keys  q: quit  Esc: packets  Enter: open  L: ladder  Tab: next screen  Left, Right: scroll"
                .to_owned(),
        },
    };
    let said =
        lock(&app.reading.shared.messages).last().map(|text| truncated(&escaped(text), area.width.into()));
    match (&app.message, said) {
        (Some((text, wrong)), _) => {
            let style = if *wrong { theme.wrong() } else { Style::new() };
            put(buffer, area, &format!(" {}", escaped(text)), style);
        }
        (None, _) if app.search.as_ref().is_some_and(super::search::Search::runs) => {
            put(buffer, area, " Searching ... Esc gives up.", Style::new());
        }
        (None, Some(said)) if matches!(app.mode, Mode::Screen) => {
            put(buffer, area, &format!(" {said}"), theme.wrong())
        }
        _ => put(buffer, area, &hints, theme.dim()),
    }
}
