//! Parts of answers: which layout their headers have, and what they say.

use super::answers::may_show_password;
use super::rules::SPL_001;
use super::{GOLDSRC_INFO_RESPONSE, INFO_RESPONSE, MARK, PLAYERS_RESPONSE, PREFIX, RULES_RESPONSE};
use crate::contract::{
    CRC32, DECOMPRESSED_SIZE, Layout, SPLIT, SPLIT_DATA, SPLIT_ID, SPLIT_LAYOUT, SPLIT_NUMBER, SPLIT_NUMBERS,
    SPLIT_SIZE, SPLIT_TOTAL, Split,
};
use crate::protocols::prelude::*;

pub(super) const SOURCE: u8 = 0;
const NO_SIZE: u8 = 1;
const GOLDSRC: u8 = 2;
pub(super) static LAYOUTS: [&str; 3] = ["source", "source_no_size", "goldsrc"];
/// Length of the headers.
const HEADERS: [u16; 3] = [12, 10, 9];
/// Most bytes of the message that a part may say to hold.
const MOST: usize = 4096;

static ENDS: Ends = Ends::new(&SPL_001, &SPL_001, &SPLIT_DATA);

fn u32_at(p: &[u8], at: usize) -> Option<u32> {
    p.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The header in one layout; `None` where it is cut or contradicts itself.
fn header_as(p: &[u8], layout: u8) -> Option<Split> {
    let id = u32_at(p, 4)?;
    let body = *HEADERS.get(usize::from(layout))?;
    let rest = p.get(usize::from(body)..)?;
    let (total, number) = match (p.get(8..)?, layout) {
        ([both, ..], GOLDSRC) => (both & 15, both >> 4),
        ([total, number, ..], _) => (*total, *number),
        _ => return None,
    };
    let size = p.get(10..).and_then(|p| p.first_chunk()).filter(|_| layout == SOURCE);
    let stream = rest.get(8..).is_some_and(|stream| stream.starts_with(b"BZh"));
    let packed = if number == 0 && layout != GOLDSRC && stream {
        Some([u32_at(rest, 0)?, u32_at(rest, 4)?])
    } else {
        None
    };
    let body = if packed.is_some() { body.saturating_add(8) } else { body };
    let split =
        Split { id, layout, total, number, size: size.map(|size| u16::from_le_bytes(*size)), packed, body };
    (number < total).then_some(split)
}

/// Whether the bytes behind the header say that the layout is right: the message that was cut, or a compressed one, begins there.
fn is_marked(p: &[u8], split: &Split) -> bool {
    let plain = p.get(usize::from(split.body)..).is_some_and(|rest| rest.starts_with(MARK));
    split.number == 0 && (split.packed.is_some() || plain)
}

/// Whether a part other than the first may have been sent so.
fn fits(p: &[u8], split: &Split) -> bool {
    let held = p.len().saturating_sub(usize::from(split.body));
    let size = split.size.map_or(held, usize::from);
    let last = split.number.saturating_add(1) == split.total;
    split.number > 0 && (size == held || last && (held..=MOST).contains(&size))
}

/// Reads the header of a part. The first part tells its layout; of the others that is taken which the server used, or else the first
/// one that fits.
pub(super) fn read(p: &[u8], layout: Layout) -> Option<Split> {
    p.strip_prefix(b"\xfe\xff\xff\xff")?;
    let as_one_of =
        |layouts: &[u8]| layouts.iter().find_map(|layout| header_as(p, *layout).filter(|s| fits(p, s)));
    if let Layout::Certain(layout) = layout
        && let Some(split) = header_as(p, layout)
    {
        return Some(split);
    }
    let first = [SOURCE, NO_SIZE, GOLDSRC].iter().filter_map(|layout| header_as(p, *layout));
    if let Some(split) = first.into_iter().find(|split| is_marked(p, split)) {
        return Some(split);
    }
    let used = if let Layout::Used(layout) = layout { as_one_of(&[layout]) } else { None };
    used.or_else(|| as_one_of(&[SOURCE, GOLDSRC, NO_SIZE]))
}

pub(super) fn id(p: &[u8]) -> Option<u64> {
    u32_at(p, 4).map(u64::from)
}

/// Number and total of a part, and what the parts make where the first one says so.
pub(super) fn part(p: &[u8]) -> Option<Part> {
    let split = read(p, Layout::Unknown)?;
    let kind = p.get(usize::from(split.body)..)?.strip_prefix(MARK).and_then(<[u8]>::first);
    let makes = kind.filter(|_| split.number == 0).and_then(|kind| match kind {
        0x49 => Some(INFO_RESPONSE),
        0x6d => Some(GOLDSRC_INFO_RESPONSE),
        0x44 => Some(PLAYERS_RESPONSE),
        0x45 => Some(RULES_RESPONSE),
        _ => None,
    });
    Some(Part { number: split.number, total: Some(split.total), makes })
}

pub(super) fn is_part(p: &[u8]) -> bool {
    read(p, Layout::Unknown).is_some()
}

/// A first part that says what it begins, or a compressed one.
pub(super) fn is_first_part(p: &[u8]) -> bool {
    let packed = read(p, Layout::Unknown).is_some_and(|split| split.packed.is_some());
    packed || part(p).is_some_and(|part| part.makes.is_some())
}

/// Whether no layout has such a header. In-game traffic is cut in the same way, and is none of ours.
pub(super) fn is_unreadable(p: &[u8]) -> bool {
    !is_part(p) && header_as(p, SOURCE).is_none()
}

/// Reads the header of a part and what it holds.
pub(super) fn header<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    c.ends(&ENDS);
    let split = read(c.rest(), cx.layout.map_or(Layout::Unknown, Layout::Certain));
    c.field(&PREFIX, bytes(4))?;
    let Some(split) = split else { return Err(c.short(&SPL_001)) };
    c.group(&SPLIT, |c| {
        c.field(&SPLIT_ID, le_u32)?;
        let name = LAYOUTS.get(usize::from(split.layout)).copied();
        c.derived(&SPLIT_LAYOUT, Value::Named(split.layout.into(), name));
        if split.layout == GOLDSRC {
            c.field(&SPLIT_NUMBERS, byte)?;
            c.derived(&SPLIT_TOTAL, Value::Uint(split.total.into()));
            c.derived(&SPLIT_NUMBER, Value::Uint(split.number.into()));
        } else {
            c.field(&SPLIT_TOTAL, byte)?;
            c.field(&SPLIT_NUMBER, byte)?;
        }
        if split.size.is_some() {
            c.field(&SPLIT_SIZE, le_u16)?;
        }
        if split.packed.is_some() {
            c.field(&DECOMPRESSED_SIZE, le_u32)?;
            c.field(&CRC32, le_u32)?;
        }
        // A rule may show a password, and be cut anywhere.
        c.secret(cx.secrets || !may_show_password(c.rest()));
        c.ignored(&SPLIT_DATA)
    })
}
