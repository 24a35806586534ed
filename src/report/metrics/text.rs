//! The text of metrics: the families, and the syntax of samples.

use super::exposition::{Exposition, Numbers, OTHER};
use crate::exchange::Outcome;
use crate::text::escape::escaped;
use std::fmt::{Display, Write};

/// Most characters of the value of a label.
pub const MAX_LABEL: usize = 128;

/// The form of the text. The forms differ in the lines about counters: OpenMetrics names them without `_total` there, and the older
/// text of Prometheus with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// What readers of both forms accept: counters without a line that says what they are.
    Both,
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text of Prometheus, version 0.0.4.
    Prometheus,
}

/// What the samples of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A count that only grows.
    Counter,
    /// A value of the moment.
    Gauge,
    /// Counts by upper bound, and a sum.
    Histogram,
}

/// A family of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name of its samples, for a histogram without the ending.
    pub name: &'static str,
    /// What its samples are.
    pub kind: Kind,
    /// The labels that its samples may have, separated by blanks.
    pub labels: &'static str,
    /// What it says, as one sentence.
    pub help: &'static str,
}

const REQUESTS: Family = Family {
    name: "qdissect_requests_total",
    kind: Kind::Counter,
    labels: "server protocol outcome",
    help: "Requests to a server, by how they ended.",
};
const SECONDS: Family = Family {
    name: "qdissect_response_seconds",
    kind: Kind::Histogram,
    labels: "server protocol le",
    help: "Time from a request to its answer, in seconds.",
};
const FINDINGS: Family = Family {
    name: "qdissect_findings_total",
    kind: Kind::Counter,
    labels: "server protocol rule severity",
    help: "Findings in conversations with a server, by rule and severity.",
};
const PLAYERS: Family = Family {
    name: "qdissect_players",
    kind: Kind::Gauge,
    labels: "server protocol",
    help: "Players on a server, as it stated last.",
};
const PLACES: Family = Family {
    name: "qdissect_max_players",
    kind: Kind::Gauge,
    labels: "server protocol",
    help: "Most players that a server takes, as it stated last.",
};
const INFO: Family = Family {
    name: "qdissect_server_info",
    kind: Kind::Gauge,
    labels: "server protocol name game map version state",
    help: "What a server stated about itself last, as labels; the value is 1.",
};
const UNCLAIMED: Family = Family {
    name: "qdissect_unclaimed_datagrams_total",
    kind: Kind::Counter,
    labels: "",
    help: "UDP datagrams that belong to no known protocol.",
};
const OTHERS: Family = Family {
    name: "qdissect_other_servers",
    kind: Kind::Gauge,
    labels: "",
    help: "Servers without series of their own; the server \"other\" stands for them.",
};
const COMPLETE: Family = Family {
    name: "qdissect_complete",
    kind: Kind::Gauge,
    labels: "",
    help: "Whether every input was read to its end: 1, else 0.",
};

/// All families, in the order in which they are written.
pub const FAMILIES: [&Family; 9] =
    [&REQUESTS, &SECONDS, &FINDINGS, &PLAYERS, &PLACES, &INFO, &UNCLAIMED, &OTHERS, &COMPLETE];

/// The labels that all samples of a server have.
struct Labelled<'a> {
    server: String,
    protocol: &'static str,
    numbers: &'a Numbers,
}

impl Exposition {
    /// The text, which ends with `# EOF`.
    pub fn text(&self, syntax: Syntax) -> String {
        let mut out = Text { text: String::new(), syntax };
        let own = self.servers.iter().map(|own| (own.endpoint.to_string(), own.id, &own.numbers));
        let rest = self.rest.iter().map(|(id, numbers)| (OTHER.to_owned(), *id, numbers));
        let all: Vec<_> = own
            .chain(rest)
            .map(|(server, id, numbers)| Labelled { server, protocol: id.info().name, numbers })
            .collect();
        out.requests(&all);
        out.response_times(&all);
        out.findings(self, &all);
        out.players(&PLAYERS, &all, |(players, _)| players);
        out.players(&PLACES, &all, |(_, most)| most);
        out.facts(self, &all);
        out.single(&UNCLAIMED, self.unclaimed);
        out.single(&OTHERS, self.others);
        self.complete.iter().for_each(|complete| out.single(&COMPLETE, (*complete).into()));
        out.text.push_str("# EOF\n");
        out.text
    }
}

/// Text that is being written.
struct Text {
    text: String,
    syntax: Syntax,
}

