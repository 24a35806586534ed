//! The cursor: runs nom parsers over a payload and reports the fields to a sink.

use super::fault::Fault;
use super::wire::{Stop, Wire};
use super::{Facts, Field, FieldSink, Index, Span, Value, fields, work};
use crate::rule::Rule;

fields! {
    /// Bytes that are no part of a message: those behind the place where decoding had to stop, or a whole datagram.
    UNPARSED = "unparsed": Bytes;
}

/// The rules that the end of a scope can break, one for each kind of scope: "the datagram is short", "the chunk is
/// short" and "the list is short" are different faults of different fields.
#[derive(Debug)]
pub struct Ends {
    /// The scope ends inside a field, and nothing follows the scope.
    pub early: &'static Rule,
    /// The scope ends inside a field although bytes follow the scope; in most scopes the same rule as `early`.
    pub early_inside: &'static Rule,
    /// Bytes are left after the last field.
    pub late: &'static Rule,
    /// The field that shows those bytes; its name ends in `surplus`.
    pub surplus: &'static Field,
}

impl Ends {
    /// The end of a scope for which it makes no difference whether bytes follow it.
    pub const fn new(early: &'static Rule, late: &'static Rule, surplus: &'static Field) -> Ends {
        Ends { early, early_inside: early, late, surplus }
    }
}

/// A cursor over one payload.
///
/// Invariant: the leaves reported to the sink tile the captured payload in order, without gap or
/// overlap, whatever the bytes. [`dissect`] closes the last gap with an `unparsed` leaf.
///
/// Cold code takes the values it needs instead of the cursor, or runs [out of line](Self::out_of_line): as long as
/// nothing holds the address of the cursor, the compiler keeps the fields in use in registers, and for most listeners
/// that is only the reading position.
#[derive(Debug)]
pub struct Cursor<'a, 's, S> {
    pub(super) whole: &'a [u8],
    pub(super) rest: &'a [u8],
    /// Bytes of this scope after `rest` that the capture left out.
    pub(super) missing: usize,
    /// Bytes follow this scope.
    pub(super) more: bool,
    /// The addresses at which the field read last begins and ends.
    pub(super) last: (usize, usize),
    pub(super) field: Option<&'static Field>,
    /// The three indices, 16 bits each, in one number: an array would be written through a computed address, and the
    /// whole cursor would have to be in memory.
    pub(super) index: u64,
    pub(super) depth: u8,
    pub(super) ends: &'static Ends,
    /// Bytes that belong to no field must not be shown.
    pub(super) secret: bool,
    /// Facts that the message states about its server.
    pub facts: &'s mut Facts<'a>,
    pub(super) sink: &'s mut S,
}

impl<'a, 's, S: FieldSink> Cursor<'a, 's, S> {
    /// A cursor at the start of `payload`, of which the capture left out `missing` bytes.
    #[inline(always)]
    pub fn new(
        payload: &'a [u8],
        missing: usize,
        ends: &'static Ends,
        sink: &'s mut S,
        facts: &'s mut Facts<'a>,
    ) -> Self {
        Cursor {
            whole: payload,
            rest: payload,
            missing,
            more: false,
            last: (payload.as_ptr() as usize, payload.as_ptr() as usize),
            field: None,
            index: 0,
            depth: 0,
            ends,
            secret: false,
            facts,
            sink,
        }
    }

    /// Offset of the next unread byte.
    #[inline(always)]
    pub fn offset(&self) -> u16 {
        self.place(self.rest.as_ptr() as usize)
    }

    /// Offset of an address in the payload.
    #[inline(always)]
    pub(super) fn place(&self, address: usize) -> u16 {
        address.wrapping_sub(self.whole.as_ptr() as usize) as u16
    }

    /// Offset of bytes of the payload.
    #[inline(always)]
    pub fn offset_of(&self, bytes: &'a [u8]) -> u16 {
        self.place(bytes.as_ptr() as usize)
    }

