//! Messages as data: their first bytes, and what is derived from them.
//!
//! A protocol lists its messages in [`Info::messages`]. Where their fixed bytes distinguish them from everything
//! else, the defaults of [`Protocol`] derive all that is needed: the table of first bytes, the confidence from the
//! number of fixed bits, direction, role, step and key.

use super::{Direction, Info, Known, Level, Part, Probe, Protocol, Role};
use crate::decode::Field;

/// Finds the number of a part in a payload.
pub type PartOf = fn(&[u8]) -> Option<Part>;
/// Finds the key in a payload.
pub type KeyOf = fn(&[u8]) -> Option<u64>;

/// A message of a protocol.
#[derive(Debug)]
pub struct Message {
    /// Name in records.
    pub name: &'static str,
    /// Which way it travels; `None` where both ends send it.
    pub direction: Option<Direction>,
    /// Its role in an exchange.
    pub role: Role,
    /// Index into [`Info::steps`].
    pub step: u8,
    /// Forms of its first bytes, that with the highest confidence first; empty where the protocol recognises it by hand.
    pub forms: &'static [Form],
    /// Finds the key that an answer shares with its request.
    pub key: Option<KeyOf>,
    /// Finds the state that the decoder of the answer needs, see [`Probe::request_state`].
    pub request_state: Option<fn(&[u8]) -> u32>,
    /// Finds its part number, where it may be a part of an answer.
    pub part: Option<PartOf>,
    /// Its confidence once it is paired with a request.
    pub paired: Level,
    /// The requests that it may answer beside the open ones of its step.
    pub answers: Answers,
    /// Its request chooses which groups and lists it has.
    pub by_request: bool,
    /// What it says to a master server, or a master server says, of game servers.
    pub listing: Option<Listing>,
}

/// What a message says of game servers other than the one that it belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Listing {
    /// A master lists them: the field of one.
    List(&'static Field),
    /// A game server tells a master of itself. The function finds the port that it names; without one, it is the port that the
    /// message comes from.
    Heartbeat(fn(&[u8]) -> Option<u16>),
}

/// Which requests an answer may belong to, beside the open ones of its own step.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// Further steps whose requests it may answer where no request of its own step is open; steps listed earlier
    /// are preferred.
    pub also: &'static [u8],
    /// The requests of all these steps are equivalent: the oldest is preferred, and a request that
    /// [carries](super::StepInfo::carries) nothing is preferred to one that does.
    pub equivalent: bool,
    /// Messages that, as a first answer, it may follow as a further answer to the same request, where no request is
    /// open.
    pub follows: &'static [u8],
    /// It may answer requests of the other steps only where it cannot be the answer to a command: see
    /// [`Probe::COMMAND`].
    pub refuses: bool,
}

impl Answers {
    /// Only the requests of its own step, once each.
    pub const OWN_STEP: Answers = Answers { also: &[], equivalent: false, follows: &[], refuses: false };
}

impl Message {
    /// A message that the protocol recognises by hand.
    pub const fn named(name: &'static str) -> Message {
        Message {
            name,
            direction: None,
            role: Role::Stray,
            step: 0,
            forms: &[],
            key: None,
            request_state: None,
            part: None,
            paired: Level::High,
            answers: Answers::OWN_STEP,
            by_request: false,
            listing: None,
        }
    }
    /// The same, recognised by these forms.
    pub const fn formed(self, forms: &'static [Form]) -> Message {
        Message { forms, ..self }
    }
    /// A request of a step.
    pub const fn request(name: &'static str, step: u8, forms: &'static [Form]) -> Message {
        Message { direction: Some(Direction::C2s), role: Role::Request, step, forms, ..Message::named(name) }
    }
    /// An answer of a step.
    pub const fn response(name: &'static str, step: u8, forms: &'static [Form]) -> Message {
        Message { direction: Some(Direction::S2c), role: Role::Response, step, forms, ..Message::named(name) }
    }
    /// A message that is shown, but is neither a request nor an answer.
    pub const fn label(name: &'static str, direction: Direction, forms: &'static [Form]) -> Message {
        Message { direction: Some(direction), forms, ..Message::named(name) }
    }
    /// The same, with a key.
    pub const fn keyed(self, key: KeyOf) -> Message {
        Message { key: Some(key), ..self }
    }
    /// The same, with the state that the decoder of its answer needs.
    pub const fn remembers(self, request_state: fn(&[u8]) -> u32) -> Message {
        Message { request_state: Some(request_state), ..self }
    }
    /// The same, which may come in numbered parts.
    pub const fn in_parts(self, part: PartOf) -> Message {
        Message { part: Some(part), ..self }
    }
    /// The same, with that confidence at most once it is paired with a request.
    pub const fn paired(self, paired: Level) -> Message {
        Message { paired, ..self }
    }