impl Text {
    fn requests(&mut self, all: &[Labelled<'_>]) {
        self.family(&REQUESTS);
        for Labelled { server, protocol, numbers } in all {
            for (outcome, count) in Outcome::ALL.iter().zip(numbers.outcomes) {
                let labels = [("server", &**server), ("protocol", protocol), ("outcome", outcome.name())];
                self.sample(REQUESTS.name, "", &labels, count);
            }
        }
    }

    fn response_times(&mut self, all: &[Labelled<'_>]) {
        self.family(&SECONDS);
        for Labelled { server, protocol, numbers } in all {
            let times = &numbers.times;
            let labels = [("server", &**server), ("protocol", *protocol)];
            for (bound, count) in times.up_to() {
                let [server, protocol] = labels;
                self.sample(SECONDS.name, "_bucket", &[server, protocol, ("le", bound)], count);
            }
            self.sample(SECONDS.name, "_sum", &labels, times.seconds());
            self.sample(SECONDS.name, "_count", &labels, times.total());
        }
    }

    fn findings(&mut self, exposition: &Exposition, all: &[Labelled<'_>]) {
        self.family(&FINDINGS);
        let (own, rest) = exposition.shared_out();
        let own = own.iter().filter_map(|((at, rule, severity), count)| {
            let Labelled { server, protocol, .. } = all.get(*at)?;
            Some((&**server, *protocol, *rule, *severity, *count))
        });
        let rest = rest
            .iter()
            .map(|((protocol, rule, severity), count)| (OTHER, *protocol, *rule, *severity, *count));
        for (server, protocol, rule, severity, count) in own.chain(rest) {
            let labels =
                [("server", server), ("protocol", protocol), ("rule", rule), ("severity", severity.name())];
            self.sample(FINDINGS.name, "", &labels, count);
        }
    }

    /// One of the two numbers about players.
    fn players(&mut self, family: &Family, all: &[Labelled<'_>], value: impl Fn((u64, u64)) -> u64) {
        self.family(family);
        for Labelled { server, protocol, numbers } in all {
            let labels = [("server", &**server), ("protocol", *protocol)];
            numbers.players.iter().for_each(|it| self.sample(family.name, "", &labels, value(*it)));
        }
    }

    fn facts(&mut self, exposition: &Exposition, all: &[Labelled<'_>]) {
        self.family(&INFO);
        for (own, Labelled { server, protocol, .. }) in exposition.servers.iter().zip(all) {
            let facts = own.facts.iter().map(|(name, text)| (*name, &**text));
            let labels: Vec<_> =
                [("server", &**server), ("protocol", *protocol)].into_iter().chain(facts).collect();
            if labels.len() > 2 {
                self.sample(INFO.name, "", &labels, 1);
            }
        }
    }

    /// A family with one sample, which has no labels.
    fn single(&mut self, family: &Family, value: u64) {
        self.family(family);
        self.sample(family.name, "", &[], value);
    }

    /// The lines about a family.
    fn family(&mut self, Family { name, kind, help, .. }: &Family) {
        let (kind, name) = match (kind, self.syntax) {
            (Kind::Counter, Syntax::Both) => (None, *name),
            (Kind::Counter, Syntax::OpenMetrics) => (Some("counter"), name.trim_end_matches("_total")),
            (Kind::Counter, Syntax::Prometheus) => (Some("counter"), *name),
            (Kind::Gauge, _) => (Some("gauge"), *name),
            (Kind::Histogram, _) => (Some("histogram"), *name),
        };
        self.line(format_args!("# HELP {name} {}", escape(help, false)));
        kind.iter().for_each(|kind| self.line(format_args!("# TYPE {name} {kind}")));
        if name.ends_with("_seconds") {
            self.line(format_args!("# UNIT {name} seconds"));
        }
    }

    fn sample(&mut self, name: &str, ending: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> =
            labels.iter().map(|(name, text)| format!("{name}=\"{}\"", label(text))).collect();
        match labels.as_slice() {
            [] => self.line(format_args!("{name}{ending} {value}")),
            labels => self.line(format_args!("{name}{ending}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// A text as the value of a label: cut, its hostile characters shown as on screens, and escaped as the form demands.
fn label(text: &str) -> String {
    let mut chars = text.chars();
    let mut cut: String = chars.by_ref().take(MAX_LABEL).collect();
    if chars.next().is_some() {
        cut.pop();
        cut.push('…');
    }
    escape(&escaped(&cut), true)
}

/// A text with backslashes and line feeds escaped, and quotes where it stands in quotes.
fn escape(text: &str, in_quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if in_quotes { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped_twice_and_cut() {
        assert_eq!(label("a"), "a");
        assert_eq!(label("\"a\""), "\\\"a\\\"");
        // As on screens, where a line feed is \n and a backslash \\.
        assert_eq!(label("a\nb\\c"), "a\\\\nb\\\\\\\\c");
        assert_eq!(label("\x1b[2J\u{202e}"), "\\\\x1b[2J\\\\u{202e}");
        let long = "ä".repeat(MAX_LABEL);
        assert_eq!(label(&long), long);
        assert_eq!(label(&(long + "b")), "ä".repeat(MAX_LABEL - 1) + "…");
    }

    #[test]
    fn each_form_names_counters_as_it_demands() {
        let lines = |syntax| {
            let text = Exposition::default().text(syntax);
            let about = text.lines().filter(|line| line.contains("qdissect_requests"));
            about.map(str::to_owned).collect::<Vec<_>>()
        };
        let help = |name: &str| format!("# HELP {name} {}", REQUESTS.help);
        let kind = |name: &str| format!("# TYPE {name} counter");
        assert_eq!(lines(Syntax::Both), [help(REQUESTS.name)]);
        assert_eq!(lines(Syntax::OpenMetrics), ["qdissect_requests"].map(|it| [help(it), kind(it)]).concat());
        assert_eq!(lines(Syntax::Prometheus), [REQUESTS.name].map(|it| [help(it), kind(it)]).concat());
    }
}
