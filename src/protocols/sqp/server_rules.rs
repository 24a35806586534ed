//! The ServerRules chunk, and the values that it and the tables hold.
//!
//! ```text
//! ServerRules   (key string │ type u8 │ value) until the chunk is used up: no count
//! value         type 0 byte │ 1 u16 │ 2 u32 │ 3 u64 │ 4 string │ 5 float32
//! ```
//!
//! The current document reserves this chunk; the older one and go-svrquery define it.

use super::chunks::{CHK_004, CHK_005, STR_001, chunk, text, text_rules};
use super::samples::*;
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Repeats, Str, Value, fields};
use crate::rule::{Example, Rule, Step::*, rules};

fields! {
    /// Bytes of the ServerRules chunk after this field.
    SERVER_RULES_LENGTH = "server_rules_length": Uint;
    /// Settings of the server, in the order sent; a key may repeat.
    SERVER_RULES = "server_rules": List;
    /// One setting.
    RULE = "server_rules[]": Group;
    /// Its name.
    RULE_KEY = "server_rules[].key": Text;
    /// Type of its value.
    RULE_TYPE = "server_rules[].type": Named;
    /// Its value.
    RULE_VALUE = "server_rules[].value": Dynamic;
    /// Bytes of the chunk behind its last rule.
    RULES_SURPLUS = "rules_surplus": Bytes;
}

rules! {
    /// The type of the value should follow every key.
    RUL_001 = "SQP-RUL-001" Error "ServerRules ends after a key" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0008 00000004 036b6579")])],
    }
    /// Clients that keep the rules in a map see only the last one.
    RUL_002 = "SQP-RUL-002" Warning "rule key occurs twice" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 000c 00000008 016b0001016b0002")])],
    }
    /// No document gives an empty key a meaning.
    RUL_003 = "SQP-RUL-003" Warning "rule key is empty" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0007 00000003 000001")])],
    }
    /// Types go from 0 (byte) to 5 (float32). The size of anything else is unknown, so the rest of the
    /// chunk cannot be decoded.
    DYN_001 = "SQP-DYN-001" Error "value type is unknown" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/types.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0008 00000004 016b0601")])],
    }
    /// Only go-svrquery defines type 5; the Unreal SDK and the C# toolkit stop at 4.
    DYN_002 = "SQP-DYN-002" Note "value is a float32" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/types.go"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 000b 00000007 016b053fc00000")])],
    }
    /// The type announces more bytes than are left.
    DYN_003 = "SQP-DYN-003" Error "chunk ends inside a value" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0009 00000005 016b020001")])],
    }
    /// JSON has no NaN and no infinity: go-svrquery cannot print such an answer.
    DYN_004 = "SQP-DYN-004" Warning "float is not finite" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/types.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0002 10"), S("01 80902348 0001 00 00 0009 00000005 017fc00000")])],
    }
}

static KEY: Ends = ends(&STR_001, &RULES_SURPLUS);
static KIND: Ends = ends(&RUL_001, &RULES_SURPLUS);

pub(super) const fn ends(early: &'static Rule, surplus: &'static Field) -> Ends {
    Ends { early, early_inside: &CHK_005, late: &CHK_004, surplus }
}

/// Names of the value types, by code.
const TYPES: [&str; 6] = ["byte", "ushort", "uint", "ulong", "string", "float32"];

/// A value of a type that the message announces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dynamic<'a> {
    /// Type 0.
    Byte(u8),
    /// Type 1.
    Ushort(u16),
    /// Type 2.
    Uint(u32),
    /// Type 3.
    Ulong(u64),
    /// Type 4.
    String(Str<'a>),
    /// Type 5.
    Float32(f32),
}

impl<'a> From<Dynamic<'a>> for Value<'a> {
    fn from(v: Dynamic<'a>) -> Value<'a> {
        match v {
            Dynamic::Byte(v) => v.into(),
            Dynamic::Ushort(v) => v.into(),
            Dynamic::Uint(v) => v.into(),
            Dynamic::Ulong(v) => v.into(),
            Dynamic::String(v) => v.into(),
            Dynamic::Float32(v) => v.into(),
        }
    }
}

/// A value of the type with that code.
pub(super) fn dynamic<'a>(code: u8) -> impl Fn(&'a [u8]) -> Wire<'a, Dynamic<'a>> {
    move |i| match code {
        0 => byte(i).map(|(i, v)| (i, Dynamic::Byte(v))),
        1 => be_u16(i).map(|(i, v)| (i, Dynamic::Ushort(v))),
        2 => be_u32(i).map(|(i, v)| (i, Dynamic::Uint(v))),
        3 => be_u64(i).map(|(i, v)| (i, Dynamic::Ulong(v))),
        4 => string8(i).map(|(i, v)| (i, Dynamic::String(v))),
        5 => be_f32(i).map(|(i, v)| (i, Dynamic::Float32(v))),
        _ => Err(nom::Err::Error(Stop::Wrong)),
    }
}

/// A string and a type code: a rule's key, a table's field.
pub(super) fn named_type(i: &[u8]) -> Wire<'_, (Str<'_>, u8)> {
    let (i, name) = string8(i)?;
    let (i, code) = byte(i)?;
    Ok((i, (name, code)))
}

/// What a list names by a text that is cut is none of its elements.
///
/// # Errors
/// As when the text is read.
#[inline(always)]
pub(super) fn whole<S: FieldSink>(c: &mut Cursor<'_, '_, S>, name: &'static Field) -> Result<(), Fault> {
    if string8(c.rest()).is_ok() { Ok(()) } else { c.field(name, string8).map(drop) }
}

/// Reads a type code; what an unknown one means is not known, so neither is what follows.
pub(super) fn type_code<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<u8, Fault> {
    let show = |code: u8| Value::Named(code as u32, TYPES.get(code as usize).copied());
    let code = c.field_as(field, byte, show)?;
    c.require(&DYN_001, (code as usize) < TYPES.len())?;
    c.check(&DYN_002, || code != 5);
    Ok(code)
}

/// Reads a value and checks it; the ends say what its chunk's end breaks in text and elsewhere.
pub(super) fn checked<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    code: u8,
    [in_text, elsewhere]: [&'static Ends; 2],
) -> Result<(), Fault> {
    c.ends(if code == 4 { in_text } else { elsewhere });
    match c.field(field, dynamic(code))? {
        Dynamic::String(text) => text_rules(c, text),
        Dynamic::Float32(v) => c.check(&DYN_004, || v.is_finite()),
        _ => {}
    }
    Ok(())
}

/// The ServerRules chunk.
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    static FIXED: Ends = ends(&DYN_003, &RULES_SURPLUS);
    chunk(c, &SERVER_RULES_LENGTH, &KEY, |c| {
        let mut seen = Repeats::default();
        let more = |c: &Cursor<'_, '_, S>, _| !c.rest().is_empty() || c.is_cut();
        c.list(&SERVER_RULES, more, |c| rule(c, &mut seen, &FIXED)).map(drop)
    })
}

fn rule<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    seen: &mut Repeats<'a>,
    value: &'static Ends,
) -> Result<(), Fault> {
    c.ends(&KEY);
    whole(c, &RULE_KEY)?;
    c.group(&RULE, |c| {
        let key = text(c, &RULE_KEY)?;
        c.check(&RUL_003, || !key.0.is_empty());
        c.check(&RUL_002, || !seen.repeats(key.0));
        c.ends(&KIND);
        let code = type_code(c, &RULE_TYPE)?;
        checked(c, &RULE_VALUE, code, [&KEY, value])
    })
}