    /// The same, which also answers other requests.
    pub const fn answering(self, answers: Answers) -> Message {
        Message { answers, ..self }
    }
    /// The same, which answers requests of these steps where none of its own is open.
    pub const fn also(self, also: &'static [u8]) -> Message {
        self.answering(Answers { also, ..Answers::OWN_STEP })
    }

    /// The same, whose request chooses which groups and lists it has.
    pub const fn chosen(self) -> Message {
        Message { by_request: true, ..self }
    }

    /// The same, in which a master lists servers, each in this field.
    pub const fn lists(self, field: &'static Field) -> Message {
        Message { listing: Some(Listing::List(field)), ..self }
    }
    /// The same, in which a game server tells a master of itself: see [`Listing::Heartbeat`].
    pub const fn beats(self, port: fn(&[u8]) -> Option<u16>) -> Message {
        Message { listing: Some(Listing::Heartbeat(port)), ..self }
    }

    fn key_in(&self, payload: &[u8]) -> Option<u64> {
        self.key.and_then(|key| key(payload))
    }

    /// The probe of a payload that is this message, at that level.
    #[inline]
    pub fn probe(&self, at: u8, payload: &[u8], level: Level) -> Probe {
        let part = self.part.and_then(|part| part(payload));
        let alone = part.is_none_or(|Part { number, total, .. }| (number, total) == (0, Some(1)));
        Probe {
            message: at,
            role: if alone { self.role } else { Role::ResponsePart },
            step: self.step,
            key: self.key_in(payload),
            request_state: self.request_state.map_or(0, |request_state| request_state(payload)),
            level,
            paired: self.paired,
            begins: true,
            part,
        }
    }
}

/// Declares messages and, from the same text, their list, `MESSAGES`, and for each the index in it: `NAME = message;`.
macro_rules! messages {
    ($($NAME:ident = $message:expr;)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($NAME),+ }
        $(#[allow(dead_code)] // not every message is named elsewhere
        const $NAME: u8 = Place::$NAME as u8;)+
        /// The messages, in order.
        static MESSAGES: &[$crate::contract::Message] = &[$($message),+];
    };
}
pub(crate) use messages;

/// Fixed bytes of a message.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Alternative bytes in front.
    heads: &'static [&'static [u8]],
    /// Fixed bytes after those.
    begins: &'static [u8],
    /// Further bytes, at an offset from the start of the payload.
    then: (usize, &'static [u8]),
    /// Bytes that may follow `begins`, unless the message ends there; empty where any byte may follow.
    ends: &'static [u8],
    /// Letters are compared without case.
    caseless: bool,
    /// Least and most length on the wire in bytes.
    length: (usize, usize),
    /// A further condition on the payload.
    when: Option<fn(&[u8]) -> bool>,
    /// Its confidence, where that does not follow from the number of fixed bits.
    level: Option<Level>,
    /// Knowledge that it needs, because its bytes alone prove nothing.
    needs: Needs,
}

/// Knowledge required beside the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Needs {
    Nothing,
    /// The conversation or the server.
    Known,
    /// The conversation, with a request that is open or whose answer has not come in all its parts.
    Awaited,
    /// The same, and one of the latest requests has its key.
    Asked,
    /// The conversation, with an open request of its step.
    Due,
}

