//! Layouts: how messages are built, as plain data. With a layout, a message can be read with variations and written again
//! as it should have been.
//!
//! ```text
//! Layout: parts, variations ──> Reader ──> the message as it should have been
//! here, variation, wholes       reader, parts, numbers, tokens, texts
//! ```

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

pub mod common;
mod numbers;
mod parts;
mod reader;
mod texts;
mod tokens;
mod variation;
pub mod wholes;

pub use reader::{Expected, Reader};
pub use variation::{Change, Length, Nul, Set, Token, Variation, for_each_set, rank};
pub use wholes::Whole;

/// Order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The highest byte first.
    Big,
    /// The lowest byte first.
    Little,
}

impl Order {
    /// The other order.
    pub const fn swapped(self) -> Order {
        match self {
            Order::Big => Order::Little,
            Order::Little => Order::Big,
        }
    }
}

/// How the end of a text is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A length of so many bytes in that order goes before it.
    Length(usize, Order),
    /// A length goes before it, 7 bits at a time, the lowest first.
    SevenBits,
    /// A zero byte ends it; in UTF-16, two.
    Nul,
    /// A field of fixed width, filled with zero bytes.
    Fixed,
}

impl Form {
    /// A length of one byte.
    pub const U8: Form = Form::Length(1, Order::Big);
    /// A length of two bytes, the highest first.
    pub const U16_BE: Form = Form::Length(2, Order::Big);
    /// A length of two bytes, the lowest first.
    pub const U16_LE: Form = Form::Length(2, Order::Little);
    /// A length of four bytes, the highest first.
    pub const U32_BE: Form = Form::Length(4, Order::Big);
    /// A length of four bytes, the lowest first.
    pub const U32_LE: Form = Form::Length(4, Order::Little);
    /// A length of eight bytes, the lowest first.
    pub const U64_LE: Form = Form::Length(8, Order::Little);

    /// The same with the length in the other order.
    pub const fn swapped(self) -> Form {
        match self {
            Form::Length(width, order) if width > 1 => Form::Length(width, order.swapped()),
            other => other,
        }
    }
}

/// Encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// Bytes that are UTF-8 or Latin-1.
    Bytes,
    /// UTF-16, the lower byte first.
    Utf16Le,
    /// UTF-16, the higher byte first.
    Utf16Be,
}

impl Encoding {
    /// Whether it is UTF-16.
    pub const fn is_wide(self) -> bool {
        matches!(self, Encoding::Utf16Le | Encoding::Utf16Be)
    }
}

/// Kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Without a sign.
    Unsigned,
    /// With a sign.
    Signed,
    /// A floating-point number of 32 bits.
    Float,
}

/// A number in a message.
#[derive(Debug)]
pub struct Number {
    /// Name of its field.
    pub name: &'static str,
    /// The name under which several numbers vary together, or an empty text.
    pub group: &'static str,
    /// Number of bytes.
    pub width: usize,
    /// Kind.
    pub kind: Kind,
    /// The values that make sense.
    pub accepts: fn(i64) -> bool,
}

impl Number {
    /// A number without a sign, of any value.
    pub const fn of(name: &'static str, width: usize) -> Number {
        Number { name, group: "", width, kind: Kind::Unsigned, accepts: |_| true }
    }
    /// The same, with a sign.
    pub const fn signed(self) -> Number {
        Number { kind: Kind::Signed, ..self }
    }
    /// The same as a floating-point number.
    pub const fn float(name: &'static str) -> Number {
        Number { kind: Kind::Float, ..Number::of(name, 4) }
    }
    /// The same in a group.
    pub const fn within(self, group: &'static str) -> Number {
        Number { group, ..self }
    }
    /// The same with the values that make sense.
    pub const fn accepting(self, accepts: fn(i64) -> bool) -> Number {
        Number { accepts, ..self }
    }
}

/// Where a value that an answer or request repeats is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is the key of the request.
    Key,
    /// It is the value that the server issued last to the client.
    Issued,
    /// It is not known.
    Nothing,
}

/// A part of a message.
#[derive(Debug)]
pub enum Part {
    /// Fixed bytes.
    Const(&'static str, &'static [u8]),
    /// Fixed bytes that are a number in the order of the layout.
    ConstNumber(&'static str, &'static [u8]),
    /// Bytes that repeat a known value: name, number of bytes, the order in which the known value is written, and
    /// where it is known from.
    Token(&'static str, usize, Order, Known),
    /// A number.
    Number(Number),
    /// A text in the form and encoding of the layout.
    Text(&'static str),
    /// A text in a form and an encoding of its own.
    TextAs(&'static str, Form, Encoding),
    /// Texts, of which one may be missing.
    Texts(&'static [&'static str]),
    /// A length, and the parts that it counts.
    Sized(Sized),
    /// A number of elements with its width, and the parts of an element.
    Count(&'static str, usize, &'static [Part]),
    /// Parts that are repeated until the bytes end.
    Rest(&'static [Part]),
    /// Whatever else a protocol has.
    Custom(fn(&mut Reader<'_>) -> Option<()>),
}

/// A length, and the parts that it counts.
#[derive(Debug)]
pub struct Sized {
    /// Name of the length.
    pub name: &'static str,
    /// Bytes of the length.
    pub width: usize,
    /// It counts everything that follows.
    pub fill: bool,
    /// What it counts.
    pub parts: &'static [Part],
}

/// What a specification says, and in which section.
pub type Says = (&'static str, &'static str);

/// How a message is built.
#[derive(Debug)]
pub struct Layout {
    /// Index into the protocol's messages.
    pub message: u8,
    /// It travels from the server to the client.
    pub answer: bool,
    /// The step whose requests it answers, or of which it is a request; `None` for any.
    pub step: Option<u8>,
    /// Order of its numbers.
    pub order: Order,
    /// Form of its texts.
    pub form: Form,
    /// Encoding of its texts.
    pub encoding: Encoding,
    /// Texts that are never UTF-16.
    pub narrow: &'static [&'static str],
    /// A length says where the message ends.
    pub sized: bool,
    /// The value that it issues is never 0.
    pub nonzero: bool,
    /// It holds so few texts that one must be proof enough.
    pub one_text: bool,
    /// The texts whose length may be cut to eight bits.
    pub wrapped: &'static [&'static str],
    /// The value issued to the client must be known.
    pub needs_issued: bool,
    /// The parts.
    pub parts: &'static [Part],
    /// Whether the values of a reading make sense together.
    pub plausible: fn(&Reader<'_>) -> bool,
    /// Whether a set of variations proves nothing in this message, although it fits.
    pub refuses: fn(&[&'static Variation]) -> bool,
    /// The variations, each list in order.
    pub variations: &'static [&'static [Variation]],
    /// The variations of the message as a whole.
    pub wholes: &'static [&'static [&'static Whole]],
    /// What the specification says about numbers, about texts, and about everything else.
    pub says: [Says; 3],
}

impl Layout {
    /// A big-endian message whose texts are UTF-8 with lengths of one byte.
    pub const fn of(message: u8, says: [Says; 3], parts: &'static [Part]) -> Layout {
        Layout {
            message,
            answer: true,
            step: None,
            order: Order::Big,
            form: Form::U8,
            encoding: Encoding::Utf8,
            narrow: &[],
            sized: false,
            nonzero: false,
            one_text: false,
            wrapped: &[],
            needs_issued: false,
            parts,
            plausible: |_| true,
            refuses: |_| false,
            variations: &[],
            wholes: wholes::SHARED,
            says,
        }
    }
}
