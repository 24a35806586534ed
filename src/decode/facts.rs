//! Facts that a message states about its server, for the table of servers.

use super::{Str, Value};

/// The fact about the server that a field, or the value of a key, states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Its name.
    ServerName,
    /// Name of the game, its type or mode.
    Game,
    /// The game mode: used as [`Fact::Game`] where nothing else gives that.
    Mode,
    /// The map, level or world that is played.
    Map,
    /// Version, build or changelist.
    Version,
    /// Players now.
    Players,
    /// Players at most.
    MaxPlayers,
}

impl Fact {
    /// The bit of this fact; every fact has its own.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Facts that a message states about its server, for the table of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts<'a> {
    /// Name of the server, a text in any encoding.
    pub server_name: Option<Value<'a>>,
    /// Name of the game, its type or mode, a text in any encoding.
    pub game: Option<Value<'a>>,
    /// The map, level or world that is played, a text in any encoding.
    pub map: Option<Value<'a>>,
    /// Version, build or changelist.
    pub version: Option<Version<'a>>,
    /// Players now.
    pub players: Option<u32>,
    /// Players at most.
    pub max_players: Option<u32>,
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

impl<'a> Facts<'a> {
    /// Whether there are no facts.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Facts { server_name, game, map, version, players, max_players, state } = self;
        let texts = server_name.is_some() | game.is_some() | map.is_some() | version.is_some();
        !(texts | players.is_some() | max_players.is_some() | state.is_some())
    }

    /// Players now and at most, where both are known.
    #[inline]
    pub fn places(&self) -> Option<(u32, u32)> {
        self.players.zip(self.max_players)
    }

    /// Stores a value as this fact.
    #[inline]
    pub fn take(&mut self, fact: Fact, value: Value<'a>) {
        match fact {
            Fact::ServerName => self.server_name = Some(value),
            Fact::Game => self.game = Some(value),
            Fact::Mode => self.game = self.game.or(Some(value)),
            Fact::Map => self.map = Some(value),
            Fact::Version => self.version = Some(Version::of(value)),
            Fact::Players => self.players = number(value),
            Fact::MaxPlayers => self.max_players = number(value),
        }
    }
}

impl<'a> Version<'a> {
    fn of(value: Value<'a>) -> Version<'a> {
        match value {
            Value::Uint(n) => Version::Number(n.into()),
            text => Version::Text(text),
        }
    }
}

/// A number of players, as an integer or in decimal digits.
fn number(value: Value<'_>) -> Option<u32> {
    match value {
        Value::Uint(n) => Some(n),
        Value::Int(n) => u32::try_from(n).ok(),
        Value::Text(digits) => Str(digits).count(),
        _ => None,
    }
}