impl Form {
    /// A message that begins with these bytes.
    pub const fn of(begins: &'static [u8]) -> Form {
        Form {
            heads: &[b""],
            begins,
            then: (0, b""),
            ends: b"",
            caseless: false,
            length: (0, usize::MAX),
            when: None,
            level: None,
            needs: Needs::Nothing,
        }
    }
    /// The same after any of these bytes.
    pub const fn after(self, heads: &'static [&'static [u8]]) -> Form {
        Form { heads, ..self }
    }
    /// The same with further bytes at an offset from the start of the payload.
    pub const fn and(self, at: usize, bytes: &'static [u8]) -> Form {
        Form { then: (at, bytes), ..self }
    }
    /// The same as a word: it ends there, or one of these bytes follows.
    pub const fn word(self, ends: &'static [u8]) -> Form {
        Form { ends, ..self }
    }
    /// The same in letters of any case; medium at most where the case is another one.
    pub const fn caseless(self) -> Form {
        Form { caseless: true, ..self }
    }
    /// The same with a length on the wire, in bytes, from `least` to `most`.
    pub const fn length(self, least: usize, most: usize) -> Form {
        Form { length: (least, most), ..self }
    }
    /// The same with a further condition.
    pub const fn when(self, holds: fn(&[u8]) -> bool) -> Form {
        Form { when: Some(holds), ..self }
    }
    /// The same with a fixed confidence.
    pub const fn level(self, level: Level) -> Form {
        Form { level: Some(level), ..self }
    }
    /// The same, but only in a known conversation or with a known server.
    pub const fn known(self) -> Form {
        Form { needs: Needs::Known, ..self }
    }
    /// The same, but only in a conversation where a request is open, or further parts of its answer may come.
    pub const fn awaited(self) -> Form {
        Form { needs: Needs::Awaited, ..self }
    }

    /// The same, but only in a conversation where a request of its step is open, for datagrams that no probe
    /// recognised by their bytes.
    pub const fn due(self) -> Form {
        Form { needs: Needs::Due, ..self }
    }

    /// The same as [`awaited`](Self::awaited), but only if one of the latest requests has its key.
    pub const fn asked(self) -> Form {
        Form { needs: Needs::Asked, ..self }
    }

    /// Whether its bytes are evidence on their own.
    const fn is_alone(&self) -> bool {
        matches!(self.needs, Needs::Nothing)
    }

    /// Sets a bit for each byte value that it may have at that offset, unless it ends before.
    const fn mark(&self, at: usize, bit: u32, table: &mut Bytes) {
        if at >= self.length.1 {
            return;
        }
        let mut i = 0;
        while i < self.heads.len() {
            let (head, (then_at, then)) = (self.heads[i], self.then);
            let body_at = at.saturating_sub(head.len());
            if then_at <= at && at < then_at.saturating_add(then.len()) {
                mark(table, then[at.saturating_sub(then_at)], bit);
            } else if at < head.len() {
                mark(table, head[at], bit);
            } else if body_at >= self.begins.len() {
                mark_all(table, bit);
            } else if self.caseless {
                mark(table, self.begins[body_at].to_ascii_lowercase(), bit);
                mark(table, self.begins[body_at].to_ascii_uppercase(), bit);
            } else {
                mark(table, self.begins[body_at], bit);
            }
            i += 1;
        }
    }

    /// Sets a bit for each length that it may have, unless it needs further knowledge.
    const fn mark_lengths(&self, bit: u32, table: &mut Lengths) {
        let ((least, most), (at, then)) = (self.length, self.then);
        let fixed = if then.is_empty() { 0 } else { at.saturating_add(then.len()) };
        let mut i = 0;
        while i < self.heads.len() && self.is_alone() {
            let first = if self.heads[i].is_empty() { self.begins } else { self.heads[i] };
            let begins = self.heads[i].len().saturating_add(self.begins.len());
            let mut entry = 0;
            while entry < 4 * LONG {
                let (class, length) = (entry / LONG, entry % LONG);
                let enough = length >= least && length >= begins && length >= fixed || length == LONG - 1;
                // Letters of either case are in one class.
                if enough && length <= most && (first.is_empty() || first[0] as usize >> 6 == class) {
                    table[class][length] |= bit;
                }
                entry += 1;
            }
            i += 1;
        }
    }

    /// The confidence that the payload has this form of that message; `None` where it does not.
    #[inline(always)]
    fn fits(&self, p: &[u8], wire_len: usize, known: Option<Known<'_>>, message: &Message) -> Option<Level> {
        let (least, most) = self.length;
        let enough = match self.needs {
            Needs::Nothing => true,
            Needs::Known => known.is_some(),
            Needs::Awaited => known.is_some_and(|known| known.open),
            Needs::Due => known.is_some_and(|known| known.awaited >> message.step & 1 == 1),
            Needs::Asked => known
                .filter(|known| known.open)
                .is_some_and(|known| message.key_in(p).is_some_and(|key| known.keys.contains(&Some(key)))),
        };
        if !enough || !(least..=most).contains(&wire_len) {
            return None;
        }
        let (at, then) = self.then;
        if !then.is_empty() && !p.get(at..).is_some_and(|rest| rest.starts_with(then)) {
            return None;
        }
        let fits_head = |head: &&&[u8]| p.strip_prefix(**head).is_some_and(|rest| self.follows(rest));
        let head = self.heads.iter().find(fits_head)?;
        if self.when.is_some_and(|holds| !holds(p)) {
            return None;
        }
        let fixed = head.len().saturating_add(self.begins.len()).saturating_add(then.len());
        let level = self.level.unwrap_or(match fixed {
            0 | 1 => Level::Hint,
            2 => Level::Low,
            3..=5 => Level::Medium,
            _ => Level::High,
        });
        // A form that proves nothing alone has at most the confidence of the knowledge that it needs.
        let level = if self.is_alone() { level } else { level.min(known?.level) };
        // Where the capture cut it off, the word may continue: statusResponse begins like status.
        let whole = p.len() >= wire_len || p.len() > head.len().saturating_add(self.begins.len());
        let level = if self.ends.is_empty() || whole { level } else { level.min(Level::Low) };
        let exact = p.get(head.len()..).is_some_and(|rest| rest.starts_with(self.begins));
        Some(if exact { level } else { level.min(Level::Medium) })
    }

    /// Whether the bytes after the head have this form.
    #[inline(always)]
    fn follows(&self, rest: &[u8]) -> bool {
        let Some((word, after)) = rest.split_at_checked(self.begins.len()) else { return false };
        let same = if self.caseless { word.eq_ignore_ascii_case(self.begins) } else { word == self.begins };
        same && (self.ends.is_empty() || after.first().is_none_or(|next| self.ends.contains(next)))
    }
}

