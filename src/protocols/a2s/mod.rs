//! Valve's server queries, supported by Source and GoldSrc servers and most games on Steam. Little-endian; texts are
//! zero-terminated.
//!
//! ```text
//! request    ff ff ff ff │ 54 │ 'Source Engine Query' 00 [ challenge u32 ]     INFO
//!                        │ 55 or 56 │ challenge u32                            PLAYER, RULES
//!                        │ 57 or 69                                            challenge, ping
//! challenge  ff ff ff ff │ 41 │ challenge u32
//! answer     ff ff ff ff │ 49, 6d or 43 INFO, 44 PLAYER, 45 RULES, 6a ping
//! part       fe ff ff ff │ id u32 │ total u8 │ number u8 [ size u16 ]  [ decompressed_size u32 │ crc32 u32 ]  a piece of an answer
//!                        │ id u32 │ number and total, a nibble each │ a piece of an answer                    GoldSrc
//! ```
//!
//! Oddities: any request except the old words may be answered by a challenge. It is then sent again with the challenge, from
//! any port of the client's address. The layout of a part must be guessed from its bytes. The Ship has further fields, in
//! PLAYER after the whole list. dproto answers one INFO request with three messages. More than 255 players are counted modulo
//! 256. Arma 3 and DayZ put a message of their own into RULES. Frontlines asks for INFO otherwise, see `frontlines.rs`.

mod answering;
mod answers;
mod browser;
mod challenges;
mod frontlines;
mod layouts;
mod parts;
mod probing;

use super::prelude::*;
use crate::contract::{Answers, Joining, Layout, SPLIT_FIELDS};
use crate::net::{Datagram, Endpoint};
use answers::{rules as rule_list, *};
use parts::{LAYOUTS, is_first_part, is_marked, is_unreadable, part, part_header, part_id, read_part};

/// The values of a challenge field that stand for no challenge.
const NONE_YET: [u32; 2] = [0, u32::MAX];
/// Bits in the request_state of a request: it carries a challenge; it is one of GoldSrc's words or that of Frontlines, which are
/// never challenged.
const CARRIES: u32 = 1;
const WORD: u32 = 2;
/// Its answer is Frontlines'; or so it is if its count fits in no other order.
const FRONTLINES: u32 = 4;
const FRONTLINES_IF_IT_FITS: u32 = 8;

/// The messages that are GoldSrc's words.
const WORDS: std::ops::RangeInclusive<u8> = 5..=9;

const INFO_STEP: u8 = 0;
const PLAYERS_STEP: u8 = 1;
const RULES_STEP: u8 = 2;
const CHALLENGE_STEP: u8 = 3;
const PING_STEP: u8 = 4;

/// The text of an INFO request.
const QUERY_TEXT: &[u8] = b"Source Engine Query\0";
const MARK: &[u8] = b"\xff\xff\xff\xff";
/// The prefix twice.
const DOUBLED: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff";
const INFO_FORM: Form = Form::of(b"\xff\xff\xff\xff\x49");
const GOLDSRC_INFO_FORM: Form = Form::of(b"\xff\xff\xff\xff\x6d");
const SHORT_INFO_FORM: Form = Form::of(b"\xff\xff\xff\xff\x43");
const PLAYERS_FORM: Form = Form::of(b"\xff\xff\xff\xff\x44");
const RULES_FORM: Form = Form::of(b"\xff\xff\xff\xff\x45");

/// The forms of a request for a list. It has this beginning, and a challenge or a value that stands for none.
const fn asks(begins: &'static [u8]) -> [Form; 4] {
    let (any, whole) = (Form::of(begins), Form::of(begins).length(9, 9));
    [
        whole.and(5, MARK),
        whole.and(5, &[0; 4]),
        whole.level(Level::Medium),
        any.when(is_no_console).level(Level::Low),
    ]
}
/// A request that is one of GoldSrc's words.
const fn word(name: &'static str, step: u8, forms: &'static [Form]) -> Message {
    Message::request(name, step, forms).remembers(|_| WORD)
}
/// The form of such a word, followed by a zero, a line feed or nothing.
const fn word_form(word: &'static [u8], level: Level) -> Form {
    let (least, most) = (word.len().saturating_add(4), word.len().saturating_add(5));
    Form::of(word).after(&[MARK]).word(b"\0\n").length(least, most).level(level)
}
/// An answer that may follow another answer to the same request, if that was one of `follows`.
const fn answer(name: &'static str, step: u8, forms: &'static [Form], follows: &'static [u8]) -> Message {
    Message::response(name, step, forms).answering(Answers { follows, ..Answers::OWN_STEP })
}

