//! The parts of answers: the layout and the content of their headers.

use super::answers::SPL_001;
use super::{JOINING, MARK, PREFIX};
use crate::contract::*;
use crate::protocols::prelude::*;

pub(super) const SOURCE: u8 = 0;
const NO_SIZE: u8 = 1;
const GOLDSRC: u8 = 2;
pub(super) static LAYOUTS: [&str; 3] = ["source", "source_no_size", "goldsrc"];
/// Length of the header in each layout, in bytes.
const HEADERS: [u16; 3] = [12, 10, 9];
/// Maximum length of a part's content that its header may state, in bytes.
const LONGEST_CONTENT: usize = 4096;

static ENDS: Ends = Ends::new(&SPL_001, &SPL_001, &SPLIT_DATA);

/// The header in one layout; `None` if it is cut or contradicts itself.
fn header_as(p: &[u8], layout: u8) -> Option<Split> {
    let id = read_at(p, 4, le_u32)?;
    let header = *HEADERS.get(usize::from(layout))?;
    let rest = p.get(header.into()..)?;
    let [total, number] = match layout {
        GOLDSRC => read_at(p, 8, byte).map(|nibbles| [nibbles & 15, nibbles >> 4])?,
        _ => read_at(p, 8, array)?,
    };
    let size = read_at(p, 10, le_u16).filter(|_| layout == SOURCE);
    let stream = rest.get(8..).is_some_and(|stream| stream.starts_with(b"BZh"));
    let is_compressed = number == 0 && layout != GOLDSRC && stream;
    let packed =
        if is_compressed { Some([read_at(rest, 0, le_u32)?, read_at(rest, 4, le_u32)?]) } else { None };
    let body = header.saturating_add(if is_compressed { 8 } else { 0 });
    (number < total).then_some(Split { id, layout, total, number, size, packed, body })
}

/// Whether the bytes after the header prove the layout: the split message begins there, or it is compressed.
pub(super) fn is_marked(p: &[u8], split: &Split) -> bool {
    let plain = p.get(usize::from(split.body)..).is_some_and(|rest| rest.starts_with(MARK));
    split.number == 0 && (split.packed.is_some() || plain)
}

/// Whether a part that cannot prove its layout may have this one: it is not the first part, or the capture cut off the proof.
fn fits(p: &[u8], wire_len: usize, split: &Split) -> bool {
    let rest = p.get(usize::from(split.body)..).unwrap_or_default();
    let proof_is_cut = p.len() < wire_len && rest.len() < MARK.len() && MARK.starts_with(rest);
    let content_len = wire_len.saturating_sub(usize::from(split.body));
    let size = split.size.map_or(content_len, usize::from);
    let last = split.number.saturating_add(1) == split.total;
    (split.number > 0 || proof_is_cut)
        && (size == content_len || last && (content_len..=LONGEST_CONTENT).contains(&size))
}

/// Reads the header of a part. The first part reveals its layout. For the others, the layout that the server used before is
/// tried, and then the first layout that fits.
pub(super) fn read_part(p: &[u8], wire_len: usize, layout: Layout) -> Option<Split> {
    // If the capture cut the longest header, the layouts cannot be distinguished.
    if !p.starts_with(b"\xfe\xff\xff\xff") || p.len() < wire_len.min(HEADERS[0].into()) {
        return None;
    }
    let known = match layout {
        Layout::Certain(layout) | Layout::Used(layout) => header_as(p, layout),
        Layout::Unknown => None,
    };
    if matches!(layout, Layout::Certain(_)) && known.is_some() {
        return known;
    }
    let any = || [SOURCE, GOLDSRC, NO_SIZE].into_iter().filter_map(|layout| header_as(p, layout));
    let fitting = |split: &Split| fits(p, wire_len, split);
    let marked = any().find(|split| is_marked(p, split));
    marked.or_else(|| known.filter(fitting)).or_else(|| any().find(fitting))
}

pub(super) fn part_id(p: &[u8]) -> Option<u64> {
    read_at(p, 4, le_u32).map(u64::from)
}

/// Number and total of a part. `makes` is the message that the parts form, if this is the first part and names it.
pub(super) fn part(p: &[u8]) -> Option<Part> {
    let Split { number, total, body, .. } = read_part(p, p.len(), Layout::Unknown)?;
    let kind = p.get(body.into()..)?.strip_prefix(MARK).and_then(<[u8]>::first).filter(|_| number == 0);
    let at = kind.and_then(|kind| b"ImDE".iter().position(|known| known == kind));
    Some(Part {
        number,
        total: Some(total),
        makes: at.and_then(|at| JOINING.makes.get(at).copied()),
        share: None,
    })
}

/// Whether this is a first part that names its message, or a part of a compressed answer.
pub(super) fn is_first_part(p: &[u8]) -> bool {
    let packed = read_part(p, p.len(), Layout::Unknown).is_some_and(|split| split.packed.is_some());
    packed || part(p).is_some_and(|part| part.makes.is_some())
}

/// Whether the header fits no layout. In-game traffic is split in the same way, but is not handled here.
pub(super) fn is_unreadable(p: &[u8]) -> bool {
    read_part(p, p.len(), Layout::Unknown).is_none() && header_as(p, SOURCE).is_none()
}

/// Reads the header and the content of a part.
pub(super) fn part_header<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    c.ends(&ENDS);
    let split = read_part(c.rest(), c.wire_len(), cx.layout.map_or(Layout::Unknown, Layout::Certain));
    c.field(&PREFIX, bytes(4))?;
    c.about(Some(&SPLIT));
    let Some(split) = split else { return Err(c.ended_early()) };
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
        // A rule may contain a password, and the part may begin or end anywhere within it.
        let shown = cx.secrets || !Str(c.rest()).mentions_password();
        if split.number > 0 {
            // If the layout is only guessed, two zeros may belong to the header.
            let texts = if cx.layout.is_some() { 2 } else { 4 };
            let continued = c.rest().split_inclusive(|byte| *byte == 0).take(texts).map(<[u8]>::len).sum();
            c.field_as(&SPLIT_CONTINUED, bytes(continued), |value| {
                if cx.secrets { Value::Bytes(value) } else { Value::Secret(FieldKind::Bytes) }
            })?;
        }
        c.mask_unless(shown);
        c.ignored(&SPLIT_DATA)
    })
}
