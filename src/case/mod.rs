//! One server on one screen: who asks it, what it answers, and what most likely keeps it from being listed.
//!
//! ```text
//! pipeline ──> Gathered (a report) ──> Case::of ──> reason.rs   the sentence at the top
//!               one Port for each       │
//!               endpoint and protocol   ├──> record.rs   the record
//!                                       └──> screen.rs   the screen
//! ```

mod gather;
mod port;
mod reason;
mod record;
mod screen;

pub use gather::Gathered;
pub use port::{Broken, Port};
pub use reason::Reason;
pub use record::CaseRecord;
pub use screen::write;

use crate::check::Explained;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::listings::Listing;
use crate::report::{Candidate, Totals};
use reason::Verdict;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The server that the user asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address, and the port if it is about one.
    Address(IpAddr, Option<u16>),
    /// The name that a server gives itself.
    Name(String),
    /// Every server, for whoever compares them.
    Any,
}

impl Target {
    /// Reads an address with or without port, an IPv6 address in brackets or not; anything else is a name.
    pub fn parse(text: &str) -> Target {
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = bare.parse() {
            return Target::Address(ip, None);
        }
        match text.parse::<SocketAddr>() {
            Ok(address) => Target::Address(address.ip(), Some(address.port())),
            Err(_) => Target::Name(text.to_owned()),
        }
    }
}

/// What the captures say about the server.
#[derive(Debug)]
pub struct Case<'a> {
    /// The address, or what the user called the server where there is none.
    pub address: String,
    /// The port that it is about.
    focus: Option<u16>,
    /// The ports of the address that were asked or answered, the busiest first.
    ports: Vec<&'a Port>,
    /// Endpoints of the address that got possible requests, and answered none.
    candidates: Vec<&'a Candidate>,
    /// What is most likely wrong.
    verdict: Verdict,
    /// Packets that the captures dropped.
    dropped: u64,
    /// Other servers that have the name, too.
    namesakes: Vec<Endpoint>,
    /// Ports for which there was no room.
    untracked: u64,
    /// What explains the broken answers of the ports.
    explained: Vec<&'a Explained>,
    /// Who has listed it, and whom it has told of itself.
    listed: Vec<Listing>,
    /// The masters of the address, each with the number of servers that it lists.
    lists: Vec<(Endpoint, u64)>,
    /// The captures hold a list, or a heartbeat.
    has_listings: bool,
    /// Names of servers, where none has the one that was asked for.
    other_names: Vec<String>,
    /// How much passed the filter, if there is one.
    passed: Option<String>,
}

impl<'a> Case<'a> {
    /// The case of the server, once everything has been read. `files` names the captures in commands.
    pub fn of(gathered: &'a Gathered, totals: &'a Totals, files: &str) -> Case<'a> {
        let (host, focus, namesakes) = gathered.found();
        let is_of_host = |end: Endpoint| host.is_some_and(|host| end.host() == host);
        let mut ports: Vec<_> =
            gathered.ports().filter(|p| is_of_host(p.endpoint) || p.inner.is_some_and(is_of_host)).collect();
        ports.sort_by_key(|p| {
            (focus != Some(p.endpoint.port()), std::cmp::Reverse(p.weight()), p.endpoint, p.id)
        });
        let candidates = totals.candidates.iter().filter(|c| is_of_host(c.server)).collect();
        let dropped = totals.dropped.unwrap_or(0);
        let address = match (&gathered.target, host) {
            (Target::Name(name), None) => name.clone(),
            (Target::Any, None) => String::new(),
            (Target::Address(ip, _), None) => ip.to_string(),
            (_, Some(host)) => host.ip().to_string(),
        };
        let (mut listed, mut lists) = (gathered.listings.sorted(), BTreeMap::new());
        for listing in listed.iter().filter(|listing| listing.lists > 0 && is_of_host(listing.master)) {
            *lists.entry(listing.master).or_default() += 1;
        }
        listed.retain(|listing| is_of_host(listing.server));
        let lists = lists.into_iter().collect();
        let mut case = Case {
            address,
            focus,
            ports,
            candidates,
            verdict: Verdict::absent(files),
            dropped,
            namesakes,
            untracked: gathered.untracked,
            explained: gathered.agreements.all().into_iter().map(|explained| &**explained).collect(),
            listed,
            lists,
            has_listings: !gathered.listings.is_empty(),
            other_names: if host.is_none() { gathered.other_names() } else { vec![] },
            passed: totals.unfiltered.as_ref().map(|_| totals.traffic()),
        };
        case.verdict = Verdict::of(&case, files);
        if case.passed.is_some() {
            case.verdict.text.insert_str(0, "Of what passes the filter: ");
        }
        case
    }

    /// Whether nothing of the server is in the captures.
    pub fn is_absent(&self) -> bool {
        self.verdict.reason == Reason::Absent
    }

    /// What explains the broken answers of a port.
    fn explained(&self, p: &Port) -> Option<&'a Explained> {
        let is_of = |e: &&&Explained| e.by_server && e.server == p.endpoint && e.protocol == p.id;
        self.explained.iter().find(is_of).copied()
    }

    /// The ports that the user asks about: one, or all.
    fn focused(&self) -> impl Iterator<Item = &'a Port> {
        let focus = self.focus;
        let is_focused = move |p: &&Port| {
            focus.is_none_or(|port| p.endpoint.port() == port || p.inner.is_some_and(|i| i.port() == port))
        };
        self.ports.iter().copied().filter(is_focused)
    }

    /// The ports of the address that were asked in vain, each with what it was asked for and how often.
    fn in_vain(&self) -> Vec<(Endpoint, Id, u64)> {
        let silent = self.ports.iter().filter(|p| p.counts.requests > 0 && p.answers() == 0);
        let mut all: Vec<_> = silent.map(|p| (p.endpoint, p.id, p.counts.requests)).collect();
        all.extend(self.candidates.iter().map(|c| (c.server, c.protocol, c.datagrams)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_ports_and_brackets_or_not() {
        let address = |ip: &str, port| Target::Address(ip.parse().unwrap(), port);
        assert_eq!(Target::parse("192.0.2.1"), address("192.0.2.1", None));
        assert_eq!(Target::parse("192.0.2.1:9000"), address("192.0.2.1", Some(9000)));
        assert_eq!(Target::parse("2001:db8::30"), address("2001:db8::30", None));
        assert_eq!(Target::parse("[2001:db8::30]"), address("2001:db8::30", None));
        assert_eq!(Target::parse("[2001:db8::30]:9010"), address("2001:db8::30", Some(9010)));
        assert_eq!(Target::parse("Café Nord"), Target::Name("Café Nord".to_owned()));
        assert_eq!(Target::parse("192.0.2.1:x"), Target::Name("192.0.2.1:x".to_owned()));
    }
}
