//! Options of a run.

use crate::capture::Time;
use crate::check::Policy;
use crate::classify::Choice;
use crate::contract::{Budget, Level};

/// The options that the user has set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which recognisers may run, and which ports are pinned to a protocol.
    pub choice: Choice,
    /// Overrides every protocol's answer window, in nanoseconds.
    pub timeout: Option<i64>,
    /// Datagrams of lower confidence count as unclaimed.
    pub min_confidence: Level,
    /// Also report datagrams that no protocol claims.
    pub all: bool,
    /// Show passwords.
    pub secrets: bool,
    /// Which rules are checked, and their severities.
    pub policy: Policy,
    /// Stop after this many frames.
    pub count: Option<u64>,
    /// Files are independent of each other: none continues the one before.
    pub per_file: bool,
    /// How much memory the tables may use.
    pub budget: Budget,
    /// The time until which a client of our own has waited for answers: the input ends then, and a server that has
    /// answered nothing by then counts as silent, whatever the time between its requests.
    pub watched: Option<Time>,
}

impl Default for Options {
    fn default() -> Self {
        let choice = Choice::default();
        Options {
            choice,
            timeout: None,
            min_confidence: Level::Medium,
            all: false,
            secrets: false,
            policy: Policy::default(),
            count: None,
            per_file: false,
            budget: Budget::default(),
            watched: None,
        }
    }
}
