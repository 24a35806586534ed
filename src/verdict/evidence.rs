//! Which rules a capture is evidence about.

use crate::protocols::Id;
use crate::rule::Rule;
use hashbrown::HashSet;

/// The evidence that a capture gives about rules.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Protocols of its datagrams.
    pub protocols: Vec<Id>,
    /// Protocols of its exchanges.
    pub(super) exchanges: Vec<Id>,
    /// Packets that were lost on the way into it; 0 where it does not say.
    pub(super) dropped: u64,
    /// Rules of datagrams that were checked.
    pub(super) marks: HashSet<&'static str>,
}

/// What a rule applies to: found once for all captures, of which there may be thousands.
pub struct Scope {
    rule: &'static str,
    /// `None` for a shared rule.
    protocol: Option<Id>,
    /// Whether the rule takes more than one datagram.
    across: bool,
}

impl Scope {
    /// The scope of a rule.
    pub fn of(rule: &Rule) -> Scope {
        let protocol = Id::of_rule(rule);
        let across = protocol.is_some_and(|id| id.info().exchange_rules.contains(&rule));
        Scope { rule: rule.id, protocol, across }
    }
}

impl Evidence {
    /// Whether the capture held traffic that the rule applies to: of its protocol, or of any protocol for a shared rule.
    pub fn concerns(&self, scope: &Scope) -> bool {
        scope.protocol.map_or(!self.protocols.is_empty(), |id| self.protocols.contains(&id))
    }

    /// Whether the capture held something that the rule is about.
    pub fn exercised(&self, scope: &Scope) -> bool {
        let Some(id) = scope.protocol else { return !self.protocols.is_empty() };
        self.marks.contains(scope.rule) || (scope.across && self.exchanges.contains(&id))
    }
}
