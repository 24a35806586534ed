//! The reading head: runs nom parsers over a payload and tells the sink what it saw.

use super::wire::Stop;
use super::{Field, FieldSink, Shape, Span, Value, Violation, fields};
use crate::check::GEN_001;
use crate::rule::Rule;

fields! {
    /// Bytes behind the place where decoding had to stop.
    UNPARSED = "unparsed": Bytes;
}

/// Decoding could not go on: `rule` says why, `at` where. A fault becomes a finding, never a crash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// From the place where decoding stopped to the end of the scope.
    pub at: Span,
    /// The field that could not be read.
    pub field: Option<&'static Field>,
    /// How many bytes it needs; 0 where that is not the matter.
    pub needs: u32,
}

/// The ways the end of a scope can be wrong, each a rule of its own: "the datagram is short", "the
/// chunk is short" and "the list is short" are different faults of different fields.
#[derive(Debug)]
pub struct Ends {
    /// The scope ends inside a field, and nothing follows the scope.
    pub early: &'static Rule,
    /// The scope ends inside a field although bytes follow it; most scopes say the same as `early`.
    pub early_inside: &'static Rule,
    /// Bytes are left after the last field.
    pub late: &'static Rule,
    /// The field that shows those bytes; its name ends in `surplus`.
    pub surplus: &'static Field,
}

/// A cursor over one payload.
///
/// Invariant: the leaves reported to the sink tile the captured payload in order, without gap or
/// overlap, whatever the bytes. [`dissect`] closes the last gap with an `unparsed` leaf.
#[derive(Debug)]
pub struct Cursor<'a, 's, S> {
    whole: &'a [u8],
    rest: &'a [u8],
    /// Bytes of this scope that the capture left out, behind `rest`.
    missing: usize,
    /// Bytes follow this scope.
    more: bool,
    last: Span,
    field: Option<&'static Field>,
    index: [u16; 2],
    depth: u8,
    ends: &'static Ends,
    sink: &'s mut S,
}

impl<'a, 's, S: FieldSink> Cursor<'a, 's, S> {
    /// A cursor at the start of `payload`, of which the capture left out `missing` bytes.
    #[inline(always)]
    pub fn new(payload: &'a [u8], missing: usize, ends: &'static Ends, sink: &'s mut S) -> Self {
        Cursor {
            whole: payload,
            rest: payload,
            missing,
            more: false,
            last: Span::default(),
            field: None,
            index: [0; 2],
            depth: 0,
            ends,
            sink,
        }
    }

    /// Offset of the next unread byte.
    #[inline(always)]
    pub fn offset(&self) -> u16 {
        let before = (self.rest.as_ptr() as usize).wrapping_sub(self.whole.as_ptr() as usize);
        before as u16
    }