/// Sets a bit for each byte value that any of the forms may have at that offset; forms that need further knowledge
/// count only where something is `known`.
const fn mark_forms(forms: &[Form], at: usize, bit: u32, table: &mut Bytes, known: bool) {
    let mut i = 0;
    while i < forms.len() {
        if known || forms[i].is_alone() {
            forms[i].mark(at, bit, table);
        }
        i += 1;
    }
}

const fn mark(table: &mut Bytes, byte: u8, bit: u32) {
    table[byte as usize] |= bit;
}

/// How badly a byte distinguishes messages: for each message, the number of messages with the same byte, in 256ths, as a mean of
/// all bytes that the message may have there.
const fn confusion(table: &Bytes, messages: usize) -> u32 {
    let (mut sum, mut message) = (0, 0);
    while message < messages {
        let (mut bytes, mut same, mut byte) = (0, 0, 0);
        while byte < table.len() {
            if table[byte] >> message & 1 == 1 {
                bytes += 1;
                same += table[byte].count_ones();
            }
            byte += 1;
        }
        if let Some(mean) = (same * 256).checked_div(bytes) {
            sum += mean;
        }
        message += 1;
    }
    sum
}

const fn mark_all(table: &mut [u32], bit: u32) {
    let mut byte = 0;
    while byte < table.len() {
        table[byte] |= bit;
        byte += 1;
    }
}

impl Info {
    /// Sets a bit for each byte value that payloads which a probe may recognise can have at that offset.
    pub const fn mark(&self, at: usize, bit: u32, table: &mut Bytes) {
        let mut i = 0;
        while let Some(forms) = self.forms(i) {
            mark_forms(forms, at, bit, table, false);
            i += 1;
        }
    }

    /// Sets a bit for each length on the wire that payloads which a probe may recognise can have.
    pub const fn mark_lengths(&self, bit: u32, table: &mut Lengths) {
        let mut i = 0;
        while let Some(forms) = self.forms(i) {
            let mut at = 0;
            while at < forms.len() {
                forms[at].mark_lengths(bit, table);
                at += 1;
            }
            i += 1;
        }
    }

