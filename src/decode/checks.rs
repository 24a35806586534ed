//! What a decoder checks: conditions on the field just read, at a place or on the payload as a whole, and the faults that
//! stop decoding. A rule that compares gets both values.

use super::cursor::Cursor;
use super::fault::{Fault, fault};
use super::text::Blemish;
use super::{Compared, ComparedValue, Field, FieldSink, Index, Span, Str, Violation};
use crate::rule::Rule;
use crate::rule::general::GEN_001;

impl<'a, S: FieldSink> Cursor<'a, '_, S> {
    /// Checks a condition on the field just read; where it does not hold, `rule` is reported there.
    ///
    /// Where another path of a decoder reports a rule, `|| true` records for coverage that it was kept on this path.
    #[inline(always)]
    pub fn check(&mut self, rule: &'static Rule, holds: impl FnOnce() -> bool) {
        self.check_at(rule, self.last(), holds);
    }

    /// Checks that the text just read is UTF-8 and has no control characters; for most texts one scan checks both.
    #[inline(always)]
    pub fn check_text(&mut self, text: Str<'_>, utf8: &'static Rule, no_control: &'static Rule) {
        if S::COVERAGE {
            self.sink.checked(utf8);
            self.sink.checked(no_control);
        }
        if S::RULES && !text.is_plain() {
            let (at, field, index) = (self.last(), self.field, self.index());
            let start = self.place(text.0.as_ptr() as usize);
            let damaged = place(utf8, at, field, index);
            check_text_slowly(self.sink, text, start, damaged, no_control);
        }
    }

    /// Checks that the text just read is UTF-8.
    #[inline(always)]
    pub fn check_utf8(&mut self, rule: &'static Rule, text: Str<'_>) {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if S::RULES && !text.is_plain() {
            let start = self.place(text.0.as_ptr() as usize);
            let damaged = place(rule, self.last(), self.field, self.index());
            check_utf8_slowly(self.sink, text, start, damaged);
        }
    }

    /// Checks that a text that was read contains no zero; the first one is reported.
    #[inline(always)]
    pub fn check_no_zero(&mut self, rule: &'static Rule, text: Str<'a>) {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if S::RULES
            && let Some(zero) = memchr::memchr(0, text.0)
        {
            let start = self.offset_of(text.0).saturating_add(zero as u16);
            let at = Span { start, end: start.saturating_add(1) };
            self.differs(rule, at, Compared::new(ComparedValue::byte(0), "no zero"));
        }
    }

    /// Checks a condition on the bytes at `at`.
    #[inline(always)]
    pub fn check_at(&mut self, rule: &'static Rule, at: Span, holds: impl FnOnce() -> bool) {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if S::RULES && !holds() {
            self.broken(rule, at);
        }
    }

    /// Checks that the number just read is what is expected.
    #[inline(always)]
    pub fn check_number(&mut self, rule: &'static Rule, found: impl Into<i64>, expected: ComparedValue) {
        let found = found.into();
        self.compare(rule, || expected.admits(found), || Compared::new(found, expected));
    }

    /// As [`check`](Self::check), for a rule that compares: `values` gives what is there and what should be, and is
    /// called only where the rule is broken.
    #[inline(always)]
    pub fn compare(
        &mut self,
        rule: &'static Rule,
        holds: impl FnOnce() -> bool,
        values: impl FnOnce() -> Compared,
    ) {
        self.compare_at(rule, self.last(), holds, values);
    }

    /// As [`compare`](Self::compare), of the bytes at `at`.
    #[inline(always)]
    pub fn compare_at(
        &mut self,
        rule: &'static Rule,
        at: Span,
        holds: impl FnOnce() -> bool,
        values: impl FnOnce() -> Compared,
    ) {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if S::RULES && !holds() {
            self.differs(rule, at, values());
        }
    }

    /// As [`compare`](Self::compare), of the payload as a whole.
    #[inline(always)]
    pub fn compare_whole(
        &mut self,
        rule: &'static Rule,
        holds: impl FnOnce() -> bool,
        values: impl FnOnce() -> Compared,
    ) {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if S::RULES && !holds() {
            let values = values();
            let (at, index) = (self.whole(), self.index());
            report_compared(self.sink, place(rule, at, None, index), values);
        }
    }

    /// Reports that the values at `at` break `rule`, even to listeners without checks.
    #[inline(always)]
    pub(super) fn differs(&mut self, rule: &'static Rule, at: Span, values: Compared) {
        let (field, index) = (self.field, self.index());
        report_compared(self.sink, place(rule, at, field, index), values);
    }

    /// Reports that the field just read breaks `rule` in a way that is only a note.
    #[cold]
    pub fn remark(&mut self, rule: &'static Rule) {
        let (at, field) = (self.last(), self.field);
        let index = self.index();
        self.sink.violation(Violation { minor: true, ..violation(place(rule, at, field, index)) });
    }

    /// Checks a condition on the payload as a whole.
    #[inline(always)]
    pub fn check_whole(&mut self, rule: &'static Rule, holds: impl FnOnce() -> bool) {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if S::RULES && !holds() {
            let at = self.whole();
            let index = self.index();
            report_violation(self.sink, place(rule, at, None, index));
        }
    }

    /// Reports that `rule` is broken at `at`, even to listeners without checks: for faults that stop decoding.
    #[inline(always)]
    pub(super) fn broken(&mut self, rule: &'static Rule, at: Span) {
        let (field, index) = (self.field, self.index());
        report_violation(self.sink, place(rule, at, field, index));
    }

    /// A fault at the field that was to be read next: the scope is too short for it. Where the capture cut the
    /// scope, the sender is not at fault and the rule is GEN-001.
    #[inline(always)]
    pub fn short(&self, rule: &'static Rule) -> Fault {
        let rule = if self.is_cut() { &GEN_001 } else { rule };
        fault(rule, self.to_end(), self.field)
    }

    /// As [`short`](Self::short), by the rule about the end of the scope.
    #[inline(always)]
    pub fn ended_early(&self) -> Fault {
        self.short(self.ends.early)
    }

    /// Checks a condition on the field just read, without which the following bytes cannot be understood.
    ///
    /// # Errors
    /// When it does not hold.
    #[inline(always)]
    pub fn require(&mut self, rule: &'static Rule, holds: bool) -> Result<(), Fault> {
        if S::COVERAGE {
            self.sink.checked(rule);
        }
        if holds { Ok(()) } else { Err(self.stop(rule)) }
    }

    /// As [`require`](Self::require), for a rule that compares: `values` gives what is there and what should be.
    ///
    /// # Errors
    /// When it does not hold.
    #[inline(always)]
    pub fn require_that(
        &mut self,
        rule: &'static Rule,
        holds: bool,
        values: impl FnOnce() -> Compared,
    ) -> Result<(), Fault> {
        self.require(rule, holds).map_err(|fault| Fault { values: values(), ..fault })
    }

    /// A fault of the field just read: the following bytes cannot be understood.
    #[inline(always)]
    pub fn stop(&self, rule: &'static Rule) -> Fault {
        fault(rule, self.last(), self.field)
    }

    /// A fault of all bytes from here to the end of the scope.
    #[inline(always)]
    pub fn stop_here(&self, rule: &'static Rule) -> Fault {
        fault(rule, self.to_end(), None)
    }

    /// Reports a fault that causes another one; the latter is reported when it stops decoding.
    #[cold]
    pub fn report(&mut self, fault: Fault) {
        let Fault { rule, at, field, needs, values } = fault;
        let index = self.index();
        self.sink.violation(Violation { rule, at, field, index, needs, minor: false, values });
    }
}