    /// Captured bytes left in the current scope.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether the capture left out bytes of the current scope.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        self.missing > 0
    }

    /// Span of the whole payload.
    #[inline(always)]
    pub fn whole(&self) -> Span {
        Span { start: 0, end: self.whole.len() as u16 }
    }

    /// Length of the whole payload on the wire in bytes.
    #[inline(always)]
    pub fn wire_len(&self) -> usize {
        self.whole.len().saturating_add(self.missing)
    }

    /// Says which rules the end of the current scope breaks, from here on.
    #[inline(always)]
    pub fn ends(&mut self, ends: &'static Ends) {
        self.ends = ends;
    }

    /// Reads one field with a nom parser and reports it.
    ///
    /// `parse_complete` makes every combinator a "complete" one in this single place: a datagram
    /// never grows, yet `length_data` and friends would otherwise ask for more input. A primitive
    /// that says `Wrong` breaks the same rule as one that finds too little.
    #[inline(always)]
    pub fn field<O, P>(&mut self, field: &'static Field, parser: P) -> Result<O, Fault>
    where
        O: Copy + Into<Value<'a>>,
        P: nom::Parser<&'a [u8], Output = O, Error = Stop>,
    {
        self.field_as(field, parser, |v| v.into())
    }

    /// Reads one field and says how its value is shown.
    #[inline(always)]
    pub fn field_as<O, P>(
        &mut self,
        field: &'static Field,
        mut parser: P,
        show: impl FnOnce(O) -> Value<'a>,
    ) -> Result<O, Fault>
    where
        O: Copy,
        P: nom::Parser<&'a [u8], Output = O, Error = Stop>,
    {
        let start = self.offset();
        self.field = Some(field);
        match parser.parse_complete(self.rest) {
            Ok((rest, value)) => {
                self.rest = rest;
                self.last = Span { start, end: self.offset() };
                self.sink.field(field, self.last, show(value));
                Ok(value)
            }
            Err(stop) => Err(self.unreadable(stop)),
        }
    }

    #[cold]
    #[inline(never)]
    fn unreadable(&self, stop: nom::Err<Stop>) -> Fault {
        let needs = match stop {
            nom::Err::Error(Stop::Short(n)) | nom::Err::Failure(Stop::Short(n)) => n,
            _ => 0,
        };
        let rule = if self.more { self.ends.early_inside } else { self.ends.early };
        Fault { needs, ..self.short(rule) }
    }

    /// Reports what follows from the field just read but is no byte of the payload.
    #[inline(always)]
    pub fn derived(&mut self, field: &'static Field, value: Value<'_>) {
        self.sink.derived(field, self.last, value);
    }

    /// States what must hold of the field just read; if it does not, `rule` is reported there.
    #[inline(always)]
    pub fn check(&mut self, rule: &'static Rule, holds: impl FnOnce() -> bool) {
        self.check_at(rule, self.last, holds);
    }

    /// States what must hold of the bytes at `at`.
    #[inline(always)]
    pub fn check_at(&mut self, rule: &'static Rule, at: Span, holds: impl FnOnce() -> bool) {
        if S::RULES && !holds() {
            self.broken(rule, at);
        }
    }

    /// States what must hold of the payload as a whole.
    #[inline(always)]
    pub fn check_whole(&mut self, rule: &'static Rule, holds: impl FnOnce() -> bool) {
        if S::RULES && !holds() {
            let at = self.whole();
            self.sink.violation(Violation { rule, at, field: None, index: self.index, needs: 0 });
        }
    }

    /// Reports `rule` at `at`, whatever the listener thinks of checks: for what stops decoding.
    #[cold]
    #[inline(never)]
    fn broken(&mut self, rule: &'static Rule, at: Span) {
        self.sink.violation(Violation { rule, at, field: self.field, index: self.index, needs: 0 });
    }

    /// Says which field the next checks speak of; `None` for the message as a whole.
    #[inline(always)]
    pub fn about(&mut self, field: Option<&'static Field>) {
        self.field = field;
    }

    /// Tries `body` on the rest of this scope with another listener and leaves no trace: `true` if it
    /// decodes the scope exactly. Decoders are generic over their listener, so a trial is a call.
    pub fn trial<T, Q: FieldSink>(
        &self,
        sink: &mut Q,
        body: impl FnOnce(&mut Cursor<'a, '_, Q>) -> Result<T, Fault>,
    ) -> bool {
        let mut quiet = Cursor::new(self.rest, self.missing, self.ends, sink);
        quiet.more = self.more;
        body(&mut quiet).is_ok() && quiet.rest.is_empty()
    }

    /// Span of the field just read.
    #[inline(always)]
    pub fn last(&self) -> Span {
        self.last
    }

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

    /// Runs `item` for the elements of a list while `more` says that one follows. Returns the bytes
    /// of the list. Each item must read at least one byte or fail, or `more` must end by itself.
    #[inline(always)]
    pub fn list(
        &mut self,
        field: &'static Field,
        mut more: impl FnMut(&Self, u16) -> bool,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<&'a [u8], Fault> {
        let from = self.rest;
        let level = self.depth as usize;
        let out = self.nest(field, Shape::List, |c| {
            c.depth = c.depth.saturating_add(1);
            let mut done = 0u16;
            while more(c, done) {
                if let Some(index) = c.index.get_mut(level) {
                    *index = done;
                }
                item(c)?;
                done = done.saturating_add(1);
            }
            Ok(())
        });
        self.depth = level as u8;
        let read = from.len().saturating_sub(self.rest.len());
        out.map(|()| from.get(..read).unwrap_or_default())
    }

    /// Runs `body` on exactly the next `len` bytes, `len` having been claimed by the field just
    /// read. Claiming more than there is breaks `over`, there, and `body` gets what there is.
    #[inline(always)]
    pub fn sized<T>(
        &mut self,
        len: usize,
        over: &'static Rule,
        ends: &'static Ends,
        body: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let outer = (self.ends, self.more, self.missing);
        let (inside, after) = match self.rest.split_at_checked(len) {
            Some((inside, after)) => {
                self.missing = 0;
                (inside, after)
            }
            None => {
                let lacking = len.saturating_sub(self.rest.len());
                if lacking > self.missing {
                    self.broken(over, self.last);
                }
                self.missing = self.missing.min(lacking);
                self.rest.split_at(self.rest.len())
            }
        };
        let lost = self.missing;
        self.more |= !after.is_empty();
        self.ends = ends;
        self.rest = inside;
        let out = body(self);
        if out.is_ok() {
            self.unread();
            self.rest = after;
        } else {
            // Leave the head at the fault; everything behind it is one `unparsed` leaf.
            self.rest = self.whole.get(self.offset() as usize..).unwrap_or_default();
        }
        (self.ends, self.more) = (outer.0, outer.1);
        self.missing = outer.2.saturating_sub(lost);
        out
    }

    /// A fault at the field that was to be read next: the scope is too short for it. Where the
    /// capture cut the scope, that is no fault of the sender and the rule is GEN-001.
    #[cold]
    pub fn short(&self, rule: &'static Rule) -> Fault {
        let rule = if self.is_cut() { &GEN_001 } else { rule };
        Fault { rule, at: self.to_end(), field: self.field, needs: 0 }
    }

    /// A fault of the field just read: what follows cannot be understood.
    #[cold]
    pub fn stop(&self, rule: &'static Rule) -> Fault {
        Fault { rule, at: self.last, field: self.field, needs: 0 }
    }

    /// A fault of the bytes from here to the end of the scope.
    #[cold]
    pub fn stop_here(&self, rule: &'static Rule) -> Fault {
        Fault { rule, at: self.to_end(), field: None, needs: 0 }
    }

    /// Span from here to the end of the scope.
    #[inline(always)]
    pub fn to_end(&self) -> Span {
        let start = self.offset();
        Span { start, end: start.saturating_add(self.rest.len() as u16) }
    }

    #[inline(always)]
    fn unread(&mut self) {
        if !self.rest.is_empty() {
            self.surplus();
        }
    }

    #[cold]
    #[inline(never)]
    fn surplus(&mut self) {
        let (at, ends) = (self.to_end(), self.ends);
        self.field = Some(ends.surplus);
        self.sink.field(ends.surplus, at, Value::Bytes(self.rest));
        self.broken(ends.late, at);
        self.rest = self.rest.get(self.rest.len()..).unwrap_or_default();
    }
}