    /// The forms that a hand-written probe recognises, and after them those of each message.
    const fn forms(&self, i: usize) -> Option<&'static [Form]> {
        match i.checked_sub(1) {
            None => Some(self.first),
            Some(message) if message < self.messages.len() => Some(self.messages[message].forms),
            Some(_) => None,
        }
    }

    /// The first bytes of payloads that a probe may recognise.
    pub fn first_bytes(&self) -> impl Iterator<Item = u8> {
        let mut table = [0; 256];
        self.mark(0, 1, &mut table);
        (0..=u8::MAX).filter(move |byte| table[usize::from(*byte)] != 0)
    }

    /// The messages that a probe may recognise, or that may be read where something is `known`.
    pub(super) const fn begins(&self, known: bool) -> Begins {
        assert!(self.messages.len() <= 32, "a bit for each message");
        let mut begins =
            Begins { first: self.messages_by(0, known), other: self.messages_by(4, known), at: 4 };
        let mut at = 3;
        while at > 0 {
            let other = self.messages_by(at, known);
            if confusion(&other, self.messages.len()) < confusion(&begins.other, self.messages.len()) {
                (begins.other, begins.at) = (other, at);
            }
            at -= 1;
        }
        begins
    }

    /// The messages by the byte at an offset.
    const fn messages_by(&self, at: usize, known: bool) -> Bytes {
        let (mut table, mut message) = ([0; 256], 0);
        while message < self.messages.len() {
            mark_forms(self.messages[message].forms, at, 1 << message, &mut table, known);
            message += 1;
        }
        table
    }

    /// The stray probe of a payload that looks like this message; `None` unless the conversation or server has
    /// medium confidence at least.
    pub fn stray(&self, message: u8, payload: &[u8], known: Known<'_>) -> Option<Probe> {
        if known.level < Level::Medium {
            return None;
        }
        Some(self.messages.get(usize::from(message))?.probe(message, payload, Level::Medium).as_stray())
    }

    /// Gives a part the step of the message that it names as its whole.
    fn with_step_of_whole(&self, probe: Probe) -> Probe {
        let whole = probe.part.and_then(|part| self.messages.get(usize::from(part.makes?)));
        Probe { step: whole.map_or(probe.step, |whole| whole.step), ..probe }
    }

    /// The message with the highest confidence among these (one bit each), in a tie the first. Where something is known,
    /// only messages of that direction count.
    fn best_match(&self, p: &[u8], wire_len: usize, known: Option<Known<'_>>, bits: u32) -> Option<Probe> {
        let (mut best, mut remaining): (Option<(usize, Level)>, _) = (None, bits);
        'messages: while let at = remaining.trailing_zeros() as usize
            && let Some(message) = self.messages.get(at)
        {
            remaining &= remaining.wrapping_sub(1);
            let direction = known.map(|known| known.direction);
            if direction.is_some() && message.direction.is_some() && message.direction != direction {
                continue;
            }
            for form in message.forms {
                let best_level = best.map(|(_, level)| level);
                if form.level.is_some_and(|level| Some(level) <= best_level) {
                    continue;
                }
                let level = form.fits(p, wire_len, known, message);
                if level > best_level {
                    best = level.map(|level| (at, level));
                }
                if level == Some(Level::High) {
                    break 'messages;
                }
            }
        }
        let (at, level) = best?;
        let probe = self.messages.get(at)?.probe(at as u8, p, level);
        Some(self.with_step_of_whole(probe))
    }
}

/// For every value of a byte at some offset, the messages or protocols that may have it there, one bit each.
pub type Bytes = [u32; 256];
/// The messages of a protocol by their first byte and by another one.
#[derive(Debug)]
pub struct Begins {
    first: Bytes,
    other: Bytes,
    /// Offset of the other byte: the one of the next four that distinguishes most messages, such as the type after a size.
    at: usize,
}

/// Entries for lengths on the wire in bytes; the last one stands for all longer payloads.
pub const LONG: usize = 64;
/// For the upper two bits of the first byte and every length on the wire, the protocols that may begin so, one bit each.
/// Short payloads of one protocol and long ones of another differ in these bits.
pub type Lengths = [[u32; LONG]; 4];

/// The messages that a payload may be, one bit each; all of them if it is empty.
#[inline(always)]
fn possible(begins: &Begins, payload: &[u8]) -> u32 {
    let bits_at =
        |table: &Bytes, at: usize| payload.get(at).map_or(u32::MAX, |byte| table[usize::from(*byte)]);
    bits_at(&begins.first, 0) & bits_at(&begins.other, begins.at)
}

