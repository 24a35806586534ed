//! What a message says about its server, for the table of servers.

use super::Value;

/// What a message says about its server, for the table of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts<'a> {
    /// Name of the server, a text in any encoding.
    pub server_name: Option<Value<'a>>,
    /// Name of the game, its type or mode, likewise.
    pub game: Option<Value<'a>>,
    /// The map, level or world that is played, likewise.
    pub map: Option<Value<'a>>,
    /// Version, build or changelist.
    pub version: Option<Version<'a>>,
    /// Players now and at most.
    pub players: Option<(u32, u32)>,
    /// State of the server, by name.
    pub state: Option<&'static str>,
}

/// A version, as text or as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version<'a> {
    /// Text in any encoding.
    Text(Value<'a>),
    /// A changelist or build number.
    Number(u64),
}

impl Facts<'_> {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Facts::default()
    }
}
