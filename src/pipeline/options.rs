//! What the user asked for.

use crate::capture::Time;
use crate::check::Policy;
use crate::classify::Choice;
use crate::contract::{Budget, Level};

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which recognisers speak, and what is pinned.
    pub choice: Choice,
    /// Overrides every protocol's answer window, in nanoseconds.
    pub timeout: Option<i64>,
    /// Datagrams below this are taken for unclaimed.
    pub min_confidence: Level,
    /// Report datagrams that no protocol claims, too.
    pub all: bool,
    /// Show passwords.
    pub secrets: bool,
    /// What the user makes of the rules.
    pub policy: Policy,
    /// Stop after this many frames.
    pub count: Option<u64>,
    /// Nothing goes on from one file to the next.
    pub per_file: bool,
    /// How much may be remembered.
    pub budget: Budget,
    /// Who asked has waited until then: it ends the input, and a server that answered nothing had its time.
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
