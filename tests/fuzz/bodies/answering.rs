//! Requests to a server of `answer`.
//!
//! ```text
//! protocol u8 │ fault u8: 0 none │ datagrams: what u8 │ length u8 │ payload
//! what    03 its sender   04 an example of the protocol instead of the payload   08 what a client asks next
//! length  above 250: 1200 bytes
//! ```

use super::input::Input;
use qdissect::answer::{Rounds, Server, Settings, faults, has_challenge};
use qdissect::contract::Direction;
use qdissect::protocols::{Ask, Id};
use qdissect::rule::hex;
use qdissect::schema::example::Act;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

/// Maximum number of datagrams of an input.
const MOST: usize = 64;
/// The senders: the first two are as clients are, the last two send only what the input says.
const HONEST: usize = 2;
const SENDERS: [[u8; 4]; 4] = [[127, 0, 0, 1], [192, 0, 2, 1], [192, 0, 2, 2], [192, 0, 2, 3]];

/// What a protocol offers: the faults of its server, and the requests of its examples.
struct Offer {
    id: Id,
    faults: Vec<Rounds>,
    requests: Vec<Vec<u8>>,
}

static OFFERS: LazyLock<Vec<Offer>> = LazyLock::new(|| {
    let answered = Id::ALL.iter().copied().filter(|id| !id.info().replies.is_empty());
    let offer = |id| {
        let faults = faults(id).into_iter().filter_map(|rule| Rounds::breaking(id, rule)).collect();
        Offer { id, faults, requests: requests(id) }
    };
    answered.map(offer).collect()
});

/// Requests that clients of the protocol may send: those of its examples.
pub fn requests(id: Id) -> Vec<Vec<u8>> {
    let examples = id.info().samples.iter().chain(id.rules().flat_map(|rule| rule.examples));
    let sent = |act| match act {
        Act::Send { direction: Direction::C2s, payload, .. } => Some(hex(payload)),
        _ => None,
    };
    examples.flat_map(|example| example.steps).map(Act::of).filter_map(sent).collect()
}

/// What a sender has sent and received.
#[derive(Clone, Default)]
struct Account {
    sent: usize,
    received: usize,
    answered: usize,
    first: Vec<u8>,
    latest: Vec<u8>,
}

/// Checks that who cannot know a challenge gets no more bytes than it sent, and nothing where there is no challenge.
pub fn answering(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let offer = &OFFERS[usize::from(input.byte()) % OFFERS.len()];
    let settings = Settings { players: 40, max_players: 64, port: 27_100, ..Settings::default() };
    let mut server = Server::new(offer.id, settings, |ip| ip.is_loopback());
    let fault = usize::from(input.byte()).checked_sub(1).and_then(|at| offer.faults.get(at));
    if let Some(rounds) = fault {
        server = server.playing(rounds.clone());
    }
    let mut accounts: [Account; 4] = Default::default();
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        let (what, length) = (input.byte(), input.byte());
        let at = usize::from(what & 3);
        let payload = match what & 0xc {
            4 => offer.requests.get(usize::from(length)).cloned().unwrap_or_default(),
            8 if at < HONEST => next(offer.id, &accounts[at]),
            _ => input.take(if length > 250 { 1200 } else { usize::from(length) }).to_vec(),
        };
        let from = SocketAddr::new(IpAddr::from(SENDERS[at]), 40_000 + u16::from(what >> 4));
        let replies = server.answer(from, &payload);
        let account = &mut accounts[at];
        account.sent += payload.len();
        account.received += replies.iter().map(|reply| reply.payload.len()).sum::<usize>();
        if let Some(reply) = replies.into_iter().next_back() {
            account.latest = reply.payload;
            if account.answered == 0 {
                account.first.clone_from(&account.latest);
            }
            account.answered += 1;
        }
        if at >= HONEST {
            assert!(account.received <= account.sent, "{} of {} bytes", account.received, account.sent);
        }
        assert!(at == 0 || account.received == 0 || has_challenge(offer.id), "{}", offer.id.info().name);
    }
}

/// What a client asks next.
fn next(id: Id, account: &Account) -> Vec<u8> {
    let Account { answered, ref first, ref latest, .. } = *account;
    let ask = Ask {
        answered: answered % 8,
        silences: 0,
        all: true,
        random: 0x0102_0304,
        server: None,
        first,
        latest,
    };
    id.ask(&ask).unwrap_or_default()
}

/// The inputs of a protocol: a client that asks everything, each of its examples, by each fault one conversation.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut all = vec![];
    for (number, offer) in (0..).zip(&*OFFERS) {
        for fault in 0..=offer.faults.len().min(254) as u8 {
            all.push(vec![number, fault, 8, 0, 8, 0, 9, 0, 9, 0, 9, 0, 4, fault, 6, fault]);
        }
    }
    all
}
