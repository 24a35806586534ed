//! Schemas of captures, servers, and the totals of a run.

use super::object::{Object, list, list_of, or_null, term, text, words};
use crate::capture::{MAX_TOLD, compressions};
use crate::looks_like;
use crate::net::DropReason;
use crate::report::{MAX_LISTED, MAX_UNREAD};
use serde_json::{Value, json};

/// `capture`
pub fn capture() -> Value {
    let snaplen = or_null(term("count"));
    let interface = Object::default()
        .key("name", or_null(text()))
        .key("link", term("link"))
        .key("snaplen", snaplen.clone())
        .maybe("description", text())
        .maybe("comment", text())
        .end("An interface that it was made on.");
    Object::record("capture")
        .key("file", term("file"))
        .key("format", words(["pcap", "pcapng", "hex"]))
        .key("compression", or_null(words(compressions())))
        .key("links", list(term("link")))
        .key("snaplen", snaplen)
        .keys(&["application", "comment", "os", "hardware"], &or_null(text()))
        .key("interfaces", list_of(interface, 0, MAX_TOLD))
        .end("A capture: one for each file.")
}

/// `server`
pub fn server() -> Value {
    let (seconds, counts) = (term("seconds"), term("finding_counts"));
    let times = Object::default()
        .key("min", seconds.clone())
        .keys(&["median", "p99"], &or_null(seconds.clone()))
        .key("max", seconds)
        .end("");
    let texts = ["server_name", "game", "map", "version"];
    let object = Object::record("server")
        .key("server", term("endpoint"))
        .key("protocol", term("protocol"))
        .keys(&["server_name", "game", "map"], &or_null(text()))
        .key("version", json!({ "anyOf": [text(), term("count"), { "type": "null" }] }))
        .keys(&["players", "max_players"], &or_null(term("uint")))
        .key("state", or_null(text()))
        .keys(&["requests", "answered", "late", "unanswered", "undecided", "refused"], &term("count"))
        .key("response_time", or_null(times))
        .key("finding_counts", counts);
    texts
        .iter()
        .fold(object, |object, key| object.maybe(format!("{key}_hex"), term("hex")))
        .end("A server, with what it said of itself last: what summary writes.")
}

/// `unclaimed`
pub fn unclaimed() -> Value {
    Object::record("unclaimed")
        .key("endpoint", term("endpoint"))
        .keys(&["datagrams", "bytes"], &term("count"))
        .key("first_bytes", term("hex"))
        .key("looks_like", or_null(words(looks_like::names())))
        .end("An endpoint and what it got and sent that no protocol claims: what summary writes.")
}

/// `summary`
pub fn summary() -> Value {
    let count = term("count");
    let turned = DropReason::ALL.iter().fold(Object::default(), |o, why| o.maybe(why.name(), term("number")));
    let fragments =
        ["seen", "datagrams", "incomplete", "evicted", "copies", "disputed", "damaged", "crowded"];
    let candidate = Object::default()
        .key("server", term("endpoint"))
        .key("protocol", term("protocol"))
        .keys(&["datagrams", "refused", "undecided"], &count)
        .end("An endpoint that got what could be requests, and answered none.");
    let of = Object::default()
        .keys(&["packets", "udp", "recognised", "unclaimed", "exchanges", "answered", "late"], &count)
        .keys(&["unanswered", "undecided", "refused", "retransmissions"], &count)
        .key("finding_counts", term("finding_counts"));
    let unread = Object::default()
        .key("file", term("file"))
        .key("error", text())
        .end("An input that could not be read, or not to its end.");
    Object::record("summary")
        .key("complete", json!({ "type": "boolean" }))
        .keys(&["files", "packets"], &count)
        .key("dropped", or_null(count.clone()))
        .keys(&["udp", "recognised", "unclaimed"], &count)
        .key("not_datagrams", turned.end("Frames without a UDP datagram, by reason."))
        .key("links", list(term("link")))
        .keys(&["first_time", "last_time"], &or_null(term("time")))
        .keys(
            &["exchanges", "answered", "late", "unanswered", "undecided", "refused", "retransmissions"],
            &count,
        )
        .key("finding_counts", term("finding_counts"))
        .keys(
            &[
                "evicted",
                "waiting_overflow",
                "one_sided_servers",
                "duplicate_frames",
                "servers_refused",
                "memory_forgotten",
            ],
            &count,
        )
        .maybe("fragments", Object::default().keys(&fragments, &count).end("IP fragments."))
        .maybe("candidates", list_of(candidate, 1, MAX_LISTED))
        .maybe("more_candidates", term("number"))
        .maybe("of", of.end("The same of everything, where the other numbers are of what passed a filter."))
        .maybe("unread", list_of(unread, 1, MAX_UNREAD))
        .maybe("tunnels_unnamed", term("number"))
        .maybe("more_findings", term("number"))
        .end("What a run adds up to; the last record.")
}
