//! What `answer` sends: the right answer to each request, as data that stands next to the protocols.

/// Writes a number.
pub type Number = fn(u32) -> Vec<u8>;
/// Writes a text.
pub type Text = fn(&str) -> Vec<u8>;

/// Finds a challenge in a request.
pub type Find = fn(&[u8]) -> Option<u32>;

/// The right answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The request: index into the protocol's messages.
    pub to: u8,
    /// Which of these requests, by their bytes.
    pub when: fn(&[u8]) -> bool,
    /// Where the request returns the challenge without which it does not get this answer; `None` if it needs none.
    pub returns: Option<Find>,
    /// The answer, in order.
    pub slots: &'static [Slot],
}

impl Reply {
    /// The answer to each of these requests.
    pub const fn to(message: u8, slots: &'static [Slot]) -> Reply {
        Reply { to: message, when: |_| true, returns: None, slots }
    }
    /// Only where this condition holds of the request.
    pub const fn when(self, when: fn(&[u8]) -> bool) -> Reply {
        Reply { when, ..self }
    }
    /// Only to requests that return the challenge, which this function finds.
    pub const fn returning(self, challenge: Find) -> Reply {
        Reply { returns: Some(challenge), ..self }
    }
    /// Whether it issues a challenge.
    pub fn issues(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Challenge(_)))
    }
}

/// A part of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// These bytes, written as in the [examples](crate::rule::Step) of rules.
    Hex(&'static str),
    /// The bytes of the request from the first of these positions to before the second; where it is shorter, those it has.
    Asked(usize, usize),
    /// Bytes that the request determines.
    Echo(fn(&[u8]) -> Vec<u8>),
    /// The challenge of the client, which is never 0 and has 31 bits at most.
    Challenge(Number),
    /// Name of the server.
    Name(Text),
    /// Its map.
    Map(Text),
    /// Its game or kind of game.
    Game(Text),
    /// Its version.
    Version(Text),
    /// Players now.
    Players(Number),
    /// Players at most.
    MaxPlayers(Number),
    /// The port on which it is asked.
    Port(Number),
    /// How many answers this one follows.
    Serial(Number),
    /// What a function makes of the bytes of these, such as a length in front of them.
    Within(fn(&[u8]) -> Vec<u8>, &'static [Slot]),
    /// The same for each player.
    Each(&'static [Slot]),
    /// Within [`Each`](Slot::Each): the name of the player.
    Player(Text),
    /// Within [`Each`](Slot::Each): the player's number, from 0.
    Index(Number),
    /// Only if this condition holds of the request.
    If(fn(&[u8]) -> bool, &'static [Slot]),
}

/// A byte; what does not fit is cut off, as in all these.
pub fn u8(n: u32) -> Vec<u8> {
    vec![n as u8]
}
/// Two bytes, the highest first.
pub fn be16(n: u32) -> Vec<u8> {
    (n as u16).to_be_bytes().to_vec()
}
/// Two bytes, the lowest first.
pub fn le16(n: u32) -> Vec<u8> {
    (n as u16).to_le_bytes().to_vec()
}
/// Four bytes, the highest first.
pub fn be32(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}
/// Four bytes, the lowest first.
pub fn le32(n: u32) -> Vec<u8> {
    n.to_le_bytes().to_vec()
}
/// Decimal digits.
pub fn decimal(n: u32) -> Vec<u8> {
    n.to_string().into_bytes()
}
/// Decimal digits and a zero.
pub fn decimal_z(n: u32) -> Vec<u8> {
    zero(&n.to_string())
}
/// The text and nothing else.
pub fn bare(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}
/// The text and a zero.
pub fn zero(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}
/// A length of one byte, and the text.
pub fn short(text: &str) -> Vec<u8> {
    sized(u8, text.as_bytes())
}
/// A length of four bytes, the lowest first, and the text.
pub fn long(text: &str) -> Vec<u8> {
    sized(le32, text.as_bytes())
}
/// A length, and the bytes that it counts.
pub fn sized(length: Number, bytes: &[u8]) -> Vec<u8> {
    let mut all = length(bytes.len() as u32);
    all.extend(bytes);
    all
}

/// The number at this position of a request, the highest byte first.
pub fn be32_at<const AT: usize>(p: &[u8]) -> Option<u32> {
    p.get(AT..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
/// The number at this position of a request, the lowest byte first.
pub fn le32_at<const AT: usize>(p: &[u8]) -> Option<u32> {
    be32_at::<AT>(p).map(u32::swap_bytes)
}
