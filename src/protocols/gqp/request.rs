//! Commands of a request.
//!
//! ```text
//! command  name [ RS argument { US argument } ]
//! ```

use super::grammar::*;
use super::message::Around;
use super::samples::*;
use super::strings::{EVERYWHERE, string};
use crate::decode::{Cursor, Fault, FieldSink, Span, fields};
use crate::rule::{Example, Step::*, rules};

/// Most commands of a request that nobody wonders about.
pub(super) const MANY: usize = 16;

fields! {
    /// Name of the command.
    NAME = "commands[].command": Text;
    /// Arguments of the command.
    ARGS = "commands[].args": List;
    /// One argument.
    ARG = "commands[].args[]": Text;
}

rules! {
    /// The grammar allows an empty string, but there is no such command.
    REQ_001 = "GQP-REQ-001" Note "name of the command is empty" {
        cite: draft("Grammar, COMMAND"),
        examples: [Example::of(&[IDQ, IDR, C("04")])],
    }
    /// RS stands before the first argument, US before the others.
    REQ_002 = "GQP-REQ-002" Error "US stands where RS belongs" {
        cite: draft("Grammar, COMMAND"),
        examples: [Example::of(&[C("6563686f 1f 61 04")])],
    }
    /// Arguments behind the first one are separated by US.
    REQ_003 = "GQP-REQ-003" Error "second RS in one command" {
        cite: draft("Grammar, ARGUMENT-LIST"),
        examples: [Example::of(&[C("6563686f 1e 61 1e 62 04")])],
    }
    /// identify and extensions take none, auth two, challenge one. A server may ignore too many.
    REQ_005 = "GQP-REQ-005" Warning "wrong number of arguments" {
        cite: draft("Required commands"),
        examples: [Example::of(&[C("61757468 1e 626f62 04")])],
    }
    /// The draft says nothing about case: names are compared as they are.
    REQ_006 = "GQP-REQ-006" Note "command differs from a required one by case only" {
        cite: draft("Required commands"),
        examples: [Example::of(&[IDQ, IDR, C("4964656e74696679 04")])],
    }
    /// Nothing limits them, and each brings its reply: a small request with a large answer.
    REQ_007 = "GQP-REQ-007" Note "more than 16 commands in one request" {
        cite: draft("Grammar, QUERY"),
        examples: [Example::of(&[C("6964656e746966791d*16 6964656e74696679 04")])],
    }
    /// Everyone on the path reads login and password.
    SEC_001 = "GQP-SEC-001" Warning "login and password are sent in clear text" {
        cite: draft("Required commands, auth"),
        lenient: Note,
        examples: [Example::of(&[AQ])],
    }
}

pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<(), Fault> {
    let before = around.separator(c.rest());
    let start = c.offset();
    let name = string(c, &NAME, before, &[GS, RS, US, EOT], &EVERYWHERE)?;
    let whole = !around.continues && !around.open;
    c.check(&REQ_001, || !name.is_empty() || !whole);
    let known = required(name);
    let by_case = |r: &Required| r.name.as_bytes().eq_ignore_ascii_case(name);
    c.check(&REQ_006, || known.is_some() || around.continues || !REQUIRED.iter().any(by_case));
    let arguments = arguments(c, around)?;
    let at = Span { start: start.saturating_add(before as u16), end: c.offset() };
    c.about(Some(&NAME));
    let expected = known.and_then(|k| k.arguments).filter(|_| whole);
    c.check_at(&REQ_005, at, || expected.is_none_or(|n| n == usize::from(arguments)));
    c.check_at(&SEC_001, at, || around.continues || name != b"auth" || arguments == 0);
    Ok(())
}

/// The list of arguments; gives their number.
fn arguments<S: FieldSink>(c: &mut Cursor<'_, '_, S>, around: Around) -> Result<u16, Fault> {
    let mut count = 0u16;
    c.list(
        &ARGS,
        |c, _| matches!(c.rest().first(), Some(&(RS | US))),
        |c| {
            let by = c.rest().first().copied();
            string(c, &ARG, 1, &[GS, RS, US, EOT], &EVERYWHERE)?;
            c.check(&REQ_002, || count > 0 || by == Some(RS) || around.continues);
            c.check(&REQ_003, || count == 0 || by == Some(US) || around.continues);
            count = count.saturating_add(1);
            Ok(())
        },
    )?;
    Ok(count)
}
