//! Writes the `fields` object of a record while the datagram is decoded.

use super::field::SECRET;
use super::json_text::{push_chars, push_hex, push_text};
use super::labels::names_of_bits;
use super::text::utf16;
use super::{Field, FieldSink, Kept, Listener, Notes, Shape, Span, Value, Violation};
use crate::text::digits::{TEN_POW_8, decimal, push, push_u64};
use crate::text::line::Line;

/// The JSON listener: writes the object of the fields, and collects the broken rules.
///
/// Damaged text is shown with U+FFFD, and its bytes are written beside it as `<key>_hex`; a list with damaged text
/// gets a sibling `<key>_hex` of the same shape, with null where the text is valid.
#[derive(Debug, Default)]
pub struct Json {
    out: Line,
    notes: Notes,
    /// The innermost group or list.
    inner: Open,
    /// The groups and lists around it, the outermost first.
    outer: Vec<Open>,
    /// The `_hex` sibling of the outermost open list: null or hex for each of its values.
    hex_list: Line,
    hex_has_damage: bool,
}

/// A group or list that is being written. Each element is written with a comma before it; when the group or list is
/// closed, its opening brace or bracket overwrites the first comma.
#[derive(Clone, Copy, Debug)]
struct Open {
    shape: Shape,
    /// Offset in the output where it begins.
    at: usize,
    field: Option<&'static Field>,
}

/// The state before a datagram: only the object itself is open.
impl Default for Open {
    fn default() -> Open {
        Open { shape: Shape::Group, at: 0, field: None }
    }
}

impl Json {
    /// The object, once the datagram has ended.
    #[inline]
    pub fn object(&self) -> &[u8] {
        &self.out
    }

    /// Writes the comma, and in a group the key, before an element.
    #[inline(always)]
    fn push_key(&mut self, field: &'static Field) {
        match self.inner.shape {
            Shape::Group => field.json.push(&mut self.out),
            Shape::List => self.out.push(b','),
        }
    }

    /// Writes both brackets of the group or list that began at `at`.
    #[inline]
    fn enclose(&mut self, at: usize, [first, last]: [u8; 2]) {
        match self.out.get_mut(at) {
            Some(comma) => *comma = first,
            None => self.out.push(first),
        }
        self.out.push(last);
    }

    /// Writes a field of any type; inlined where the type is known, so that only that case is compiled.
    #[inline(always)]
    fn push_field(&mut self, field: &'static Field, value: Value<'_>) {
        self.push_key(field);
        let damaged = self.push_value(value);
        if self.in_list() {
            self.push_hex_item(damaged, value);
        }
        if damaged {
            self.push_damaged(field, value);
        }
    }

    /// Writes a number; most are short, and have a key.
    fn push_uint(&mut self, field: &'static Field, v: u32) {
        if self.in_list() || u64::from(v) >= TEN_POW_8 {
            return self.push_field_out_of_line(field, Value::Uint(v));
        }
        let (text, len) = decimal(v);
        field.json.push(&mut self.out);
        self.out.push_first(&text.to_le_bytes(), len);
    }

    /// Writes a text.
    fn push_text(&mut self, field: &'static Field, bytes: &[u8]) {
        self.push_field(field, Value::Text(bytes));
    }

    #[inline(never)]
    fn push_field_out_of_line(&mut self, field: &'static Field, value: Value<'_>) {
        self.push_field(field, value);
    }

    fn in_list(&self) -> bool {
        self.inner.shape == Shape::List
    }

