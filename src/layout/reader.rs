//! The reader: takes the bytes of a message apart by its layout, with variations, and writes the message again as it
//! should have been.

use super::{Change, Form, Layout, Order, Variation};

/// What is known about a message from the datagrams before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// The key of the request.
    pub key: Option<u64>,
    /// The value that the server issued last to the client.
    pub issued: Option<u32>,
    /// The state of the request, see [`crate::contract::Probe::request_state`].
    pub asked: Option<u32>,
    /// Width of texts in fields of fixed width.
    pub fixed: usize,
    /// The text whose length is cut.
    pub wrapped: &'static str,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

/// Reads one message once.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) data: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
    /// The layout.
    pub layout: &'static Layout,
    pub(super) set: &'a [&'static Variation],
    /// The variations that have changed something, one bit each.
    used: u8,
    /// What is known about the message.
    pub expected: Expected,
    /// The message as it should have been.
    pub out: Vec<u8>,
    values: Vec<(&'static str, Value)>,
    /// The texts in order.
    pub texts: Vec<String>,
    pub(super) is_header: bool,
    /// A length of 7 bits at a time was longer than one byte.
    pub(super) has_long_text: bool,
}

impl<'a> Reader<'a> {
    /// A reader of that message.
    pub fn new(
        data: &'a [u8],
        layout: &'static Layout,
        set: &'a [&'static Variation],
        expected: Expected,
    ) -> Reader<'a> {
        Reader {
            data,
            at: 0,
            end: data.len(),
            layout,
            set,
            used: 0,
            expected,
            out: vec![],
            values: vec![],
            texts: vec![],
            is_header: true,
            has_long_text: false,
        }
    }

    /// Reads the message to its end; `None` if these variations do not read it.
    pub fn read(&mut self) -> Option<()> {
        self.parts(self.layout.parts)?;
        let tail = self.data.get(self.at..)?;
        let zeros = tail.iter().all(|&b| b == 0);
        let (padded, sized) = (self.padding().is_some(), self.layout.sized);
        if padded && !sized && tail.len() < 4 && zeros {
            self.at = self.data.len();
        }
        let tail = self.data.len().saturating_sub(self.at);
        if let Some(mark) = self.find(|v| v.change == Change::Zeros) {
            let whole_buffer = tail > 2 && [16, 32, 64, 128, 256, 512].contains(&self.data.len());
            if !zeros || tail < 8 && !whole_buffer {
                return None;
            }
            self.mark(mark);
        } else if tail > 0 {
            return None;
        }
        Some(())
    }

    /// Whether each variation has changed something.
    pub fn is_complete(&self) -> bool {
        self.set.iter().enumerate().all(|(i, v)| {
            let at_field = v.change == Change::Swap && !v.field.is_empty();
            let idle_length = v.change == Change::Texts(Form::SevenBits)
                && self.layout.form == Form::U8
                && !self.has_long_text;
            (at_field || self.used & bit(i) != 0) && !idle_length
        })
    }

    // --- Variations

    /// The place in the set of the variation that fits.
    #[inline]
    pub(super) fn find(&self, fits: impl Fn(&Variation) -> bool) -> Option<usize> {
        self.set.iter().position(|v| fits(v))
    }
    /// The variation at a place in the set.
    pub(super) fn variation(&self, place: usize) -> Option<&'static Variation> {
        self.set.get(place).copied()
    }
    /// Notes that a variation has changed something.
    pub(super) fn mark(&mut self, place: usize) {
        self.used |= bit(place);
    }
    /// Whether the set has a variation of that name, about that field; it is then marked.
    pub fn varies(&mut self, id: &str, field: &str) -> bool {
        let place = self.find(|v| v.id == id && v.field == field);
        place.inspect(|&place| self.mark(place)).is_some()
    }
    /// Whether the set has a variation of that name, about that field.
    pub fn may_vary(&self, id: &str, field: &str) -> bool {
        self.find(|v| v.id == id && v.field == field).is_some()
    }
    /// Whether the form of texts is varied, and not to texts that end with a zero byte.
    pub fn has_other_form(&self) -> bool {
        self.find(|v| matches!(v.change, Change::Texts(form) if form != Form::Nul)).is_some()
    }
    /// Whether a width is varied.
    pub fn has_other_width(&self) -> bool {
        self.find(|v| matches!(v.change, Change::Width(_))).is_some()
    }
    pub(super) fn padding(&self) -> Option<(usize, bool)> {
        let padding = |(i, v): (usize, &&Variation)| match v.change {
            Change::Padding(behind) => Some((i, behind)),
            _ => None,
        };
        self.set.iter().enumerate().find_map(padding)
    }
    /// The place of the variation that swaps all numbers.
    pub(super) fn swaps_all(&self) -> Option<usize> {
        self.find(|v| v.change == Change::Swap && v.field.is_empty())
    }
    /// Whether the number of that name alone is in the other order.
    pub(super) fn swaps_field(&self, name: &str) -> bool {
        let is = |field: &str| field == name || field.strip_suffix("_length") == Some(name);
        self.find(|v| v.change == Change::Swap && !v.field.is_empty() && is(v.field)).is_some()
    }
    pub(super) fn order(&self, name: &str) -> Order {
        let order = self.layout.order;
        if self.swaps_all().is_some() != self.swaps_field(name) { order.swapped() } else { order }
    }
    pub(super) fn mark_swap(&mut self) {
        if let Some(place) = self.swaps_all() {
            self.mark(place);
        }
    }
    /// Whether a field or its group is left out; that is then marked.
    pub fn misses(&mut self, name: &str) -> bool {
        let place = self.find(|v| v.change == Change::Missing && v.field == name);
        place.inspect(|&place| self.mark(place)).is_some()
    }

    // --- Values

    /// The first number of that name.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.values.iter().find(|(n, _)| *n == name).and_then(|(_, v)| match v {
            Value::Number(v) => Some(*v),
            Value::Text(_) => None,
        })
    }
    /// The first text of that name; empty if there is none.
    pub fn string(&self, name: &str) -> &str {
        let value = self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v);
        if let Some(Value::Text(text)) = value { text } else { "" }
    }
    /// Keeps a number, if there is none of that name.
    pub fn keep(&mut self, name: &'static str, value: i64) {
        self.keep_value(name, Value::Number(value));
    }
    pub(super) fn keep_value(&mut self, name: &'static str, value: Value) {
        if !self.values.iter().any(|(n, _)| *n == name) {
            self.values.push((name, value));
        }
    }
    /// The text that was read last.
    pub fn last_text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }

    // --- Bytes

    /// The bytes that are left in the innermost scope.
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..self.end).unwrap_or_default()
    }
    /// Takes bytes without writing them.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let bytes = self.rest().get(..n)?;
        self.at = self.at.saturating_add(n);
        Some(bytes)
    }
    /// Takes a byte without writing it.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }
    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
    /// Takes bytes and writes them.
    pub fn copy(&mut self, n: usize) -> Option<&'a [u8]> {
        let bytes = self.take(n)?;
        self.write(bytes);
        Some(bytes)
    }
}

const fn bit(place: usize) -> u8 {
    1 << (place & 7)
}
