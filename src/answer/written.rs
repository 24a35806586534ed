//! Writes the answers that protocols declare.

use super::request::Request;
use crate::contract::answering::{Reply, Slot};
use crate::protocols::Id;
use crate::rule::hex;
use std::ops::Range;

/// What the server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// Its map.
    pub map: String,
    /// Its game or kind of game.
    pub game: String,
    /// Its version.
    pub version: String,
    /// Players now.
    pub players: u32,
    /// Players at most.
    pub max_players: u32,
    /// The port on which it is asked.
    pub port: u16,
}

impl Default for Settings {
    fn default() -> Settings {
        let [name, map, game, version] = ["qdissect", "harbour", "lab", "1.0.0"].map(str::to_owned);
        Settings { name, map, game, version, players: 3, max_players: 16, port: 0 }
    }
}

/// A request, and what its answer depends on.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub payload: &'a [u8],
    /// A new challenge for its sender; 0 where none of its answers has one.
    pub challenge: u32,
    /// How many requests were answered before.
    pub serial: u32,
    pub settings: &'a Settings,
}

/// An answer, and where in it stands what depends on the request.
#[derive(Debug, Default)]
pub struct Written {
    pub bytes: Vec<u8>,
    /// What is repeated from the request.
    pub repeated: Vec<Range<usize>>,
    /// The challenge.
    pub challenge: Option<Range<usize>>,
}

/// The right answer to a request, if the protocol declares one. `is_proven` says whether a challenge that it returns is valid.
pub fn right(id: Id, request: &Request, asked: &Asked<'_>, is_proven: bool) -> Option<Vec<u8>> {
    let fits = |reply: &&Reply| match reply.returns {
        Some(find) => is_proven && find(asked.payload).is_some(),
        None => true,
    };
    request.answers(id).find(fits).map(|reply| Written::of(reply.slots, asked).bytes)
}

impl Written {
    /// The answer of these parts.
    pub fn of(slots: &[Slot], asked: &Asked<'_>) -> Written {
        let mut written = Written::default();
        written.add(slots, asked, 0);
        written
    }

    /// Adds parts; `player` is the number of the player in whose part they stand.
    fn add(&mut self, slots: &[Slot], asked: &Asked<'_>, player: u32) {
        let Asked { payload, challenge, serial, settings } = *asked;
        for slot in slots {
            let start = self.bytes.len();
            let more = match *slot {
                Slot::Hex(text) => hex(text),
                Slot::Asked(from, to) => {
                    payload.get(from..to.min(payload.len())).unwrap_or_default().to_vec()
                }
                Slot::Echo(of) => of(payload),
                Slot::Challenge(write) => write(challenge),
                Slot::Name(write) => write(&settings.name),
                Slot::Map(write) => write(&settings.map),
                Slot::Game(write) => write(&settings.game),
                Slot::Version(write) => write(&settings.version),
                Slot::Players(write) => write(settings.players),
                Slot::MaxPlayers(write) => write(settings.max_players),
                Slot::Port(write) => write(settings.port.into()),
                Slot::Serial(write) => write(serial),
                Slot::Player(write) => write(&format!("Player {}", player.saturating_add(1))),
                Slot::Index(write) => write(player),
                Slot::Within(around, inner) => {
                    let mut within = Written::default();
                    within.add(inner, asked, player);
                    around(&within.bytes)
                }
                Slot::Each(inner) => {
                    (0..settings.players).for_each(|player| self.add(inner, asked, player));
                    continue;
                }
                Slot::If(condition, inner) => {
                    if condition(payload) {
                        self.add(inner, asked, player);
                    }
                    continue;
                }
            };
            self.bytes.extend(more);
            let range = start..self.bytes.len();
            match slot {
                Slot::Asked(..) | Slot::Echo(_) => self.repeated.push(range),
                Slot::Challenge(_) => self.challenge = Some(range),
                _ => {}
            }
        }
    }
}
