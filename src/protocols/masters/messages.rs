//! The messages of each family.

use super::super::prelude::*;
use super::{
    AVL_001, BEHIND, CHALLENGE, CHALLENGE_ENDS, CLIENTS, COMMAND, DIALECTS, FILTER, GAME, GAP, HBT_001,
    HBT_002, HEARTBEAT_ENDS, IGNORED, INFO_LIST, INSTANCE, KEY, LAST, LINE_ENDS, LINES, LIST_ENDS, LISTED,
    MARK, NAME, PAIR, PORT, PROTOCOL, QUAKE2, QUAKE3, REGION, REQ_002, REQ_003, REQ_004, REQUEST_ENDS,
    RSP_001, RSP_003, RSP_004, RSP_005, RSP_006, SEQUENCE, SERVER_LIST, START, STATE_CHANGED, STATUS, TYPE,
    VALUE, VALVE, WORD, is_address, is_digits,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of an address of each family with its port.
const IPV4: usize = 6;
const IPV6: usize = 18;
/// What precedes entries in Quake 3's lists.
const BACKSLASH: u8 = b'\\';
const SLASH: u8 = b'/';
/// Length of the mark that ends such a list, without the zeros behind it, and how many of them may follow.
const END_MARK: usize = 4;
const MOST_ZEROS: usize = 4;
/// Offset of a list of Quake 3, of the plain and the extended one.
const LIST_AT: usize = 22;
const EXTENDED_AT: usize = 25;

// --- Requests

pub(super) fn valve_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&REQUEST_ENDS);
    c.text(&WORD, text(1))?;
    let region = c.field(&REGION, byte)?;
    c.compare(&REQ_003, || matches!(region, 0..=7 | 255), || Compared::new(region, "0 to 7, or 255 for all"));
    let start = whole_text(c, &START)?;
    c.compare(&REQ_002, || is_address(start.0), || Compared::new(start, "an address and a port"));
    whole_text(c, &FILTER)?;
    c.ignored(&IGNORED)
}

/// Reads a text and its zero.
fn whole_text<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, field: &'static Field) -> Result<Str<'a>, Fault> {
    if c.rest().is_empty() {
        c.about(Some(field));
        return Err(c.ended_early());
    }
    let text = c.terminated(field, b"\0")?;
    // Where its zero is missing, the capture has cut it.
    if c.may_continue() && c.last_byte() != Some(0) { Err(c.ended_early()) } else { Ok(text) }
}

/// The next word.
fn word(rest: &[u8]) -> &[u8] {
    rest.split(|byte| BEHIND.contains(byte)).next().unwrap_or_default()
}

pub(super) fn quake3_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&COMMAND, until(BEHIND))?;
    c.skip_all(b" ");
    let first = word(c.rest());
    if !first.is_empty() && !is_digits(first) {
        c.text(&GAME, until(BEHIND))?;
        c.skip_all(b" ");
    }
    let protocol = word(c.rest());
    let has_protocol = is_digits(protocol);
    let is_cut = c.is_cut() && protocol.len() == c.rest().len();
    if has_protocol {
        c.text(&PROTOCOL, until(BEHIND))?;
        c.skip_all(b" ");
    }
    let found = if protocol.is_empty() { ComparedValue::Words("nothing") } else { protocol.into() };
    c.compare_whole(&REQ_004, || has_protocol || is_cut, || Compared::new(found, "a number"));
    if matches!(c.rest(), [] | [b'\n' | 0, ..]) {
        c.derived(&FILTER, Value::Text(b""));
    } else {
        c.text(&FILTER, until(LINE_ENDS))?;
    }
    end_of_line(c)
}

/// Reads the bytes that may end a request or a heartbeat, and those that nobody reads.
fn end_of_line<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.skip_all(LINE_ENDS);
    c.ignored(&IGNORED)
}

pub(super) fn available_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&TYPE, byte)?;
    c.field(&INSTANCE, be_u32)?;
    c.text(&GAME, until(b"\0"))?;
    end_of_line(c)
}

// --- Answers

pub(super) fn available_response<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&TYPE, byte)?;
    let status = c.field(&STATUS, be_u32)?;
    c.check_number(&AVL_001, status, ComparedValue::Number(0));
    Ok(())
}

pub(super) fn challenge_response<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&CHALLENGE_ENDS);
    c.text(&WORD, text(1))?;
    c.skip(b"\n");
    c.field(&CHALLENGE, le_i32).map(drop)
}

