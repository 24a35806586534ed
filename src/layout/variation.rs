//! Variations of a layout: the mistakes that implementations make, which of them go together, and which are common.

use super::{Encoding, Form};
use std::fmt;

/// One variation. Its name in records is `id` or `id@field`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Its name.
    pub id: &'static str,
    /// The field or group that it is about; empty for the whole message.
    pub field: &'static str,
    /// What it says to people: it follows `everything fits if`.
    pub words: &'static str,
    /// What it changes.
    pub change: Change,
    /// It explains one value only.
    pub weak: bool,
}

/// What a variation changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Numbers are in the other order.
    Swap,
    /// Form of texts.
    Texts(Form),
    /// Zero bytes of texts, or what their length counts.
    Nul(Nul),
    /// Lengths of texts count characters.
    Unit,
    /// Encoding of texts.
    Encoding(Encoding),
    /// Number of bytes of a field.
    Width(usize),
    /// A field is left out.
    Missing,
    /// There is a field too many.
    Extra,
    /// What a length counts.
    Length(Length),
    /// Numbers are aligned as in memory; so is what follows the header, if true.
    Padding(bool),
    /// Zeros follow.
    Zeros,
    /// How a repeated value is written.
    Token(Token),
    /// Another type.
    Type,
    /// What only a part of the protocol itself knows.
    Custom,
}

/// Zero bytes of texts, or what their length counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nul {
    /// A zero byte is counted.
    Counted,
    /// A zero byte follows.
    Uncounted,
    /// There are two zero bytes.
    Twice,
    /// The length counts its own byte.
    CountsItself,
    /// The length is cut to eight bits.
    Wrapped,
}

/// What a length counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// The header, too.
    Header,
    /// Its own bytes, too.
    Itself,
    /// Everything but the lengths of chunks.
    NoChunkLengths,
    /// Nothing: it is 0.
    Zero,
}

/// How a repeated value is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token {
    /// Its bytes are in the other order.
    Swapped,
    /// It is 0.
    Zero,
    /// Bytes that are no ASCII are replaced by U+FFFD.
    Replaced,
    /// As decimal text.
    Text,
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)?;
        if self.field.is_empty() { Ok(()) } else { write!(f, "@{}", self.field) }
    }
}

impl Variation {
    /// A variation of the whole message.
    pub const fn of(id: &'static str, words: &'static str, change: Change) -> Variation {
        let weak = matches!(
            change,
            Change::Missing | Change::Length(Length::Zero) | Change::Token(Token::Zero) | Change::Type
        );
        Variation { id, field: "", words, change, weak }
    }
    /// The same of one field.
    pub const fn at(self, field: &'static str) -> Variation {
        Variation { field, ..self }
    }
    /// The same, which explains one value only.
    pub const fn weakly(self) -> Variation {
        Variation { weak: true, ..self }
    }

    /// A number of another width.
    pub const fn width(field: &'static str, width: usize) -> Variation {
        let (id, words) = match width {
            1 => ("width_8", "{} has 8 bits"),
            2 => ("width_16", "{} has 16 bits"),
            4 => ("width_32", "{} has 32 bits"),
            _ => ("width_64", "{} has 64 bits"),
        };
        Variation::of(id, words, Change::Width(width)).at(field)
    }
    /// A field that is left out.
    pub const fn missing(field: &'static str) -> Variation {
        Variation::of("missing_field", "{} is left out", Change::Missing).at(field)
    }
    /// A field too many.
    pub const fn extra(field: &'static str) -> Variation {
        Variation::of("extra_field", "{} is written as well", Change::Extra).at(field)
    }
    /// A length that counts something else.
    pub const fn length(field: &'static str, length: Length) -> Variation {
        let (id, words) = match length {
            Length::Header => ("length_counts_header", "{} counts the header"),
            Length::Itself => ("length_counts_itself", "{} counts its own bytes"),
            Length::NoChunkLengths => ("length_excludes_chunk_lengths", "{} leaves the chunk lengths out"),
            Length::Zero => ("length_zero", "{} is never filled in"),
        };
        Variation::of(id, words, Change::Length(length)).at(field)
    }
    /// A variation that a part of the protocol itself reads.
    pub const fn custom(id: &'static str, words: &'static str) -> Variation {
        Variation::of(id, words, Change::Custom)
    }

    /// Whether both change the same thing, so that they exclude each other.
    pub fn excludes(&self, other: &Variation) -> bool {
        if !self.field.is_empty() || !other.field.is_empty() {
            return self.field == other.field;
        }
        match (self.change, other.change) {
            (Change::Custom, Change::Custom) => self.id == other.id,
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
        }
    }

