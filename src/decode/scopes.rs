//! The cursor's groups, lists and scopes, and values that are not bytes of the payload.

use super::cursor::{Cursor, Ends};
use super::fault::Fault;
use super::text::Str;
use super::wire::Wire;
use super::{Compared, ComparedValue, Field, FieldSink, Shape, Span, Value};
use crate::rule::Rule;

impl<'a, S: FieldSink> Cursor<'a, '_, S> {
    /// Runs `body` inside a group.
    #[inline(always)]
    pub fn group<T>(
        &mut self,
        field: &'static Field,
        body: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.nest(field, Shape::Group, body)
    }

    #[inline(always)]
    fn nest<T>(
        &mut self,
        field: &'static Field,
        shape: Shape,
        body: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.sink.open(field, self.offset(), shape);
        let out = body(self);
        self.sink.close(self.offset());
        out
    }

    /// Runs `item` for the elements of a list while `more` returns that one follows. Returns the bytes of the list.
    /// Each call must read at least one byte or fail, or `more` must return `false` at some point.
    #[inline(always)]
    pub fn list(
        &mut self,
        field: &'static Field,
        mut more: impl FnMut(&Self, u16) -> bool,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<&'a [u8], Fault> {
        let from = self.rest;
        let level = self.depth;
        let index = |n: u16| u64::from(n).wrapping_shl(u32::from(level).wrapping_mul(16));
        let other_bits = if level < 3 { !index(u16::MAX) } else { u64::MAX };
        let out = self.nest(field, Shape::List, |c| {
            c.depth = c.depth.saturating_add(1);
            let mut count = 0u16;
            while more(c, count) {
                c.index = c.index & other_bits | index(count) & !other_bits;
                if S::KEEPS_FIELDS {
                    c.whole_element(&mut item)?;
                } else {
                    item(c)?;
                }
                count = count.saturating_add(1);
            }
            Ok(())
        });
        self.depth = level;
        let read = from.len().saturating_sub(self.rest.len());
        out.map(|()| from.get(..read).unwrap_or_default())
    }

    /// Runs `item` for an element of a list. Where the bytes end inside an element, it is none: its fields are withdrawn,
    /// and its bytes are left.
    fn whole_element(&mut self, item: &mut impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let (kept, from) = (self.sink.kept(), self.offset());
        let out = item(self);
        // Another fault is one of the field read last.
        if out.is_err_and(|fault| fault.at.start >= self.offset()) {
            self.sink.withdraw(kept);
            self.rest = self.whole.get(usize::from(from)..).unwrap_or_default();
        }
        out
    }

    /// Runs `item` for `count` elements of a list of groups.
    ///
    /// # Errors
    /// The errors of `item`.
    #[inline(always)]
    pub fn times(
        &mut self,
        [list, element]: [&'static Field; 2],
        count: u16,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.list(list, |_, index| index < count, |c| c.group(element, &mut item)).map(drop)
    }

    /// Runs `item` for the elements of a list of groups up to the end of the scope. Returns how many there are.
    ///
    /// # Errors
    /// The errors of `item`.
    #[inline(always)]
    pub fn all(
        &mut self,
        [list, element]: [&'static Field; 2],
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<u16, Fault> {
        let mut count = 0u16;
        let mut one = |c: &mut Self| {
            count = count.saturating_add(1);
            c.group(element, &mut item)
        };
        self.list(list, |c, _| !c.rest.is_empty(), &mut one)?;
        Ok(count)
    }

    /// Runs `item` for the elements of a list of groups, as long as it returns that another one follows; `any` says
    /// whether there is a first one. Each call must read at least one byte or fail, or return `false` at some point.
    ///
    /// # Errors
    /// The errors of `item`.
    #[inline(always)]
    pub fn groups(
        &mut self,
        [list, element]: [&'static Field; 2],
        any: bool,
        mut item: impl FnMut(&mut Self) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        self.repeat(list, any, |c| c.group(element, &mut item))
    }

    /// Reads a number, and then that many elements of a list of groups.
    ///
    /// # Errors
    /// The errors of the parser and of `item`.
    pub fn counted<O: Copy + Into<Value<'a>> + Into<u16>>(
        &mut self,
        count: &'static Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, O>,
        elements: [&'static Field; 2],
        item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let count = self.field(count, parser)?.into();
        self.times(elements, count, item)
    }

    /// Runs `body` on exactly the next `len` bytes, as claimed by the field just read. Where fewer are left, that
    /// field breaks `over`, and `body` gets the bytes that are left.
    #[inline(always)]
    pub fn sized<T>(
        &mut self,
        len: usize,
        over: &'static Rule,
        ends: &'static Ends,
        body: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (outer_ends, outer_more, outer_missing) = (self.ends, self.more, self.missing);
        let (inside, after) = match self.rest.split_at_checked(len) {
            Some((inside, after)) => {
                self.missing = 0;
                (inside, after)
            }
            None => {
                let lacking = len.saturating_sub(self.rest.len());
                if lacking > self.missing {
                    let follow =
                        ComparedValue::Following(self.rest.len().saturating_add(self.missing) as u64);
                    self.differs(over, self.last(), Compared::new(len, follow));
                }
                self.missing = self.missing.min(lacking);
                self.rest.split_at(self.rest.len())
            }
        };
        let cut_inside = self.missing;
        self.more |= !after.is_empty();
        self.record_scope(ends);
        if S::COVERAGE {
            self.sink.checked(over);
        }
        self.ends = ends;
        self.rest = inside;
        let out = body(self);
        if out.is_ok() {
            self.report_surplus();
            self.rest = after;
        } else {
            // Leaves the cursor at the fault; all bytes after it become one `unparsed` leaf.
            self.rest = self.whole.get(self.offset() as usize..).unwrap_or_default();
        }
        (self.ends, self.more) = (outer_ends, outer_more);
        self.missing = outer_missing.saturating_sub(cut_inside);
        out
    }

    /// Reports the bytes left in the scope after its last field.
    #[inline(always)]
    pub(super) fn report_surplus(&mut self) {
        if !self.rest.is_empty() {
            self.out_of_line(|c| c.surplus());
        }
    }

    #[cold]
    #[inline(never)]
    fn surplus(&mut self) {
        let (at, ends) = (self.to_end(), self.ends);
        self.field = Some(ends.surplus);
        let value = self.masked(Value::Bytes(self.rest));
        self.sink.field(ends.surplus, at, value);
        let bytes = ComparedValue::Bytes(self.rest.len() as u64);
        self.differs(ends.late, at, Compared::new(bytes, "none"));
        self.rest = self.rest.get(self.rest.len()..).unwrap_or_default();
    }

    /// Reports a value that follows from the field just read but is not in the payload.
    #[inline(always)]
    pub fn derived(&mut self, field: &'static Field, value: Value<'_>) {
        self.sink.derived(field, self.last(), value);
    }

    /// Reports a value that follows from the bytes at `at`. Text and bytes must end where `at` ends.
    #[inline(always)]
    pub fn derived_at(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.sink.derived(field, at, value);
    }

    /// Reports values that follow from the bytes at `at`, inside a group or list.
    pub fn derived_in(
        &mut self,
        field: &'static Field,
        shape: Shape,
        at: Span,
        body: impl FnOnce(&mut Self),
    ) {
        self.sink.open(field, at.start, shape);
        body(self);
        self.sink.close(at.end);
    }

    /// From here on, masks bytes that belong to no field, which may contain a password, unless `shown` is set.
    pub fn mask_unless(&mut self, shown: bool) {
        self.secret = !shown;
    }

    /// From here on, masks such bytes if the remaining bytes mention a password, unless the user asked for `secrets`.
    pub fn hide_password(&mut self, secrets: bool) {
        self.mask_unless(secrets || !Str(self.rest()).mentions_password());
    }

    pub(super) fn masked<'v>(&self, value: Value<'v>) -> Value<'v> {
        if self.secret { Value::Secret(value.kind()) } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Facts, FieldKind, Fit};
    use crate::rule::general::{GEN_001, GEN_002};

    #[test]
    fn bytes_missing_in_a_scope_are_not_missing_after_it() {
        static SURPLUS: Field = Field::new("surplus", FieldKind::Bytes, "");
        static ENDS: Ends = Ends::new(&GEN_001, &GEN_002, &SURPLUS);
        let is_cut_after = |length: usize| {
            let (mut sink, mut facts) = (Fit::default(), Facts::default());
            let mut c = Cursor::new(b"", 3, &ENDS, &mut sink, &mut facts);
            assert!(c.sized(length, &GEN_002, &ENDS, |_| Ok(())).is_ok());
            c.is_cut()
        };
        assert_eq!([0, 2, 3].map(is_cut_after), [true, true, false]);
    }
}