/// The rule and the place of a violation; few enough values to be handed over in registers.
type Broken = (&'static Rule, Span, Option<&'static Field>, Index);

#[inline(always)]
fn place(rule: &'static Rule, at: Span, field: Option<&'static Field>, index: Index) -> Broken {
    (rule, at, field, index)
}

fn violation((rule, at, field, index): Broken) -> Violation {
    Violation { rule, at, field, index, needs: 0, minor: false, values: Compared::NOTHING }
}

#[cold]
#[inline(never)]
fn report_violation<S: FieldSink>(sink: &mut S, broken: Broken) {
    sink.violation(violation(broken));
}

#[cold]
#[inline(never)]
fn report_compared<S: FieldSink>(sink: &mut S, broken: Broken, values: Compared) {
    sink.violation(Violation { values, ..violation(broken) });
}

/// Checks a text that is not plain; `damaged` is reported where it is not UTF-8.
#[cold]
#[inline(never)]
fn check_text_slowly<S: FieldSink>(
    sink: &mut S,
    text: Str<'_>,
    start: u16,
    damaged: Broken,
    no_control: &'static Rule,
) {
    check_utf8_slowly(sink, text, start, damaged);
    if let Some(fault) = text.first_control() {
        let (_, at, field, index) = damaged;
        sink.violation(fault.violation(start, (no_control, at, field, index)));
    }
}

#[cold]
#[inline(never)]
fn check_utf8_slowly<S: FieldSink>(sink: &mut S, text: Str<'_>, start: u16, damaged: Broken) {
    if let Some(fault) = text.first_damage() {
        sink.violation(fault.violation(start, damaged));
    }
}

impl Blemish {
    /// The violation about this part of a text that begins at `start`.
    fn violation(self, start: u16, broken: Broken) -> Violation {
        let start = start.saturating_add(self.at);
        let at = Span { start, end: start.saturating_add(self.len) };
        Violation { at, values: self.values, ..violation(broken) }
    }
}