messages! {
    INFO_REQUEST = Message::request("info_request", INFO_STEP, &[
        Form::of(b"\xff\xff\xff\xffTSource"),
        Form::of(b"TSource Engine Query").after(&[b"", DOUBLED]),
        Form::of(b"\xff\xff\xff\xffT").and(5, &[0; 15]).length(20, 20).level(Level::Medium),
        Form::of(b"\xff\xff\xff\xffT").when(is_no_console).level(Level::Low),
    ]).remembers(carries);
    PLAYERS_REQUEST = Message::request("players_request", PLAYERS_STEP, &asks(b"\xff\xff\xff\xff\x55"))
        .remembers(carries);
    RULES_REQUEST = Message::request("rules_request", RULES_STEP, &asks(b"\xff\xff\xff\xff\x56"))
        .remembers(carries);
    CHALLENGE_REQUEST = Message::request("challenge_request", CHALLENGE_STEP, &[
        Form::of(b"\xff\xff\xff\xff\x57").length(5, 9).level(Level::Low),
        Form::of(b"\xff\xff\xff\xff\x57").when(is_no_console).known(),
    ]);
    PING_REQUEST = Message::request("ping_request", PING_STEP, &[
        Form::of(b"\xff\xff\xff\xff\x69").length(5, 9).when(is_padded).level(Level::Low),
        Form::of(b"\xff\xff\xff\xff\x69").when(|p| is_no_word(p) && is_no_console(p)).known(),
    ]);
    GOLDSRC_DETAILS_REQUEST = word("goldsrc_details_request", INFO_STEP, &[word_form(b"details", Level::Medium)]);
    GOLDSRC_INFO_REQUEST = word("goldsrc_info_request", INFO_STEP, &[word_form(b"info", Level::Low)]);
    GOLDSRC_PLAYERS_REQUEST = word("goldsrc_players_request", PLAYERS_STEP, &[word_form(b"players", Level::Medium)]);
    GOLDSRC_RULES_REQUEST = word("goldsrc_rules_request", RULES_STEP, &[word_form(b"rules", Level::Medium)]);
    GOLDSRC_PING_REQUEST = word("goldsrc_ping_request", PING_STEP, &[word_form(b"ping", Level::Low)]);
    FRONTLINES_INFO_REQUEST = Message::request("frontlines_info_request", INFO_STEP, &[
        Form::of(frontlines::ASKS).length(8, 8),
        Form::of(frontlines::ASKS).known(),
        Form::of(b"\xff\xff\xff\xffFL").length(6, 7).when(|p| frontlines::ASKS.starts_with(p)).known(),
    ]).remembers(|_| WORD | FRONTLINES);
    CHALLENGE_RESPONSE = Message::response("challenge_response", CHALLENGE_STEP, &[
        Form::of(b"\xff\xff\xff\xff\x41").length(9, 9).level(Level::Low),
    ]).remembers(|_| WORD).answering(Answers {
        also: &[INFO_STEP, PLAYERS_STEP, RULES_STEP],
        equivalent: true,
        follows: &[CHALLENGE_RESPONSE, PRINT_RESPONSE],
        refuses: false,
    });
    INFO_RESPONSE = answer("info_response", INFO_STEP, &[
        INFO_FORM.when(|p| answers::info_level(p) == Some(Level::High)).level(Level::High),
        INFO_FORM.when(|p| answers::info_level(p) == Some(Level::Medium)).level(Level::Medium),
        INFO_FORM.when(|p| answers::info_level(p) == Some(Level::Low)).level(Level::Low),
        INFO_FORM.known(),
    ], INFO_MESSAGES);
    GOLDSRC_INFO_RESPONSE = answer("goldsrc_info_response", INFO_STEP, &[
        GOLDSRC_INFO_FORM.when(|p| answers::goldsrc_level(p) == Some(Level::High)).level(Level::High),
        GOLDSRC_INFO_FORM.when(|p| answers::goldsrc_level(p) == Some(Level::Medium)).level(Level::Medium),
        GOLDSRC_INFO_FORM.known(),
    ], INFO_MESSAGES);
    GOLDSRC_SHORT_INFO_RESPONSE = answer("goldsrc_short_info_response", INFO_STEP, &[
        SHORT_INFO_FORM.when(|p| answers::short_level(p) == Some(Level::High)).level(Level::High),
        SHORT_INFO_FORM.when(|p| answers::short_level(p).is_some()).due(),
    ], INFO_MESSAGES);
    PLAYERS_RESPONSE = answer("players_response", PLAYERS_STEP, &[
        PLAYERS_FORM.when(|p| answers::players_level(p) == Some(Level::High)).level(Level::High),
        PLAYERS_FORM.when(|p| answers::players_level(p) == Some(Level::Low)).level(Level::Low),
        PLAYERS_FORM.known(),
    ], &[PLAYERS_RESPONSE, GOLDSRC_INFO_RESPONSE, PRINT_RESPONSE]);
    RULES_RESPONSE = answer("rules_response", RULES_STEP, &[
        RULES_FORM.when(|p| answers::rules_level(p) == Some(Level::High)).level(Level::High),
        RULES_FORM.when(|p| answers::rules_level(p) == Some(Level::Low)).level(Level::Low),
        RULES_FORM.known(),
    ], &[RULES_RESPONSE, PRINT_RESPONSE]);
    PING_RESPONSE = answer("ping_response", PING_STEP, &[
        Form::of(b"\xff\xff\xff\xff\x6a").and(5, b"00000000000000").level(Level::Medium),
        Form::of(b"\xff\xff\xff\xff\x6a").when(is_padded).known(),
    ], &[PING_RESPONSE, PRINT_RESPONSE]);
    SPLIT_MESSAGE = Message::response("split", RULES_STEP, &[
        Form::of(b"\xfe\xff\xff\xff").when(is_first_part).level(Level::High),
    ]).keyed(part_id).in_parts(part).also(&[PLAYERS_STEP, INFO_STEP]);
    PRINT_RESPONSE = Message::response("print_response", INFO_STEP, &[]).paired(Level::Medium).answering(Answers {
        also: &[PLAYERS_STEP, RULES_STEP, CHALLENGE_STEP, PING_STEP],
        equivalent: true,
        follows: &[],
        refuses: true,
    });
    UNKNOWN = Message::named("unknown");
}