/// Recognises a payload by its bytes alone: the message with the highest confidence, in a tie the first.
#[inline]
pub fn recognise<P: Protocol + ?Sized>(payload: &[u8], wire_len: usize) -> Option<Probe> {
    let info = const { &P::INFO };
    let bits = possible(&P::BEGINS[0], payload);
    if bits == 0 || info.begins_with_length && !begins_with_length(payload, wire_len) {
        return None;
    }
    info.best_match(payload, wire_len, None, bits)
}

/// Whether a payload begins with its own length on the wire: u16, little-endian.
pub fn begins_with_length(payload: &[u8], wire_len: usize) -> bool {
    payload.first_chunk().is_some_and(|length| usize::from(u16::from_le_bytes(*length)) == wire_len)
}

/// Recognises a payload in a known conversation or with a known server: a message of that direction, or a stray
/// one.
pub fn recognise_known<P: Protocol + ?Sized>(
    payload: &[u8],
    wire_len: usize,
    known: Known<'_>,
) -> Option<Probe> {
    let info = const { &P::INFO };
    if let Some(probe) = info.best_match(payload, wire_len, Some(known), possible(&P::BEGINS[1], payload)) {
        return Some(Probe { level: probe.level.max(known.level.min(Level::Medium)), ..probe });
    }
    recognise::<P>(payload, wire_len).map(Probe::as_stray)
}