/// Reads a list of the master whose dialect this is.
pub(super) fn list<S: FieldSink>(c: &mut Cursor<'_, '_, S>, dialect: u8) -> Result<(), Fault> {
    c.ends(&LIST_ENDS);
    c.facts.game = DIALECTS.get(usize::from(dialect)).map(|name| Value::Text(name.as_bytes()));
    c.check(&RSP_005, || true);
    if dialect == QUAKE3 {
        return marked_list(c);
    }
    let (letters, blank): (usize, &[u8]) =
        if dialect == QUAKE2 { ("servers".len(), b" ") } else { (1, b"\n") };
    c.text(&WORD, text(letters))?;
    c.skip(blank);
    let is_end = move |rest: &[u8]| dialect == VALVE && rest == [0; IPV4];
    let mut seen = Repeats::default();
    let more = |c: &Cursor<'_, '_, S>, _| !c.rest().is_empty() && !is_end(c.rest());
    c.list(&SERVER_LIST, more, |c| entry::<S, IPV4>(c, 0, &mut seen))?;
    if dialect == VALVE { last(c, IPV4) } else { Ok(()) }
}

/// Reads the mark that ends a list, of that length, if it is there.
fn last<S: FieldSink>(c: &mut Cursor<'_, '_, S>, length: usize) -> Result<(), Fault> {
    if c.rest().is_empty() {
        c.derived(&LAST, Value::Uint(0));
        return Ok(());
    }
    c.field_as(&LAST, bytes(length), |_| Value::Uint(1)).map(drop)
}

/// Reads a list of Quake 3, whose entries have a separator each.
fn marked_list<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let is_extended = c.rest().starts_with(b"getserversExt");
    let length = if is_extended { EXTENDED_AT } else { LIST_AT };
    c.text(&WORD, text(length.saturating_sub(MARK.len())))?;
    let gap = gap(c.rest());
    if gap > 0 {
        c.field(&GAP, bytes(gap))?;
    }
    let mut seen = Repeats::default();
    let more =
        |c: &Cursor<'_, '_, S>, _| !matches!(c.rest(), [] | [BACKSLASH]) && mark_len(c.rest()).is_none();
    c.list(&SERVER_LIST, more, |c| match c.rest() {
        [BACKSLASH, ..] => entry::<S, IPV4>(c, 1, &mut seen),
        [SLASH, ..] => {
            entry::<S, IPV6>(c, 1, &mut seen)?;
            c.compare(&RSP_005, || is_extended, || Compared::new("IPv6", "addresses of IPv4"));
            Ok(())
        }
        rest => {
            let found = rest.first().map_or(ComparedValue::Nothing, |byte| ComparedValue::byte(*byte));
            Err(Fault { values: Compared::new(found, "a separator"), ..c.stop_here(&RSP_001) })
        }
    })?;
    if c.rest() == [BACKSLASH] {
        c.skip(&[BACKSLASH]);
    }
    last(c, mark_len(c.rest()).unwrap_or_default())?;
    if c.is_cut() { c.ignored(&IGNORED) } else { c.expect_end(&IGNORED, &RSP_006) }
}

/// Length of what stands before the first separator; all of it where there is none but ends of lines.
fn gap(rest: &[u8]) -> usize {
    let first = rest.iter().position(|byte| [BACKSLASH, SLASH].contains(byte));
    let nothing = || if rest.iter().all(|byte| BEHIND.contains(byte)) { rest.len() } else { 0 };
    first.unwrap_or_else(nothing)
}

/// Length of the mark that ends a list, with its zeros, where one stands here. An address may begin like it, but has no zeros then.
fn mark_len(rest: &[u8]) -> Option<usize> {
    let behind = rest.strip_prefix(br"\EOT").or(rest.strip_prefix(br"\EOF"))?;
    let zeros = behind.iter().take(MOST_ZEROS).take_while(|byte| **byte == 0).count();
    let needed = behind.len().min(IPV4.saturating_sub(END_MARK).saturating_add(1));
    (zeros >= needed).then(|| END_MARK.saturating_add(zeros))
}