/// The messages that answer INFO. dproto answers with several of them.
const INFO_MESSAGES: &[u8] =
    &[INFO_RESPONSE, GOLDSRC_INFO_RESPONSE, GOLDSRC_SHORT_INFO_RESPONSE, PRINT_RESPONSE];

const ANSWERED: StepRules = StepRules {
    late: Some(&TXN_004),
    copy: Some(&TXN_005),
    contradicting: Some(&SPL_004),
    incomplete: Some(&SPL_002),
    larger: Some((10, &SEC_004)),
    ..StepRules::new(&TXN_003)
};
const fn step(name: &'static str, unanswered: &'static Rule) -> StepInfo {
    let rules = StepRules { unanswered: Some(unanswered), ..ANSWERED };
    StepInfo { carries: CARRIES, ..StepInfo::ordered(name, rules) }
}

static REQUEST_ENDS: Ends = Ends::new(&REQ_002, &REQ_003, &SURPLUS);
static CHALLENGE_ENDS: Ends = Ends::new(&CHL_001, &CHL_002, &SURPLUS);
static JOINING: Joining = Joining {
    layouts: &LAYOUTS,
    read: read_part,
    proves: is_marked,
    makes: &[INFO_RESPONSE, GOLDSRC_INFO_RESPONSE, PLAYERS_RESPONSE, RULES_RESPONSE],
    foreign: &SPL_005,
    damaged: &SPL_006,
};