/// A key that is a big-endian number of `BYTES` bytes at an offset.
pub fn number_at<const OFFSET: usize, const BYTES: usize>(payload: &[u8]) -> Option<u64> {
    let number: &[u8; BYTES] = payload.get(OFFSET..)?.first_chunk()?;
    Some(number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// A key from any bytes: equal bytes have equal keys, others have different keys except by chance (FNV-1a).
pub fn hashed(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::protocols::Id;

    /// Its key is its length.
    const M: Message = Message::request("m", 2, &[]).keyed(|p| Some(p.len() as u64));

    fn level(form: Form, payload: &[u8]) -> Option<Level> {
        form.fits(payload, payload.len(), None, &M)
    }

    #[test]
    fn more_fixed_bits_give_higher_confidence() {
        let by_length = [1, 2, 3, 5, 6].map(|n| level(Form::of(&b"abcdef"[..n]), b"abcdefg").unwrap());
        assert_eq!(by_length, [Level::Hint, Level::Low, Level::Medium, Level::Medium, Level::High]);
        let split = Form::of(b"a").and(3, b"defgh");
        assert_eq!(level(split, b"a..defgh"), Some(Level::High));
        assert_eq!([&b"a..defg"[..], b"b..defgh", b"a"].map(|p| level(split, p)), [None; 3]);
    }

    #[test]
    fn a_word_must_end_or_be_followed_by_an_end_byte() {
        let word = Form::of(b"getinfo").word(b" \n");
        let levels =
            [&b"getinfo"[..], b"getinfo x", b"getinfos", b"getinf", b"GetInfo"].map(|p| level(word, p));
        assert_eq!(levels, [Some(Level::High), Some(Level::High), None, None, None]);
        assert_eq!(level(word.caseless(), b"GetInfo"), Some(Level::Medium));
        assert_eq!(word.fits(b"getinfo", 20, None, &M), Some(Level::Low), "the rest of it may be cut off");
        assert_eq!(word.fits(b"getinfo ", 20, None, &M), Some(Level::High));
    }

    #[test]
    fn any_of_the_heads_may_precede() {
        let form = Form::of(b"n").after(&[b"\xff\xff", b"\xff\xff\xff"]);
        assert_eq!(level(form, b"\xff\xff\xffn"), Some(Level::Medium));
        assert_eq!([&b"\xffn"[..], b"n", b"\xff\xff"].map(|p| level(form, p)), [None; 3]);
    }

    #[test]
    fn possible_bytes_of_a_form_are_marked() {
        let bytes = |form: Form, at| {
            let mut table = [0; 256];
            form.mark(at, 1, &mut table);
            (0..=u8::MAX).filter(|byte| table[usize::from(*byte)] != 0).collect::<Vec<_>>()
        };
        let form = Form::of(b"n").after(&[b"\xff\xff", b"\xff\xff\xff"]);
        assert_eq!([0, 1, 2].map(|at| bytes(form, at)), [vec![0xff], vec![0xff], vec![b'n', 0xff]]);
        assert_eq!([bytes(form, 4).len(), bytes(form.and(4, b"x"), 4).len()], [256, 1]);
        assert_eq!(bytes(Form::of(b"n").caseless(), 0), b"Nn");
        assert_eq!(bytes(Form::of(b"n").length(1, 1), 1), b"", "it ends before");
    }

    #[test]
    fn possible_lengths_of_a_form_are_marked() {
        let lengths = |form: Form| {
            let mut table = [[0; LONG]; 4];
            form.mark_lengths(1, &mut table);
            table.map(|class| {
                let marked = || (0..LONG).filter(|&length| class[length] != 0);
                Some((marked().next()?, marked().next_back()?, marked().count()))
            })
        };
        let form = Form::of(b"n").after(&[b"\xff\xff", b"\xff\xff\xff"]);
        assert_eq!(lengths(form.and(4, b"x")), [None, None, None, Some((5, 63, 59))]);
        let short = Form::of(b"ab");
        assert_eq!(
            [short, short.caseless(), short.length(4, 5), short.length(90, 200)].map(|form| lengths(form)[1]),
            [Some((2, 63, 62)), Some((2, 63, 62)), Some((4, 5, 2)), Some((63, 63, 1))]
        );
        assert_eq!(lengths(Form::of(b"").length(2, 2)), [Some((2, 2, 1)); 4], "it may begin with any byte");
        assert_eq!(lengths(short.known()), [None; 4]);
    }

    #[test]
    fn tables_keep_every_message_that_has_the_bytes() {
        for info in Id::ALL.iter().map(|id| id.info()) {
            let tables = [false, true].map(|known| info.begins(known));
            for (at, form) in
                info.messages.iter().enumerate().flat_map(|(at, m)| m.forms.iter().map(move |f| (at, f)))
            {
                for head in form.heads {
                    let (mut p, (then_at, then)) = ([*head, form.begins].concat(), form.then);
                    p.resize(p.len().max(form.length.0).max(then_at + then.len()), b'x');
                    p[then_at..then_at + then.len()].copy_from_slice(then);
                    let kept = [0, 1].map(|known| possible(&tables[known], &p) >> at & 1 == 1);
                    assert!(kept[1] && (kept[0] || !form.is_alone()), "{} {at} {form:?}", info.name);
                }
            }
        }
        let a2s = Id::A2s.info().begins(false);
        let payloads = [&b"\xff\xff\xff\xffTSource"[..], b"\xff\xff\xff\xff\0", b"\xff\xff", b""];
        assert_eq!(payloads.map(|p| possible(&a2s, p).count_ones().min(2)), [1, 0, 2, 2]);
    }

    #[test]
    fn weak_forms_count_only_with_enough_knowledge() {
        let known = |open| Known { open, ..Known::of(Direction::C2s, Level::High) };
        let form = Form::of(b"x").known().length(1, 2);
        let among = |form: Form, bytes: &[u8]| {
            [None, Some(known(false)), Some(known(true))]
                .map(|known| form.fits(bytes, bytes.len(), known, &M))
        };
        assert_eq!(among(form, b"xy"), [None, Some(Level::Hint), Some(Level::Hint)]);
        assert_eq!(among(form.awaited(), b"xy"), [None, None, Some(Level::Hint)]);
        let due = |awaited| form.due().fits(b"xy", 2, Some(Known { awaited, ..known(true) }), &M);
        assert_eq!([0b0100, 0b1011].map(due), [Some(Level::Hint), None]);
        let asked = |key| {
            let keys = [Some(9), None, key, Some(8)];
            form.asked().fits(b"xy", 2, Some(Known { keys: &keys, ..known(true) }), &M)
        };
        assert_eq!([Some(2), Some(3), None].map(asked), [Some(Level::Hint), None, None]);
        assert_eq!(among(form, b"xyz"), [None; 3]);
        let six = Form::of(b"abcdef").known();
        let at = |level| six.fits(b"abcdef", 6, Some(Known::of(Direction::C2s, level)), &M);
        assert_eq!([Level::Low, Level::High].map(at), [Some(Level::Low), Some(Level::High)]);
    }
}
