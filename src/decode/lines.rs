//! The building blocks of text protocols: separators, and lists of keys and values.

use super::cursor::Cursor;
use super::fault::Fault;
use super::wire::{Wire, byte, text};
use super::{Compared, ComparedValue, Fact, FieldSink, Str, Value, work};
use crate::rule::Rule;

/// Text up to one of these bytes, which is not consumed, or to the end.
#[inline]
pub fn until<'a>(ends: &'static [u8]) -> impl Fn(&'a [u8]) -> Wire<'a, Str<'a>> {
    move |i| {
        let end = match ends {
            [end] => i.iter().position(|byte| byte == end),
            _ => i.iter().position(|byte| ends.contains(byte)),
        };
        work::add(end.unwrap_or(i.len()));
        text(end.unwrap_or(i.len()))(i)
    }
}

/// As [`until`], after a mark, which is skipped where it is present.
#[inline]
pub fn after_mark<'a>(mark: &'static [u8], ends: &'static [u8]) -> impl Fn(&'a [u8]) -> Wire<'a, Str<'a>> {
    move |i| until(ends)(i.strip_prefix(mark).unwrap_or(i))
}

/// Text and the zero after it, which must be there.
#[inline]
pub fn zero_ended(i: &[u8]) -> Wire<'_, Str<'_>> {
    let (rest, found) = until(b"\0")(i)?;
    byte(rest).map(|(rest, _)| (rest, found))
}

/// All remaining bytes, as text.
#[inline]
pub fn remaining(i: &[u8]) -> Wire<'_, Str<'_>> {
    text(i.len())(i)
}