/// Decodes one whole payload: runs `decode`, then accounts for every byte it did not read.
///
/// `missing` is the number of payload bytes that the capture left out.
#[inline(always)]
pub fn dissect<'a, S: FieldSink, M>(
    payload: &'a [u8],
    missing: usize,
    ends: &'static Ends,
    sink: &mut S,
    decode: impl FnOnce(&mut Cursor<'a, '_, S>) -> Result<M, Fault>,
) -> Result<M, Fault> {
    let mut cursor = Cursor::new(payload, missing, ends, sink);
    let out = decode(&mut cursor);
    match &out {
        Ok(_) => cursor.unread(),
        Err(fault) => stopped(&mut cursor, fault),
    }
    out
}

#[cold]
#[inline(never)]
fn stopped<S: FieldSink>(cursor: &mut Cursor<'_, '_, S>, fault: &Fault) {
    let Fault { rule, at, field, needs } = *fault;
    cursor.sink.violation(Violation { rule, at, field, index: cursor.index, needs });
    let rest = cursor.whole.get(cursor.offset() as usize..).unwrap_or_default();
    if !rest.is_empty() {
        cursor.rest = rest;
        let at = cursor.to_end();
        cursor.sink.field(&UNPARSED, at, Value::Bytes(rest));
    }
}
