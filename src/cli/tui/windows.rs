//! Windows above the screen.

use super::overlay::Overlay;
use super::packets::{COLUMNS, Packets};
use super::paint::{line_of, put};
use super::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// An area in the middle of another, with a frame around it; returns the area inside the frame.
fn window(buffer: &mut Buffer, area: Rect, (width, height): (u16, u16), heading: &str, theme: Theme) -> Rect {
    let (width, height) = ((width + 4).min(area.width), (height + 2).min(area.height));
    let outer =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    let inner = usize::from(width).saturating_sub(2);
    for y in 0..height {
        let line = match y {
            0 => format!("┌{heading:─<inner$}┐", heading = format!("─ {heading} ")),
            y if y + 1 == height => format!("└{}┘", "─".repeat(inner)),
            _ => format!("│{}│", " ".repeat(inner)),
        };
        let place = line_of(outer, y);
        buffer.set_style(place, Style::reset());
        put(buffer, place, &line, if y == 0 { theme.bold() } else { theme.dim() });
    }
    let inside = Rect {
        x: outer.x + 2.min(width),
        y: outer.y + 1.min(height),
        width: width.saturating_sub(4),
        height: height.saturating_sub(2),
    };
    // The text is not as dim as the frame.
    buffer.set_style(inside, Style::reset());
    inside
}

/// Draws text above the screen.
pub fn overlay(text: &mut Overlay, theme: Theme, buffer: &mut Buffer, area: Rect) {
    text.fit(usize::from(area.width).saturating_sub(4));
    let length = text.drawn.len();
    let width = text.drawn.iter().map(|line| line.width()).max().unwrap_or(0).max(text.title.width() + 4);
    let size = (u16::try_from(width).unwrap_or(u16::MAX - 4), u16::try_from(length).unwrap_or(u16::MAX - 4));
    let inner = window(buffer, area, (size.0.min(area.width), size.1.min(area.height)), &text.title, theme);
    text.cursor.height = inner.height.into();
    text.cursor.top = text.cursor.top.min(length.saturating_sub(text.cursor.height));
    for (at, line) in text.drawn.iter().skip(text.cursor.top).take(inner.height.into()).enumerate() {
        let place = line_of(inner, at as u16);
        put(buffer, place, &format!("{line:<width$}", width = usize::from(inner.width)), Style::new());
    }
}

/// Draws the choice of columns; `at` is the selected one.
pub fn columns(at: usize, packets: &Packets, theme: Theme, buffer: &mut Buffer, area: Rect) {
    let inner = window(buffer, area, (24, COLUMNS.len() as u16), "Columns", theme);
    for (number, ((name, _), is_shown)) in COLUMNS.iter().zip(&packets.columns).enumerate() {
        let place = line_of(inner, number as u16);
        let mark = if *is_shown { "x" } else { " " };
        let width = packets.widths[number].map_or(String::new(), |width| width.to_string());
        put(buffer, place, &format!("[{mark}] {name:<16}{width:>4}"), Style::new());
        if number == at {
            buffer.set_style(place, theme.selected());
        }
    }
}
