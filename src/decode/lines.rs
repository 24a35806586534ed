//! The building blocks of text protocols: separators, and lists of keys and values.

use super::cursor::{Cursor, Fault};
use super::wire::{Wire, byte, text};
use super::{Fact, FieldSink, Str, Value};
use crate::rule::Rule;

/// Text up to one of these bytes, which is not consumed, or to the end.
#[inline]
pub fn until<'a>(ends: &'static [u8]) -> impl Fn(&'a [u8]) -> Wire<'a, Str<'a>> {
    move |i| {
        let end = match ends {
            [end] => i.iter().position(|byte| byte == end),
            _ => i.iter().position(|byte| ends.contains(byte)),
        };
        text(end.unwrap_or(i.len()))(i)
    }
}

/// As [`until`], after a mark, which is skipped where it is present.
#[inline]
pub fn behind<'a>(mark: &'static [u8], ends: &'static [u8]) -> impl Fn(&'a [u8]) -> Wire<'a, Str<'a>> {
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
        self.rest = rest;
        self.sink.separator(separator.len() as u16);
        true
    }

    /// Skips all bytes that are one of these.
    pub fn skip_all(&mut self, separators: &[u8]) {
        let most = self.rest.iter().position(|byte| !separators.contains(byte)).unwrap_or(self.rest.len());
        let (separators, _) = self.rest.split_at(most);
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
        let stands = self.skip(separator) || self.is_cut() && separator.starts_with(self.rest);
        self.require(self.ends.early, stands)
    }

    /// Reads a text without a declared encoding: UTF-8 where it is valid, else one byte per character. In a
    /// [`Dynamic`](super::FieldKind::Dynamic) field, decimal digits are a number. A text that may go on behind the
    /// captured bytes states no fact about the server.
    ///
    /// # Errors
    /// The errors of the parser.
    #[inline]
    pub fn words(
        &mut self,
        field: &'static super::Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, Str<'a>>,
    ) -> Result<Str<'a>, Fault> {
        let text = self.read(field, parser, |text| text.shown_as(field.kind))?;
        if let Some(fact) = field.fact
            && !self.may_go_on()
        {
            self.facts.take(fact, text.shown_as(field.kind));
        }
        Ok(text)
    }

    /// As [`words`](Self::words), for a text that ends with this byte, which must be there.
    ///
    /// # Errors
    /// When the byte is missing.
    #[inline]
    pub fn ended(&mut self, field: &'static super::Field, end: &'static [u8; 1]) -> Result<Str<'a>, Fault> {
        let text = self.words(field, until(end))?;
        self.expect(end)?;
        Ok(text)
    }

    /// As [`words`](Self::words), for a field of `len` bytes, which are padding from the first zero on.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn padded(&mut self, field: &'static super::Field, len: usize) -> Result<Str<'a>, Fault> {
        let room = self.rest.get(..len).unwrap_or_default();
        let end = room.iter().position(|byte| *byte == 0).unwrap_or(len);
        let text = self.words(field, text(end))?;
        self.skip(room.get(end..).unwrap_or_default());
        Ok(text)
    }

    /// As [`words`](Self::words), for a password: it is shown only where [`secret`](Cursor::secret) allows it.
    ///
    /// # Errors
    /// The errors of the parser.
    pub fn secret_words(
        &mut self,
        field: &'static super::Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, Str<'a>>,
    ) -> Result<Str<'a>, Fault> {
        let secret = self.secret;
        let show = |text: Str<'a>| if secret { Value::Secret(field.kind) } else { text.utf8_or_latin1() };
        self.field_as(field, parser, show)
    }

    /// Reads all that is left of the scope, if anything, because no other field does.
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

    /// Reads all that is left of the scope; any byte there breaks `rule`.
    ///
    /// # Errors
    /// None: any bytes can be read.
    pub fn nothing(&mut self, field: &'static super::Field, rule: &'static Rule) -> Result<(), Fault> {
        let (at, none) = (self.to_end(), self.rest.is_empty() && !self.is_cut());
        self.ignored(field)?;
        self.check_at(rule, at, || none);
        Ok(())
    }

    /// Stores the fact about the server that the value of a key, just read, states. Returns the [bit](Fact::bit) of
    /// the fact; 0 where the key states none. An empty value, or one that may go on behind the captured
    /// bytes, is not stored.
    pub fn says(&mut self, table: &[(&[u8], Fact)], key: Str<'_>, value: Str<'a>) -> u32 {
        let Some((_, fact)) = table.iter().find(|(name, _)| *name == key.0) else { return 0 };
        if !value.0.is_empty() && !self.may_go_on() {
            self.facts.take(*fact, value.utf8_or_latin1());
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
        let more = std::cell::Cell::new(any);
        let item = |c: &mut Self| item(c).map(|follows| more.set(follows));
        self.list(field, |_, _| more.get(), item).map(drop)
    }

    /// Reports a part of the payload that lies within a leaf, or that is reported at another place than it is found.
    /// Returns where it is found, for checks.
    #[inline]
    pub fn part(
        &mut self,
        field: &'static super::Field,
        text: &'a [u8],
        show: fn(Str<'a>) -> Value<'a>,
    ) -> super::Span {
        let start = (text.as_ptr() as usize).wrapping_sub(self.whole.as_ptr() as usize) as u16;
        let at = super::Span { start, end: start.wrapping_add(text.len() as u16) };
        let shown = show(Str(text));
        if let Some(fact) = field.fact {
            self.facts.take(fact, shown);
        }
        self.derived_at(field, at, shown);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Ends, Field, FieldKind, Tree, dissect};
    use crate::general::GEN_001;

    static ITEMS: Field = Field::new("items", FieldKind::List, "");
    static ITEM: Field = Field::new("items[]", FieldKind::Dynamic, "");
    static LEFT: Field = Field::new("left", FieldKind::Bytes, "");
    static ENDS: Ends = Ends { early: &GEN_001, early_inside: &GEN_001, late: &GEN_001, surplus: &LEFT };

    #[test]
    fn separators_belong_to_the_leaf_before_them_and_not_to_its_value() {
        let (mut tree, mut facts) = (Tree::default(), Default::default());
        let payload = b"a,  7,\xe9;rest";
        let out = dissect(payload, 0, &ENDS, &mut tree, &mut facts, |c| {
            c.repeat(&ITEMS, true, |c| {
                c.words(&ITEM, until(b",;"))?;
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
        let mut again = Tree::default();
        tree.replay(payload, &mut again);
        assert_eq!(again.render(payload), tree.render(payload));
    }

    #[test]
    fn of_a_field_of_fixed_length_the_zeros_at_its_end_are_no_text() {
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
    fn strings_take_the_length_that_stands_before_them() {
        use crate::decode::wire::{Stop, string16, string32};
        assert_eq!(string16(b"\x02\0abc"), Ok((&b"c"[..], Str(b"ab"))));
        assert_eq!(string32(b"\x02\0\0\0abc"), Ok((&b"c"[..], Str(b"ab"))));
        assert_eq!(string16(b"\x03\0ab"), Err(nom::Err::Error(Stop::Short(5))));
        assert_eq!(string32(b"\xff\xff\xff\xffab"), Err(nom::Err::Error(Stop::Short(u32::MAX))));
    }
}
