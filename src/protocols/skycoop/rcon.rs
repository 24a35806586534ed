//! Remote control on the same socket: a password in clear text, a command, an answer.
//!
//! ```text
//! request   −1 i32 │ password_length i32 │ password UTF-8 │ command_length i32 │ command UTF-16LE
//! response  130 i32 │ text_length i32 │ text UTF-16LE
//! ```
//!
//! It is recognised only where its lengths end exactly where the datagram ends: a Source query begins
//! with the same four bytes, and has a printable one where the first length is.

use super::reply::{HEADER, RSP_001, int};
use super::samples::*;
use super::strings::{LENGTH, STR_001, STRING};
use super::{MESSAGE_TYPE, RCON_REQUEST, REQ_003};
use crate::decode::wire::*;
use crate::decode::{Cursor, Fault, Field, FieldKind, FieldSink, Str, Value, fields};
use crate::protocols::Context;
use crate::rule::{Example, rules};

/// First integer of an answer.
pub(super) const CALLBACK: i32 = 130;
/// Longest password that is taken for one, in bytes.
const LONGEST_PASSWORD: i32 = 64;

fields! {
    /// Length of the password in bytes.
    PASSWORD_LENGTH = "password_length": Int;
    /// Password; masked unless --show-secrets is given.
    PASSWORD = "password": Text;
    /// Length of the command in bytes.
    COMMAND_LENGTH = "command_length": Int;
    /// Command.
    COMMAND = "command": Text;
    /// Length of the text in bytes.
    TEXT_LENGTH = "text_length": Int;
    /// What the server answers.
    TEXT = "text": Text;
}

rules! {
    /// Everyone on the path reads the password, and who has it controls the server.
    SEC_002 = "SKY-SEC-002" Warning "RCON password is sent in clear text" {
        cite: server("Server.cs, client -1"),
        examples: [Example::of(&[RCON])],
    }
}

/// Whether the whole payload is a request, as far as the capture has it.
pub(super) fn is_request(p: &[u8], wire_len: usize) -> bool {
    let password = int(p, 4).filter(|n| (1..=LONGEST_PASSWORD).contains(n)).unwrap_or(-1);
    let Ok(password) = usize::try_from(password) else { return false };
    p.starts_with(&[0xff; 4]) && ends_with_text(p, wire_len, password.saturating_add(8))
}

/// Whether the payload begins as a request does, whole or not.
pub(super) fn begins_request(p: &[u8]) -> bool {
    p.starts_with(&[0xff; 4]) && int(p, 4).is_some_and(|n| (1..=LONGEST_PASSWORD).contains(&n))
}

/// Whether the whole payload is an answer, as far as the capture has it.
pub(super) fn is_response(p: &[u8], wire_len: usize) -> bool {
    int(p, 0) == Some(CALLBACK) && ends_with_text(p, wire_len, 4)
}

/// Whether a length at `at` and its text of UTF-16 are the end of the payload.
fn ends_with_text(p: &[u8], wire_len: usize, at: usize) -> bool {
    let length = int(p, at).and_then(|n| usize::try_from(n).ok()).filter(|n| n.is_multiple_of(2));
    length.is_some_and(|n| at.saturating_add(4).saturating_add(n) == wire_len)
}

pub(super) fn decode<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, cx: Context) -> Result<(), Fault> {
    c.secret(cx.secrets);
    if cx.message != RCON_REQUEST {
        if c.field(&HEADER, le_i32)? != CALLBACK {
            return Err(c.stop(&RSP_001)); // never claimed
        }
        return utf16(c, &TEXT_LENGTH, &TEXT);
    }
    if c.field(&MESSAGE_TYPE, le_i32)? != -1 {
        return Err(c.stop(&REQ_003)); // never claimed
    }
    let all = c.whole();
    c.about(Some(&PASSWORD));
    c.check_at(&SEC_002, all, || false);
    let length = length(c, &PASSWORD_LENGTH)?;
    let shown = |text: Str<'a>| if cx.secrets { Value::Text(text.0) } else { Value::Secret(FieldKind::Text) };
    c.text_behind_length(LENGTH, &PASSWORD, text(length), shown)?;
    utf16(c, &COMMAND_LENGTH, &COMMAND)
}

fn length<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<usize, Fault> {
    let length = c.field(field, le_i32)?;
    c.ends(&STRING);
    usize::try_from(length).map_err(|_| c.stop(&STR_001))
}

fn utf16<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    text: &'static Field,
) -> Result<(), Fault> {
    let length = length(c, field)?;
    c.text_behind_length(LENGTH, text, bytes(length), Value::Utf16).map(drop)
}