/// Whether a list of Quake 3 has the mark that ends it.
pub(super) fn is_marked(p: &[u8]) -> bool {
    let at = if super::is_extended(p) { EXTENDED_AT } else { LIST_AT };
    let mut rest = p.get(at..).unwrap_or_default();
    rest = rest.get(gap(rest)..).unwrap_or_default();
    loop {
        let length = match rest {
            _ if mark_len(rest).is_some() => return true,
            [BACKSLASH, ..] => IPV4,
            [SLASH, ..] => IPV6,
            _ => return false,
        };
        rest = rest.get(length.saturating_add(1)..).unwrap_or_default();
    }
}

/// Reads an address of so many bytes with its port, behind so many bytes of a separator.
fn entry<'a, S: FieldSink, const LENGTH: usize>(
    c: &mut Cursor<'a, '_, S>,
    separator: usize,
    seen: &mut Repeats<'a>,
) -> Result<(), Fault> {
    let length = separator.saturating_add(LENGTH);
    let own = c.rest().get(separator..length).unwrap_or_default();
    let parser = |i: &'a [u8]| {
        let short = |_: nom::Err<Stop>| nom::Err::Error(Stop::Short(length as u32));
        let (rest, entry) = bytes(length)(i).map_err(short)?;
        let (_, address) = array::<LENGTH>(entry.get(separator..).unwrap_or_default())?;
        Ok((rest, address))
    };
    let show = |bytes: [u8; LENGTH]| {
        let mut mapped = [0; IPV6];
        mapped.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        match bytes.first_chunk::<IPV4>() {
            Some([a, b, c, d, high, low]) if LENGTH == IPV4 => {
                let port = u16::from_be_bytes([*high, *low]);
                Value::Address(std::net::SocketAddrV4::new([*a, *b, *c, *d].into(), port))
            }
            _ => Value::MappedAddress(mapped),
        }
    };
    let read = c.field_as(&LISTED, parser, show)?;
    let found = match show(read) {
        Value::Address(address) => ComparedValue::Address(address),
        _ => ComparedValue::Words("an address of IPv6"),
    };
    c.compare(&RSP_003, || is_reachable(&read), || Compared::new(found, "the address and port of one host"));
    c.compare(&RSP_004, || !seen.repeats(own), || Compared::new(found, "each server once"));
    Ok(())
}

/// Whether clients may reach an address and port.
fn is_reachable(bytes: &[u8]) -> bool {
    let Some((address, port)) = bytes.split_last_chunk::<2>() else { return false };
    let is_routed = match (<[u8; 4]>::try_from(address), <[u8; 16]>::try_from(address)) {
        (Ok(address), _) => is_routed(address.into()),
        (_, Ok(address)) => {
            let address = Ipv6Addr::from(address);
            let mapped = address.to_ipv4_mapped().is_none_or(is_routed);
            mapped && !(address.is_unspecified() || address.is_loopback() || address.is_multicast())
        }
        _ => false,
    };
    is_routed && *port != [0, 0]
}

/// Whether an address is of a single host that others may reach: private networks have masters, too.
fn is_routed(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    first != 0 && !address.is_loopback() && first < 224
}

// --- What servers tell

pub(super) fn quake3_heartbeat<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&WORD, until(BEHIND))?;
    c.skip(b" ");
    c.text(&NAME, until(LINE_ENDS))?;
    end_of_line(c)
}

pub(super) fn quake2_heartbeat<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&WORD, until(BEHIND))?;
    c.skip(b"\n");
    pairs(c)?;
    c.skip(b"\n");
    if c.rest().iter().all(|byte| LINE_ENDS.contains(byte)) {
        return end_of_line(c);
    }
    c.text(&LINES, until(b"\0"))?;
    end_of_line(c)
}

pub(super) fn quakeworld_heartbeat<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&WORD, text(1))?;
    c.skip(b"\n");
    c.text(&SEQUENCE, until(LINE_ENDS))?;
    c.skip(b"\n");
    c.text(&CLIENTS, until(LINE_ENDS))?;
    end_of_line(c)
}

pub(super) fn gamespy1_heartbeat<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&WORD, after_mark(b"\\", b"\\"))?;
    let port = c.text(&PORT, after_mark(b"\\", b"\\"))?;
    let is_port = c.may_continue() || port.decimal().is_some_and(|port| (1..=65535).contains(&port));
    c.compare(&HBT_001, || is_port, || Compared::new(port, "1 to 65535"));
    pairs(c)?.report(c);
    end_of_line(c)
}

pub(super) fn server_info<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.text(&WORD, text(1))?;
    c.skip(b"\n");
    pairs(c)?;
    end_of_line(c)
}