/// Valve's server queries.
#[derive(Debug)]
pub struct A2s;

impl Protocol for A2s {
    type Memory = challenges::Memory;

    const INFO: Info = Info {
        probes: probing::ROWS,
        known_as: &[
            ("source", 0),
            ("goldsrc", 0),
            ("steam", 0),
            ("cs2", 0),
            ("csgo", 0),
            ("tf2", 0),
            ("gmod", 0),
            ("rust", 28017),
            ("frontlines", frontlines::PORT),
        ],
        offsets: &[1],
        ports: &[27015, 27016],
        messages: MESSAGES,
        joining: Some(&JOINING),
        steps: &[
            step("info", &TXN_002),
            step("players", &TXN_003),
            step("rules", &TXN_003),
            StepInfo { excludes: true, ..step("challenge", &TXN_003) },
            step("ping", &TXN_003),
        ],
        window_ms: 3000,
        fields: &[HEADER_FIELDS, answers::FIELDS, frontlines::FIELDS, browser::FIELDS, SPLIT_FIELDS],
        rules: &[RULES, frontlines::RULES, browser::RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&INF_002], &[&RSP_001]),
            (Relation::Same, &[&CHL_003], &[&CHL_004]),
            (Relation::Request, &[&REQ_004], &[&TXN_002, &TXN_003]),
            (Relation::Instead, &[&HDR_001, &SPL_001], &[&TXN_002, &TXN_003]),
            (Relation::Instead, &[&SPL_004], &[&SPL_002]),
        ],
        challenge: Some(CHALLENGE_RESPONSE),
        challenges_again: Some(&CHL_004),
        layouts: layouts::LAYOUTS,
        suspicious: &[&CHL_005, &INF_007, &PLY_006, &PLY_007],
        unsuspicious: &[&PLY_004],
        replies: answering::REPLIES,
        samples: &[
            Example::of(&[IQ, CH, IQC, INFO]),
            Example::of(&[
                IQ,
                S(
                    "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 01 f000000000000000",
                ),
            ]),
            Example::of(&[PQ0, CH, PQ, PLAY]),
            Example::of(&[C("ffffffff 56 00000000"), CH, RQ, RULE]),
            Example::of(&[C("ffffffff 69"), S("ffffffff 6a '00000000000000' 00")]),
            Example::of(&[C("ffffffff 'info' 00"), SHORT_INFO]),
            frontlines::SAMPLE,
        ],
        ..Info::of("a2s", "Valve A2S", SPEC, &REQUEST_ENDS)
    };

    #[inline]
    fn probe(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(p, wire_len).map(|probe| with_cut_challenge(probe, p, wire_len))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let from_server = known.direction == Direction::S2c;
        if let Some(probe) = recognise_known::<Self>(p, wire_len, known).filter(|g| g.role != Role::Stray) {
            return Some(with_cut_challenge(probe, p, wire_len));
        }
        if known.level < Level::Medium {
            return None;
        }
        if let Some(probe) = misprefixed(p, wire_len, known) {
            return Some(probe);
        }
        let message_probe = |at: u8| Some(MESSAGES.get(usize::from(at))?.probe(at, p, Level::Medium));
        let stray = |at: u8| Self::INFO.stray(at, p, known);
        // Other datagrams that strangers send to a server need not be messages.
        let of_conversation = known.conversation || known.pinned;
        // A server sends in-game traffic to its players in such parts, too: only the first part of an answer differs. The
        // capture may have cut off the bytes that prove its layout.
        if from_server
            && of_conversation
            && let Some(split) =
                [p.len(), wire_len].into_iter().find_map(|length| read_part(p, length, Layout::Unknown))
        {
            let probe = message_probe(SPLIT_MESSAGE)?;
            let part = Part { number: split.number, total: Some(split.total), makes: None, share: None };
            let role = if split.total == 1 { Role::Response } else { Role::ResponsePart };
            return Some(Probe { part: probe.part.or(Some(part)), role, ..probe });
        }
        match p {
            // Without an open request, a whole challenge belongs to the engine's handshake.
            [0xff, 0xff, 0xff, 0xff, 0x41, ..] if from_server && (known.open || wire_len < 9) => {
                message_probe(CHALLENGE_RESPONSE)
            }
            // These four bytes alone are Sky Co-op's query.
            [0xfe, 0xff, 0xff, 0xff, _, ..] if from_server && known.open && is_unreadable(p) => {
                stray(SPLIT_MESSAGE)
            }
            // A print answers a query, or else what was typed at the console, which is not shown.
            [0xff, 0xff, 0xff, 0xff, b'l', ..]
                if from_server && of_conversation && known.open && !known.commanded =>
            {
                message_probe(PRINT_RESPONSE)
            }
            [0xff, 0xff, 0xff, 0xff, word @ ..] if of_conversation && is_no_console(p) => {
                let commands = !from_server && word.starts_with(b"rcon");
                let request_state = if commands { Probe::COMMAND } else { 0 };
                stray(UNKNOWN).map(|probe| Probe { request_state, ..probe })
            }
            _ if MARK.starts_with(p) && known.conversation => stray(UNKNOWN),
            _ => None,
        }
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message >= UNKNOWN {
            return unknown(c, cx);
        }
        c.check(&HDR_001, || true);
        if cx.message == SPLIT_MESSAGE {
            return part_header(c, cx);
        }
        let (prefix, first) = (prefix_len(c.rest()), c.rest().len().min(1));
        if prefix > 0 {
            c.field(&PREFIX, bytes(prefix))?;
        }
        c.compare_at(
            &HDR_002,
            Span { start: 0, end: prefix.max(first) as u16 },
            || prefix == MARK.len(),
            || Compared::new(ComparedValue::Bytes(prefix as u64), ComparedValue::Bytes(MARK.len() as u64)),
        );
        if WORDS.contains(&cx.message) {
            c.text(&QUERY, until(b"\0\n"))?;
            c.check(&REQ_004, || false);
            c.skip_all(b"\0\n");
            return trailing(c);
        }
        if cx.message == FRONTLINES_INFO_REQUEST {
            return frontlines::request(c);
        }
        let wire_len = c.wire_len();
        let whole = cx.layout.is_some() || wire_len <= 1400;
        let asked = cx.asked.filter(|state| state & Context::UNPAIRED == 0).unwrap_or_default();
        c.field(&MESSAGE_TYPE, byte)?;
        if cx.message <= PING_REQUEST {
            c.check(&REQ_004, || cx.message < CHALLENGE_REQUEST);
        }
        match cx.message {
            INFO_REQUEST => {
                let mut at = c.to_end();
                at.end = at.end.min(at.start.saturating_add(QUERY_TEXT.len() as u16));
                let text = c.field(&QUERY, until(b"\0"))?;
                let (ended, cut) = (c.skip(b"\0"), c.is_cut());
                let right = (ended || cut) && QUERY_TEXT.strip_suffix(b"\0") == Some(text.0);
                c.compare_at(
                    &REQ_001,
                    at,
                    || right || cut,
                    || Compared::new(text, "'Source Engine Query' and a zero byte"),
                );
                if !right {
                    return c.ignored(&SURPLUS);
                }
                if c.rest().len() >= 4 || cut {
                    c.field(&CHALLENGE, le_u32)?;
                }
                trailing(c)
            }
            PLAYERS_REQUEST | RULES_REQUEST => {
                c.field(&CHALLENGE, le_u32)?;
                trailing(c)
            }
            CHALLENGE_REQUEST | PING_REQUEST => {
                let padding = c.rest().len().min(4);
                if padding > 0 {
                    c.field(&PADDING, bytes(padding))?;
                }
                trailing(c)
            }
            PRINT_RESPONSE => {
                let shows_password = Str(c.rest()).mentions_password();
                c.mask_unless(cx.secrets || !shows_password);
                c.secret_text(&PRINT_TEXT, until(b"\0"))?;
                c.skip(b"\0");
                c.ignored(&SURPLUS)
            }
            CHALLENGE_RESPONSE => {
                c.ends(&CHALLENGE_ENDS);
                let value = c.field(&CHALLENGE, le_u32)?;
                c.compare(
                    &CHL_003,
                    || !NONE_YET.contains(&value),
                    || {
                        Compared::new(
                            ComparedValue::Hex(value.into(), 8),
                            "a challenge other than 0 and 0xffffffff",
                        )
                    },
                );
                Ok(())
            }
            PING_RESPONSE => {
                c.text(&PING_PAYLOAD, until(b"\0"))?;
                c.skip(b"\0");
                c.ignored(&SURPLUS)
            }
            _ => {
                c.ends(&INFO_ENDS);
                c.compare_whole(
                    &SPL_008,
                    || whole,
                    || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::AtMost(1400)),
                );
                match cx.message {
                    INFO_RESPONSE => {
                        let frontlines = asked & FRONTLINES != 0;
                        frontlines::mark(c, frontlines);
                        if frontlines { frontlines::info(c) } else { info(c) }
                    }
                    GOLDSRC_INFO_RESPONSE => goldsrc_info(c),
                    GOLDSRC_SHORT_INFO_RESPONSE => goldsrc_short_info(c),
                    PLAYERS_RESPONSE => players(c, asked & FRONTLINES != 0),
                    _ => {
                        let frontlines = frontlines::lists(asked, c);
                        frontlines::mark(c, frontlines);
                        rule_list(c, frontlines, cx.secrets)
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn recall(memory: &Self::Memory, _d: &Datagram<'_>, ends: [Endpoint; 2], probe: &mut Probe) {
        memory.recall(ends, probe);
    }

    fn observe(memory: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        memory.observe(seen, raised);
    }

    /// INFO, then INFO with the challenge if one was returned, and with that challenge PLAYER and RULES. A server that answers
    /// INFO at once returns a challenge for each of these, or lists at once, too.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        if frontlines::is_asked(ask) {
            return frontlines::ask(ask);
        }
        const INFO: &[u8] = b"\xff\xff\xff\xffTSource Engine Query\0";
        const NO_CHALLENGE: &[u8] = MARK;
        let challenge = |answer| <[u8]>::strip_prefix(answer, b"\xff\xff\xff\xff\x41")?.get(..4);
        let list = |kind, challenge| Some([MARK, kind, challenge].concat());
        match (ask.answered, challenge(ask.first), challenge(ask.latest)) {
            (0, ..) => Some(INFO.to_vec()),
            (1, Some(challenge), _) => Some([INFO, challenge].concat()),
            _ if !ask.all => None,
            (1, None, _) => list(b"\x55", NO_CHALLENGE),
            (2, Some(challenge), _) | (2, None, Some(challenge)) => list(b"\x55", challenge),
            (3, Some(challenge), _) | (3 | 4, None, Some(challenge)) => list(b"\x56", challenge),
            (2 | 3, None, None) if !ask.latest.starts_with(b"\xff\xff\xff\xff\x45") => {
                list(b"\x56", NO_CHALLENGE)
            }
            _ => None,
        }
    }
}

/// Number of bytes of 255 in front of the type: four, unless the prefix is wrong.
fn prefix_len(p: &[u8]) -> usize {
    p.iter().take(DOUBLED.len()).take_while(|byte| **byte == 0xff).count()
}
/// Recognises a message behind a prefix that is too long, too short or missing. A shorter one is no evidence, so the rest must
/// be certain.
#[cold]
fn misprefixed(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
    let prefix = prefix_len(p);
    if prefix == MARK.len() || known.direction == Direction::S2c && !known.open {
        return None;
    }
    let right = [MARK, p.get(prefix..)?].concat();
    let length = wire_len.saturating_sub(prefix).saturating_add(MARK.len());
    let probe = recognise::<A2s>(&right, length)?;
    let message = MESSAGES.get(usize::from(probe.message))?;
    let least = if prefix > MARK.len() { Level::Low } else { Level::High };
    let fits = message.direction == Some(known.direction) && probe.part.is_none() && probe.level >= least;
    fits.then(|| Probe { level: probe.level.min(known.level), ..probe })
}

/// The offset of the challenge in a request.
fn challenge_at(p: &[u8]) -> Option<usize> {
    let at = prefix_len(p);
    let text = || p.iter().skip(at.saturating_add(1));
    match p.get(at)? {
        // Behind a damaged text, the bytes at this offset are no challenge.
        b'T' => {
            text().zip(QUERY_TEXT).all(|(byte, expected)| byte == expected).then_some(at.saturating_add(21))
        }
        b'U' | b'V' => Some(at.saturating_add(1)),
        _ => None,
    }
}
/// The challenge in a request; `None` if it carries none.
fn challenge_of(p: &[u8]) -> Option<u32> {
    read_at(p, challenge_at(p)?, le_u32).filter(|value| !NONE_YET.contains(value))
}
fn carries(p: &[u8]) -> u32 {
    if challenge_of(p).is_some() { CARRIES } else { 0 }
}
/// Whether the capture may have cut off the challenge of a request.
fn hides_challenge(p: &[u8], wire_len: usize) -> bool {
    let end = challenge_at(p).map(|at| at.saturating_add(4));
    end.is_some_and(|end| (p.len().saturating_add(1)..=wire_len).contains(&end))
}
/// The same probe, but a request whose challenge may be cut off counts as carrying one, so that it breaks no rule.
fn with_cut_challenge(probe: Probe, p: &[u8], wire_len: usize) -> Probe {
    let cut_off = probe.message <= RULES_REQUEST && hides_challenge(p, wire_len);
    Probe { request_state: if cut_off { CARRIES } else { probe.request_state }, ..probe }
}
/// Whether this is no request of Sky Co-op's remote console, which has the length of a password in place of the type, followed
/// by the password.
fn is_no_console(p: &[u8]) -> bool {
    !matches!(*p, [_, _, _, _, _, 0, 0, 0, b' '..=b'~' | 0x80..=0xff, ..])
}
fn is_padded(p: &[u8]) -> bool {
    p.iter().skip(5).all(|byte| [0, 0xff, b'0'].contains(byte))
}
fn is_no_word(p: &[u8]) -> bool {
    !p.get(5).is_some_and(u8::is_ascii_alphabetic)
}

/// Reads the bytes after a request.
fn trailing<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let rest = c.rest();
    if rest.is_empty() || c.is_cut() {
        return c.ignored(&SURPLUS);
    }
    let padding = rest.iter().all(|byte| *byte == 0);
    c.ignored(&SURPLUS)?;
    c.compare(&REQ_003, || padding, || Compared::new(ComparedValue::Bytes(rest.len() as u64), "none"));
    if padding {
        c.remark(&REQ_003);
    }
    Ok(())
}

/// Decodes a message that is no query: a message of the game engine, whose content is not shown, or an unknown one.
fn unknown<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let begin = c.rest().get(..4).unwrap_or(c.rest());
    let kind = c.rest().strip_prefix(MARK).and_then(<[u8]>::first).copied();
    // In the wrong direction, a type of these queries counts as unknown, unless it begins a word of the engine.
    let word = !is_no_word(c.rest()) || c.is_cut();
    let engine = kind.is_some_and(|kind| match kind {
        b'i' | b'j' | b'm' => word,
        _ => kind.is_ascii_lowercase() || b"19BCFGHLMORSX".contains(&kind),
    });
    let ours = match cx.direction {
        Direction::C2s => b"TUVWi".contains(&kind.unwrap_or(0)),
        Direction::S2c => b"AIDEmj".contains(&kind.unwrap_or(0)),
    };
    c.mask_unless(cx.secrets || !engine && !ours);
    c.ignored(&BODY)?;
    c.about(None);
    let hidden = kind.is_none() && c.is_cut();
    let found = kind.map_or(ComparedValue::raw(begin), ComparedValue::byte);
    let known = engine || ours || hidden;
    c.compare_whole(&HDR_001, || known, || Compared::new(found, "a type of these queries"));
    Ok(())
}