    /// Whether both together may explain one damage: both move what follows, in different ways. A length too large by
    /// what a narrower field takes away is one deletion; two other widths are one habit.
    fn shifts_with(&self, other: &Variation) -> bool {
        let kind = |v: &Variation| match v.change {
            Change::Width(_) => Some(0),
            Change::Length(_) => Some(1),
            Change::Missing | Change::Extra => Some(2),
            _ => None,
        };
        match (kind(self), kind(other)) {
            (Some(a), Some(b)) => a != b || a == 2,
            _ => false,
        }
    }

    /// Whether the two make a set.
    pub fn pairs_with(&self, other: &Variation) -> bool {
        !(self.excludes(other) || self.weak && other.weak || self.shifts_with(other))
    }

    /// Whether it swaps all numbers.
    fn swaps_all(&self) -> bool {
        self.change == Change::Swap && self.field.is_empty()
    }

    /// How common it is; the least is the commonest.
    fn rank(&self) -> u32 {
        match self.change {
            Change::Swap => match (self.id, self.field) {
                ("big_endian", "") => 1,
                (_, "") => 0,
                _ => 3,
            },
            Change::Texts(Form::Length(2, _)) => 2,
            Change::Texts(Form::Length(4, _)) => 3,
            Change::Texts(Form::Length(1, _)) => 4,
            Change::Texts(Form::SevenBits) => 5,
            Change::Encoding(Encoding::Utf16Le | Encoding::Utf16Be) => 6,
            Change::Texts(Form::Nul) => 7,
            Change::Nul(Nul::Counted) => 8,
            Change::Nul(Nul::Uncounted | Nul::Twice) => 9,
            Change::Length(Length::Header | Length::Itself) => 10,
            Change::Length(Length::NoChunkLengths) => 11,
            Change::Zeros => 12,
            Change::Padding(_) => 13,
            Change::Missing => 14,
            Change::Width(4) => 15,
            Change::Width(_) => 16,
            Change::Length(Length::Zero) => 17,
            _ => 50,
        }
    }
}

/// A set of variations, in the order in which they are declared.
pub type Set = arrayvec::ArrayVec<&'static Variation, 3>;

/// How common a set is; the least is the commonest.
pub fn rank(set: &[&'static Variation]) -> (usize, Vec<u32>) {
    let mut ranks: Vec<u32> = set.iter().map(|v| v.rank()).collect();
    ranks.sort_unstable();
    (set.len(), ranks)
}

/// Calls `visit` for each set of that size.
pub fn for_each_set(all: &[&'static Variation], size: usize, mut visit: impl FnMut(&[&'static Variation])) {
    match size {
        0 => visit(&[]),
        1 => all.iter().for_each(|v| visit(&[*v])),
        2 => for_each_pair(all, |a, b| {
            if a.pairs_with(b) {
                visit(&[a, b]);
            }
        }),
        _ => for_each_triple(all, visit),
    }
}

fn for_each_pair(all: &[&'static Variation], mut visit: impl FnMut(&'static Variation, &'static Variation)) {
    for (i, a) in all.iter().enumerate() {
        all.iter().skip(i.saturating_add(1)).for_each(|b| visit(a, b));
    }
}

/// The triples that are seen: byte order and form of texts with zero bytes, unit or encoding; byte order and two widths;
/// byte order, texts and a length; encoding and unit with byte order or form.
fn for_each_triple(all: &[&'static Variation], mut visit: impl FnMut(&[&'static Variation])) {
    let those = |is: fn(&Variation) -> bool| -> Vec<&'static Variation> {
        all.iter().copied().filter(|v| is(v)).collect()
    };
    let swaps = those(Variation::swaps_all);
    let forms = those(|v| matches!(v.change, Change::Texts(Form::Length(..) | Form::SevenBits)));
    let nuls = those(|v| matches!(v.change, Change::Nul(Nul::Counted | Nul::Uncounted)));
    let units = those(|v| v.change == Change::Unit);
    let wide = those(|v| matches!(v.change, Change::Encoding(encoding) if encoding.is_wide()));
    let widths = those(|v| matches!(v.change, Change::Width(_)));
    let lengths = those(|v| matches!(v.change, Change::Length(_)));
    for swap in &swaps {
        for form in &forms {
            nuls.iter().chain(&units).chain(&wide).for_each(|third| visit(&[swap, form, third]));
        }
        for_each_pair(&widths, |a, b| {
            if !a.excludes(b) {
                visit(&[swap, a, b]);
            }
        });
        for text in forms.iter().chain(&nuls).chain(&wide) {
            lengths.iter().for_each(|length| visit(&[swap, text, length]));
        }
    }
    for encoding in &wide {
        for unit in &units {
            swaps.iter().chain(&forms).for_each(|third| visit(&[third, encoding, unit]));
        }
    }
}