    /// Captured bytes left in the current scope.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// As [`rest`](Self::rest), for a look at all of it. Once or twice for a message, not for each element of a list: that
    /// would take the square of its length, and counts as such.
    #[inline(always)]
    pub fn ahead(&self) -> &'a [u8] {
        work::add(self.rest.len());
        self.rest
    }

    /// Whether the capture left out bytes of the current scope.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        self.missing > 0
    }

    /// Whether the value just read may continue after the captured bytes.
    #[inline(always)]
    pub fn may_continue(&self) -> bool {
        self.is_cut() && self.rest.is_empty()
    }

    /// Span of the whole payload.
    #[inline(always)]
    pub fn whole(&self) -> Span {
        Span { start: 0, end: self.whole.len() as u16 }
    }

    /// The last captured byte of the whole payload.
    #[inline(always)]
    pub fn last_byte(&self) -> Option<u8> {
        self.whole.last().copied()
    }

    /// Length of the whole payload on the wire in bytes.
    #[inline(always)]
    pub fn wire_len(&self) -> usize {
        self.wire_len_of(self.whole)
    }

    /// Length on the wire, in bytes, of captured bytes that end the payload.
    #[inline(always)]
    pub fn wire_len_of(&self, ending: &[u8]) -> usize {
        ending.len().saturating_add(self.missing)
    }

    /// Sets the rules that the end of the current scope can break, from here on.
    #[inline(always)]
    pub fn ends(&mut self, ends: &'static Ends) {
        self.record_scope(ends);
        self.ends = ends;
    }

    /// Reports to sinks that record coverage that the rules of the end of a scope will be checked.
    #[inline(always)]
    pub(super) fn record_scope(&mut self, ends: &'static Ends) {
        if S::COVERAGE {
            self.sink.scope(ends);
        }
    }

    /// Reads one field with a nom parser, reports it, and stores the fact about the server that it may state.
    ///
    /// The parser is a function, not a `nom::Parser`: nom calls those through a generic method, which the compiler may
    /// not inline. Combinators inside it must be complete ones, because a datagram never grows. A primitive that
    /// returns `Wrong` breaks the same rule as one that finds too few bytes.
    #[inline(always)]
    pub fn field<O: Copy + Into<Value<'a>>>(
        &mut self,
        field: &'static Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, O>,
    ) -> Result<O, Fault> {
        self.field_as(field, parser, |v| v.into())
    }

    /// As [`field`](Self::field), with a function that gives the value to show.
    #[inline(always)]
    pub fn field_as<O: Copy>(
        &mut self,
        field: &'static Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, O>,
        show: impl FnOnce(O) -> Value<'a>,
    ) -> Result<O, Fault> {
        let Some(fact) = field.fact else { return self.read(field, parser, show) };
        let mut shown = None;
        let value = self.read(field, parser, |value| *shown.insert(show(value)))?;
        shown.into_iter().for_each(|shown| self.facts.set(fact, shown));
        Ok(value)
    }

    /// Reads a field without storing the fact that it may state.
    #[inline(always)]
    pub(super) fn read<O: Copy>(
        &mut self,
        field: &'static Field,
        mut parser: impl FnMut(&'a [u8]) -> Wire<'a, O>,
        show: impl FnOnce(O) -> Value<'a>,
    ) -> Result<O, Fault> {
        let from = self.rest;
        self.field = Some(field);
        match parser(from) {
            Ok((rest, value)) => {
                work::add(from.len().saturating_sub(rest.len()));
                self.rest = rest;
                self.last = (from.as_ptr() as usize, rest.as_ptr() as usize);
                self.sink.field(field, self.last(), show(value));
                Ok(value)
            }
            Err(stop) => {
                let rule = if self.more { self.ends.early_inside } else { self.ends.early };
                Err(unreadable(stop, self.short(rule)))
            }
        }
    }

    /// Reads a text whose length, in `prefix` bytes, was read just before it; `show` gives the value to show. Checks
    /// and faults of such a text refer to the length and the text together.
    #[inline(always)]
    pub fn text_after_length<O: Copy>(
        &mut self,
        prefix: u16,
        field: &'static Field,
        parser: impl FnMut(&'a [u8]) -> Wire<'a, O>,
        show: impl FnOnce(O) -> Value<'a>,
    ) -> Result<O, Fault> {
        let text = self.field_as(field, parser, show).map_err(|fault| with_length(fault, prefix))?;
        self.last.0 = self.last.0.wrapping_sub(prefix.into());
        Ok(text)
    }

    /// Sets the field that the next checks refer to; `None` for the message as a whole.
    #[inline(always)]
    pub fn about(&mut self, field: Option<&'static Field>) {
        self.field = field;
    }

    /// Tries `body` on the rest of this scope with another listener and leaves the cursor as it is; `true` if `body`
    /// decodes exactly the scope. Decoders are generic over their listener, so a trial is one call.
    pub fn trial<T, Q: FieldSink>(
        &self,
        sink: &mut Q,
        body: impl FnOnce(&mut Cursor<'a, '_, Q>) -> Result<T, Fault>,
    ) -> bool {
        let mut ignored_facts = Facts::default();
        let mut trial = Cursor::new(self.rest, self.missing, self.ends, sink, &mut ignored_facts);
        body(&mut trial).is_ok() && trial.rest.is_empty()
    }

    /// Runs an out-of-line function on a copy of the cursor, then continues where the copy ended.
    #[inline(always)]
    pub fn out_of_line<T>(&mut self, body: impl FnOnce(&mut Cursor<'a, '_, S>) -> T) -> T {
        let mut copy = Cursor { sink: &mut *self.sink, facts: &mut *self.facts, ..*self };
        let out = body(&mut copy);
        let Cursor { rest, missing, more, last, field, index, depth, ends, secret, .. } = copy;
        (self.rest, self.missing, self.more, self.ends, self.secret) = (rest, missing, more, ends, secret);
        (self.last, self.field, self.index, self.depth) = (last, field, index, depth);
        out
    }

    /// Span of the field just read.
    #[inline(always)]
    pub fn last(&self) -> Span {
        Span { start: self.place(self.last.0), end: self.place(self.last.1) }
    }

    /// Indices in the lists on the way to the next field, the outermost first.
    #[inline(always)]
    pub(super) fn index(&self) -> Index {
        [self.index as u16, (self.index >> 16) as u16, (self.index >> 32) as u16]
    }

    /// Index of the element that is read, in the innermost list.
    pub fn element(&self) -> u16 {
        let level = usize::from(self.depth.saturating_sub(1));
        self.index().get(level).copied().unwrap_or_default()
    }

    /// Span from here to the end of the scope.
    #[inline(always)]
    pub fn to_end(&self) -> Span {
        let start = self.offset();
        Span { start, end: start.saturating_add(self.rest.len() as u16) }
    }
}
/// The fault, extended to the `prefix` bytes before the text, which hold its length.
#[cold]
#[inline(never)]
fn with_length(fault: Fault, prefix: u16) -> Fault {
    let start = fault.at.start.saturating_sub(prefix);
    let needs = fault.needs.saturating_add(prefix.into());
    Fault { at: Span { start, ..fault.at }, needs, ..fault }
}

#[cold]
#[inline(never)]
fn unreadable(stop: nom::Err<Stop>, short: Fault) -> Fault {
    let needs = match stop {
        nom::Err::Error(Stop::Short(n)) | nom::Err::Failure(Stop::Short(n)) => n,
        _ => 0,
    };
    Fault { needs, ..short }
}

/// Decodes one whole payload: runs `decode`, then accounts for every byte it did not read.
///
/// `missing` is the number of payload bytes that the capture left out. The facts that the message states about its
/// server are written into `facts`; they are valid only where decoding did not stop.
///
/// # Errors
/// The fault that stopped decoding; it has been reported to the listener.
#[inline(always)]
pub fn dissect<'a, S: FieldSink>(
    payload: &'a [u8],
    missing: usize,
    ends: &'static Ends,
    sink: &mut S,
    facts: &mut Facts<'a>,
    decode: impl FnOnce(&mut Cursor<'a, '_, S>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut cursor = Cursor::new(payload, missing, ends, sink, facts);
    cursor.record_scope(ends);
    let out = decode(&mut cursor);
    match &out {
        Ok(()) => cursor.report_surplus(),
        Err(fault) => {
            let fault = *fault;
            cursor.out_of_line(|c| report_stop(c, fault));
        }
    }
    out
}

#[cold]
#[inline(never)]
fn report_stop<S: FieldSink>(cursor: &mut Cursor<'_, '_, S>, fault: Fault) {
    cursor.report(fault);
    let rest = cursor.whole.get(cursor.offset() as usize..).unwrap_or_default();
    if !rest.is_empty() {
        cursor.rest = rest;
        let at = cursor.to_end();
        let value = cursor.masked(Value::Bytes(rest));
        cursor.sink.field(&UNPARSED, at, value);
    }
}