impl<'a, S: FieldSink> Cursor<'a, '_, S> {
    /// Skips a separator where there is one. Its bytes are added to the last field read, after its value; there must
    /// be such a field.
    #[inline]
    pub fn skip(&mut self, separator: &[u8]) -> bool {
        let Some(rest) = self.rest.strip_prefix(separator) else { return false };
        work::add(separator.len());
        self.rest = rest;
        self.sink.separator(separator.len() as u16);
        true
    }

    /// Skips all bytes that are one of these.
    pub fn skip_all(&mut self, separators: &[u8]) {
        let len = self.rest.iter().position(|byte| !separators.contains(byte)).unwrap_or(self.rest.len());
        let (separators, _) = self.rest.split_at(len);
        if !separators.is_empty() {
            self.skip(separators);
        }
    }

    /// Skips a separator that must be here. Where it is not, the last field read breaks the rule about the end of the scope.
    ///
    /// # Errors
    /// When the separator is missing.
    #[inline]
    pub fn expect(&mut self, separator: &[u8]) -> Result<(), Fault> {
        let present = self.skip(separator) || self.is_cut() && separator.starts_with(self.rest);
        self.require(self.ends.early, present)
    }

    /// Reads a text without a declared encoding: UTF-8 where it is valid, else one byte per character. In a
    /// [`Dynamic`](super::FieldKind::Dynamic) field, decimal digits are a number. A text that may continue after the
    /// captured bytes states no fact about the server.
    ///
    /// # Errors
    /// The errors of the parser.
    #[inline]
    pub fn text(
        &mut self,
        field: &'static super::Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, Str<'a>>,
    ) -> Result<Str<'a>, Fault> {
        let text = self.read(field, parser, |text| text.to_value(field.kind))?;
        if let Some(fact) = field.fact
            && !self.may_continue()
        {
            self.facts.set(fact, text.to_value(field.kind));
        }
        Ok(text)
    }

    /// As [`text`](Self::text), for a text that ends with this byte, which must be there.
    ///
    /// # Errors
    /// When the byte is missing.
    #[inline]
    pub fn terminated(
        &mut self,
        field: &'static super::Field,
        end: &'static [u8; 1],
    ) -> Result<Str<'a>, Fault> {
        let text = self.text(field, until(end))?;
        self.expect(end)?;
        Ok(text)
    }

    /// As [`text`](Self::text), for a field of `len` bytes, which are padding from the first zero on.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn padded(&mut self, field: &'static super::Field, len: usize) -> Result<Str<'a>, Fault> {
        let bytes = self.rest.get(..len).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(len);
        let text = self.text(field, text(end))?;
        self.skip(bytes.get(end..).unwrap_or_default());
        Ok(text)
    }

    /// As [`text`](Self::text), for a password: it is shown only where [`mask_unless`](Cursor::mask_unless) allows it.
    ///
    /// # Errors
    /// The errors of the parser.
    pub fn secret_text(
        &mut self,
        field: &'static super::Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, Str<'a>>,
    ) -> Result<Str<'a>, Fault> {
        let secret = self.secret;
        let show = |text: Str<'a>| if secret { Value::Secret(field.kind) } else { text.utf8_or_latin1() };
        self.field_as(field, parser, show)
    }

    /// Reads the bytes left in the scope, if any, which have no other field.
    ///
    /// # Errors
    /// None: any bytes can be read.
    pub fn ignored(&mut self, field: &'static super::Field) -> Result<(), Fault> {
        let (rest, secret) = (self.rest.len(), self.secret);
        if rest == 0 {
            return Ok(());
        }
        let show = |left| if secret { Value::Secret(field.kind) } else { Value::Bytes(left) };
        self.field_as(field, super::wire::bytes(rest), show).map(drop)
    }

    /// Reads the bytes left in the scope; if there are any, they break `rule`.
    ///
    /// # Errors
    /// None: any bytes can be read.
    pub fn expect_end(&mut self, field: &'static super::Field, rule: &'static Rule) -> Result<(), Fault> {
        let (at, is_empty) = (self.to_end(), self.rest.is_empty() && !self.is_cut());
        self.ignored(field)?;
        let surplus = ComparedValue::Bytes(at.end.saturating_sub(at.start).into());
        self.compare_at(rule, at, || is_empty, || Compared::new(surplus, "none"));
        Ok(())
    }

    /// Stores the fact about the server that `value`, just read, states as the value of `key`. Returns the
    /// [bit](Fact::bit) of the fact; 0 where the key states none. An empty value, or one that may continue after the
    /// captured bytes, is not stored.
    pub fn store_fact(&mut self, table: &[(&[u8], Fact)], key: Str<'_>, value: Str<'a>) -> u32 {
        let Some((_, fact)) = table.iter().find(|(name, _)| *name == key.0) else { return 0 };
        if !value.0.is_empty() && !self.may_continue() {
            self.facts.set(*fact, value.utf8_or_latin1());
        }
        fact.bit()
    }

    /// Runs `item` for the elements of a list, as long as it returns that another one follows; `any` says whether
    /// there is a first one. Each call must read at least one byte or fail, or return `false` at some point.
    ///
    /// # Errors
    /// The errors of `item`.
    #[inline(always)]
    pub fn repeat(
        &mut self,
        field: &'static super::Field,
        any: bool,
        mut item: impl FnMut(&mut Self) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let has_next = std::cell::Cell::new(any);
        let item = |c: &mut Self| item(c).map(|follows| has_next.set(follows));
        self.list(field, |_, _| has_next.get(), item).map(drop)
    }

    /// Reports a part of the payload that lies within a leaf, or that is reported out of order. Returns its span, for
    /// checks.
    #[inline]
    pub fn part(
        &mut self,
        field: &'static super::Field,
        text: &'a [u8],
        show: fn(Str<'a>) -> Value<'a>,
    ) -> super::Span {
        let start = self.offset_of(text);
        let at = super::Span { start, end: start.wrapping_add(text.len() as u16) };
        let shown = show(Str(text));
        if let Some(fact) = field.fact {
            self.facts.set(fact, shown);
        }
        self.derived_at(field, at, shown);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Ends, Field, FieldKind, Tree, dissect};
    use crate::rule::general::GEN_001;

    static ITEMS: Field = Field::new("items", FieldKind::List, "");
    static ITEM: Field = Field::new("items[]", FieldKind::Dynamic, "");
    static LEFT: Field = Field::new("left", FieldKind::Bytes, "");
    static ENDS: Ends = Ends { early: &GEN_001, early_inside: &GEN_001, late: &GEN_001, surplus: &LEFT };

    #[test]
    fn separators_belong_to_the_leaf_before_them_but_not_to_its_value() {
        let (mut tree, mut facts) = (Tree::default(), Default::default());
        let payload = b"a,  7,\xe9;rest";
        let out = dissect(payload, 0, &ENDS, &mut tree, &mut facts, |c| {
            c.repeat(&ITEMS, true, |c| {
                c.text(&ITEM, until(b",;"))?;
                let more = c.skip(b",");
                c.skip_all(b" ");
                Ok(more)
            })?;
            c.expect(b";")?;
            c.ignored(&LEFT)
        });
        assert!(out.is_ok() && tree.violations().is_empty());
        let leaves: Vec<_> =
            tree.nodes().iter().filter_map(|n| Some((n.at.start, n.at.end, n.value(payload)?))).collect();
        let expected = [
            (0, 4, Value::Text(b"a")),
            (4, 6, Value::Int(7)),
            (6, 8, Value::Latin1(b"\xe9")),
            (8, 12, Value::Bytes(b"rest")),
        ];
        assert_eq!(leaves, expected);
        let mut replayed = Tree::default();
        tree.replay(payload, &mut replayed);
        assert_eq!(replayed.render(payload), tree.render(payload));
    }

    #[test]
    fn zeros_that_pad_a_field_are_no_text() {
        let texts = |payload: &'static [u8]| {
            let (mut tree, mut facts) = (Tree::default(), Default::default());
            let out = dissect(payload, 0, &ENDS, &mut tree, &mut facts, |c| {
                c.padded(&ITEM, 4)?;
                c.ignored(&LEFT)
            });
            let values: Vec<_> = tree.nodes().iter().filter_map(|n| n.value(payload)).collect();
            out.is_ok().then_some(values)
        };
        assert_eq!(texts(b"ab\0\0c"), Some(vec![Value::Text(b"ab"), Value::Bytes(b"c")]));
        assert_eq!(texts(b"a\0b\0"), Some(vec![Value::Text(b"a")]));
        assert_eq!(texts(b"abcde"), Some(vec![Value::Text(b"abcd"), Value::Bytes(b"e")]));
        assert_eq!(texts(b"ab\0"), None);
    }

    #[test]
    fn strings_have_the_length_in_front_of_them() {
        use crate::decode::wire::{Stop, string16, string32};
        assert_eq!(string16(b"\x02\0abc"), Ok((&b"c"[..], Str(b"ab"))));
        assert_eq!(string32(b"\x02\0\0\0abc"), Ok((&b"c"[..], Str(b"ab"))));
        assert_eq!(string16(b"\x03\0ab"), Err(nom::Err::Error(Stop::Short(5))));
        assert_eq!(string32(b"\xff\xff\xff\xffab"), Err(nom::Err::Error(Stop::Short(u32::MAX))));
    }
}