    /// Writes a value; `true` if it is damaged text.
    #[inline(always)]
    fn push_value(&mut self, value: Value<'_>) -> bool {
        let out = &mut self.out;
        match value {
            Value::Uint(v) => push_u64(out, v as u64),
            Value::Uint64(v) => {
                out.push(b'"');
                push_u64(out, v);
                out.push(b'"');
            }
            Value::Int(v) => push(out, format_args!("{v}")),
            Value::Int64(v) => push(out, format_args!("\"{v}\"")),
            Value::Float32(v) if v.is_nan() => out.add(b"\"NaN\""),
            Value::Float32(v) if v.is_infinite() => {
                out.extend_from_slice(if v > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
            }
            Value::Float32(v) => push(out, format_args!("{v:?}")),
            Value::Text(bytes) => return !push_text(out, bytes),
            Value::Latin1(bytes) => {
                push_chars(out, bytes.iter().map(|&b| b as char));
            }
            Value::Coloured(..) | Value::Numbered(..) => {
                push_chars(out, value.text().unwrap_or_default().chars());
            }
            Value::Escaped(bytes, escapes, _) => return !push_text(out, &escapes.unescape(bytes)),
            Value::Dotted([major, minor, patch]) => push(out, format_args!("\"{major}.{minor}.{patch}\"")),
            Value::Pair([first, second], between) => push(out, format_args!("\"{first}{between}{second}\"")),
            Value::Address(address) => push(out, format_args!("\"{address}\"")),
            Value::MappedAddress(_) => push(out, format_args!("\"{}\"", value.text().unwrap_or_default())),
            Value::Utf16(bytes) => {
                push_chars(out, utf16(bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
                return utf16(bytes).any(|c| c.is_err());
            }
            Value::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
            Value::Secret(_) => {
                push_text(out, SECRET.as_bytes());
            }
            Value::Named(_, Some(name)) => {
                push_text(out, name.as_bytes());
            }
            Value::Named(v, None) => push_u64(out, v as u64),
            Value::Names(names, bits) => {
                out.push(b'[');
                for (i, name) in names_of_bits(names, bits.into()).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    push_text(out, name.as_bytes());
                }
                out.push(b']');
            }
            Value::Bytes(bytes) => push_hex(out, bytes),
        }
        false
    }

    #[cold]
    fn push_damaged(&mut self, field: &'static Field, value: Value<'_>) {
        if self.in_list() {
            self.hex_has_damage = true;
        } else {
            self.push_hex_key(field);
            push_damaged_hex(&mut self.out, value);
        }
    }

    /// Writes comma and key of the sibling of a field.
    #[cold]
    fn push_hex_key(&mut self, field: &'static Field) {
        push(&mut self.out, format_args!(",\"{}_hex\":", field.key));
    }

    fn push_hex_item(&mut self, damaged: bool, value: Value<'_>) {
        if !self.hex_list.ends_with(b"[") {
            self.hex_list.push(b',');
        }
        if damaged {
            push_damaged_hex(&mut self.hex_list, value);
        } else {
            self.hex_list.add(b"null");
        }
    }

    fn close_list(&mut self, list: Open) {
        self.enclose(list.at, *b"[]");
        self.hex_list.push(b']');
        if self.in_list() {
            return;
        }
        if std::mem::take(&mut self.hex_has_damage)
            && let Some(field) = list.field
        {
            self.push_hex_key(field);
            self.out.extend_from_slice(&self.hex_list);
        }
        self.hex_list.clear();
    }
}

/// Writes the bytes of a damaged text.
#[cold]
fn push_damaged_hex(out: &mut Line, value: Value<'_>) {
    match value {
        Value::Text(bytes) | Value::Utf16(bytes) => push_hex(out, bytes),
        Value::Escaped(bytes, escapes, _) => push_hex(out, &escapes.unescape(bytes)),
        _ => out.add(b"null"),
    }
}

impl FieldSink for Json {
    const KEEPS_FIELDS: bool = true;
    fn kept(&self) -> Kept {
        Kept([self.out.len(), self.hex_list.len()], self.hex_has_damage)
    }
    #[cold]
    fn withdraw(&mut self, Kept([out, hex_list], hex_has_damage): Kept) {
        self.out.truncate(out);
        self.hex_list.truncate(hex_list);
        self.hex_has_damage = hex_has_damage;
    }
    // Inlined, because the type is known at the place of the call.
    #[inline(always)]
    fn field(&mut self, field: &'static Field, _at: Span, value: Value<'_>) {
        match value {
            Value::Uint(v) | Value::Named(v, None) => self.push_uint(field, v),
            Value::Text(bytes) => self.push_text(field, bytes),
            Value::Named(_, Some(name)) => self.push_text(field, name.as_bytes()),
            value => self.push_field_out_of_line(field, value),
        }
    }
    #[inline(always)]
    fn derived(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.field(field, at, value);
    }
    fn open(&mut self, field: &'static Field, _at: u16, shape: Shape) {
        self.push_key(field);
        if shape == Shape::List {
            if self.in_list() && !self.hex_list.ends_with(b"[") {
                self.hex_list.push(b',');
            }
            self.hex_list.push(b'[');
        }
        let inner = Open { shape, at: self.out.len(), field: Some(field) };
        self.outer.push(std::mem::replace(&mut self.inner, inner));
    }
    fn close(&mut self, _at: u16) {
        let closed = std::mem::replace(&mut self.inner, self.outer.pop().unwrap_or_default());
        match closed.shape {
            Shape::List => self.close_list(closed),
            Shape::Group => self.enclose(closed.at, *b"{}"),
        }
    }
    #[inline]
    fn violation(&mut self, v: Violation) {
        self.notes.violation(v);
    }
}

impl Listener for Json {
    #[inline]
    fn begin(&mut self) {
        self.out.clear();
        self.notes.begin();
        self.inner = Open::default();
        self.outer.clear();
        self.hex_list.clear();
        self.hex_has_damage = false;
    }
    #[inline]
    fn end(&mut self) {
        self.enclose(0, *b"{}");
    }
    fn notes(&self) -> &Notes {
        &self.notes
    }
}
