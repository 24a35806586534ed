//! Version 0, before the game's 1.0: UDP port 15777, no envelope.
//!
//! ```text
//! poll   00 │ 00 │ cookie u64
//! state  01 │ 00 │ cookie u64 │ server_state u8 │ server_net_cl u32 │ beacon_port u16
//! ```

use super::LEGACY_POLL;
use super::envelope::{COOKIE, MESSAGE_TYPE, PROTOCOL_VERSION, SURPLUS};
use super::samples::*;
use super::state::{SERVER_NET_CL, SERVER_STATE, SERVER_STATE_NAME, STATES};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, FieldSink, Value, Version, fields};
use crate::protocols::Context;
use crate::rule::{Example, Step::*, rules};

fields! {
    /// UDP port of the beacon.
    BEACON_PORT = "beacon_port": Uint;
}

rules! {
    /// Version 0 on UDP port 15777, without envelope. Servers of today do not answer it.
    LEG_001 = "SFQ-LEG-001" Note "protocol is the one before 1.0" {
        cite: css("Server/FGDSQueryTypes.h"),
        per_server: true,
        examples: [Example::on(15777, &[C("0000efcdab8967452301"), S("0100efcdab8967452301037f3b0300983a")])],
    }
    /// The client of that time takes exactly 17 bytes.
    LEG_002 = "SFQ-LEG-002" Error "answer of version 0 is not 17 bytes" {
        cite: css("Server/FGDSQueryTypes.h"),
        examples: [Example::on(15777, &[C("0000efcdab8967452301"), S("0100efcdab896745230103")])],
    }
}

static LEGACY: Ends = Ends::new(&LEG_002, &LEG_002, &SURPLUS);

pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    c.ends(&LEGACY);
    let kind = c.field(&MESSAGE_TYPE, byte)?;
    let version = c.field(&PROTOCOL_VERSION, byte)?;
    c.check_whole(&LEG_001, || false);
    let expected = if cx.message == LEGACY_POLL { 0 } else { 1 };
    c.require(&LEG_002, (kind, version) == (expected, 0))?;
    c.field(&COOKIE, le_u64)?;
    if cx.message == LEGACY_POLL {
        return Ok(());
    }
    let server_state = c.field(&SERVER_STATE, byte)?;
    let name = STATES.get(server_state as usize).copied();
    c.derived(&SERVER_STATE_NAME, Value::Named(server_state as u32, name));
    let server_net_cl = c.field(&SERVER_NET_CL, le_u32)?;
    c.facts.version = Some(Version::Number(server_net_cl.into()));
    c.field(&BEACON_PORT, le_u16).map(drop)
}
