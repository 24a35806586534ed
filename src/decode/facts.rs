//! Facts that a message states about its server, for the table of servers.

use super::{Colours, Str, Value};

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
    pub fn player_counts(&self) -> Option<(u32, u32)> {
        self.players.zip(self.max_players)
    }

    /// Removes colour marks from the texts.
    pub fn strip(&mut self, colours: Colours) {
        let plain = |value: &mut Value<'a>| {
            if let Value::Text(bytes) | Value::Latin1(bytes) = *value
                && bytes.contains(&colours.byte())
            {
                *value = Value::Coloured(bytes, colours);
            }
            if let Value::Escaped(.., marks) = value {
                *marks = Some(colours);
            }
        };
        let texts = [&mut self.server_name, &mut self.game, &mut self.map];
        texts.into_iter().flatten().for_each(plain);
        if let Some(Version::Text(value)) = &mut self.version {
            plain(value);
        }
    }

    /// Stores a value as this fact.
    #[inline]
    pub fn set(&mut self, fact: Fact, value: Value<'a>) {
        match fact {
            Fact::ServerName => self.server_name = Some(value),
            Fact::Game => self.game = Some(value),
            Fact::Mode => self.game = self.game.or(Some(value)),
            Fact::Map => self.map = Some(value),
            Fact::Version => self.version = Version::of(value),
            Fact::Players => self.players = player_count(value),
            Fact::MaxPlayers => self.max_players = player_count(value),
        }
    }
}

impl<'a> Version<'a> {
    fn of(value: Value<'a>) -> Option<Version<'a>> {
        match value {
            Value::Uint(_) | Value::Uint64(_) | Value::Int(_) => whole_number(value).map(Version::Number),
            text => Some(Version::Text(text)),
        }
    }
}

/// An integer of any width that is not negative.
fn whole_number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Uint(n) => Some(n.into()),
        Value::Uint64(n) => Some(n),
        Value::Int(n) => u64::try_from(n).ok(),
        _ => None,
    }
}

/// A number of players, as an integer or in decimal digits.
fn player_count(value: Value<'_>) -> Option<u32> {
    match value {
        Value::Text(digits) => Str(digits).count(),
        number => whole_number(number)?.try_into().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_counts_may_be_any_number_but_a_negative_one() {
        let version_and_players = |value| {
            let mut facts = Facts::default();
            facts.set(Fact::Version, value);
            facts.set(Fact::Players, value);
            (facts.version, facts.players)
        };
        let version = |value| version_and_players(value).0;
        let numbers = [Value::Uint(146), Value::Uint64(146), Value::Int(146)];
        assert_eq!(numbers.map(version_and_players), [(Some(Version::Number(146)), Some(146)); 3]);
        assert_eq!(version_and_players(Value::Int(-1)), (None, None));
        assert_eq!(version_and_players(Value::Uint64(1 << 32)).1, None);
        assert_eq!(version(Value::Text(b"1.2")), Some(Version::Text(Value::Text(b"1.2"))));
    }

    #[test]
    fn texts_are_stripped_in_any_encoding() {
        let latin1 = Value::Latin1(b"\xa76L\xe4b");
        let mut facts =
            Facts { server_name: Some(latin1), map: Some(Value::Text(b"^1")), ..Facts::default() };
        facts.strip(Colours::Sections);
        let texts = [facts.server_name, facts.map].map(|value| value.and_then(Value::text));
        assert_eq!(texts, [Some("Läb".into()), Some("^1".into())]);
    }
}