/// The variables of a heartbeat that have a field of their own.
#[derive(Clone, Copy, Default)]
struct Told<'a> {
    game: Option<Str<'a>>,
    state: Option<Str<'a>>,
}

impl<'a> Told<'a> {
    fn add(&mut self, key: Str<'a>, value: Str<'a>) {
        match key.0 {
            b"gamename" => self.game = Some(value),
            b"statechanged" => self.state = Some(value),
            _ => {}
        }
    }

    /// Reports them, and checks that the game is among them.
    fn report<S: FieldSink>(self, c: &mut Cursor<'a, '_, S>) {
        if let Some(game) = self.game {
            c.part(&GAME, game.0, Str::utf8_or_latin1);
        }
        if let Some(state) = self.state {
            c.part(&STATE_CHANGED, state.0, |state| state.to_value(STATE_CHANGED.kind));
        }
        let is_named = self.game.is_some() || c.is_cut();
        c.compare_whole(&HBT_002, || is_named, || Compared::new("nothing", "gamename"));
    }
}

/// Reads keys and values with a backslash before each, up to the end of the line.
fn pairs<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>) -> Result<Told<'a>, Fault> {
    const ENDS: &[u8] = b"\\\n\0";
    let mut told = Told::default();
    let more = |c: &Cursor<'_, '_, S>, _| c.rest().first() == Some(&BACKSLASH);
    c.list(&INFO_LIST, more, |c| {
        c.group(&PAIR, |c| {
            let key = c.text(&KEY, after_mark(b"\\", ENDS))?;
            if c.rest().first() != Some(&BACKSLASH) {
                c.derived(&VALUE, Value::Text(b""));
                return Ok(());
            }
            let value = c.text(&VALUE, after_mark(b"\\", ENDS))?;
            told.add(key, value);
            Ok(())
        })
    })?;
    Ok(told)
}

pub(super) fn gamespy2_heartbeat<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&HEARTBEAT_ENDS);
    c.field(&TYPE, byte)?;
    c.field(&INSTANCE, be_u32)?;
    let mut told = Told::default();
    let more = |c: &Cursor<'_, '_, S>, _| !matches!(c.rest(), [] | [0, ..]);
    c.list(&INFO_LIST, more, |c| {
        c.group(&PAIR, |c| {
            let key = whole_text(c, &KEY)?;
            told.add(key, whole_text(c, &VALUE)?);
            Ok(())
        })
    })?;
    c.expect(b"\0")?;
    told.report(c);
    c.ignored(&IGNORED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_by_position() {
        let list = |hex: &str| [&b"\xff\xff\xff\xffgetserversResponse"[..], &crate::rule::hex(hex)].concat();
        for (entries, expected) in [
            (r"'\' c0000222 6987 '\EOT' 000000", true),
            (r"'\EOT' 000000", true),
            (r"'\' c0000222 6987 '\EOT'", true),
            (r"'\' c0000222 6987 '\EOF' 00", true),
            (r"'\' c0000222 6987", false),
            ("", false),
            // Addresses that hold the mark, or begin like it.
            (r"'\' 5c45 4f54 0000 '\' c0000222 6987", false),
            (r"'\EOT' 01 6987", false),
            (r"'/' '\EOT' 000000 00*11 '\' c0000222 6987", false),
            (r"'/' '\EOT' 000000 00*11 '\EOT' 000000", true),
        ] {
            assert_eq!(is_marked(&list(entries)), expected, "{entries}");
        }
    }

    #[test]
    fn some_addresses_reach_nobody() {
        let is_reachable = |hex: &str| is_reachable(&crate::rule::hex(hex));
        for reachable in ["c0000222 6987", "0a000001 0001", "20010db8 00*12 6d38", "00*10 ffff c0000222 6987"]
        {
            assert!(is_reachable(reachable), "{reachable}");
        }
        for other in [
            "c0000222 0000",
            "00000001 6987",
            "7f000001 6d38",
            "e0000001 6d38",
            "f0000001 6d38",
            "00*16 6d38",
        ] {
            assert!(!is_reachable(other), "{other}");
        }
        let ipv6 = ["00*15 01 6d38", "ff02 00*13 01 6d38", "00*10 ffff 7f000001 6d38"];
        assert!(ipv6.iter().all(|other| !is_reachable(other)));
    }
}
