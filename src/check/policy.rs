//! The user's settings for the rules: profile, selection, severities.

use crate::net::Endpoint;
use crate::rule::{Rule, Severity};
use hashbrown::HashMap;

/// A set of severities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Some dialects and habits are warnings.
    Strict,
    /// The severities of the rules.
    #[default]
    Default,
    /// Findings about what every real server does are notes.
    Lenient,
}

impl Profile {
    /// Severity of a rule in the profile.
    pub fn severity(self, rule: &Rule) -> Severity {
        let other = match self {
            Profile::Strict => rule.strict,
            Profile::Default => None,
            Profile::Lenient => rule.lenient,
        };
        other.unwrap_or(rule.severity)
    }
}

/// A name that matches no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// As written.
    pub name: String,
}

/// Whether a name matches a rule: its id or the beginning of it, such as `SQP`, `SQP-TXN` or `SQP-TXN-004`, in any
/// case.
pub fn matches(name: &str, rule: &Rule) -> bool {
    within(rule.id, name)
}

/// Whether all rules that `name` matches are among those that `whole` matches.
pub fn within(name: &str, whole: &str) -> bool {
    let Some((head, tail)) = name.split_at_checked(whole.len()) else { return false };
    head.eq_ignore_ascii_case(whole) && (tail.is_empty() || tail.starts_with('-'))
}

/// The rules that a name matches.
///
/// # Errors
/// When it matches none.
pub fn rules_named(name: &str) -> Result<Vec<&'static Rule>, Unknown> {
    let rules: Vec<_> = crate::protocols::rules().filter(|rule| matches(name, rule)).collect();
    if rules.is_empty() { Err(Unknown { name: name.to_owned() }) } else { Ok(rules) }
}

/// Severities that differ from the rules' own; `None` switches a rule off.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    changed: HashMap<&'static str, Option<Severity>>,
    /// Nothing is said but of this server: the client is this program.
    pub asked_server: Option<Endpoint>,
}

impl Policy {
    /// The severities of a profile.
    pub fn new(profile: Profile) -> Policy {
        let mut policy = Policy::default();
        for rule in crate::protocols::rules() {
            let severity = profile.severity(rule);
            if severity != rule.severity {
                policy.changed.insert(rule.id, Some(severity));
            }
        }
        policy
    }

    /// Sets the severity of the rules that a name matches, or switches them off with `None`.
    ///
    /// # Errors
    /// When the name matches no rule.
    pub fn set_severity(&mut self, name: &str, severity: Option<Severity>) -> Result<(), Unknown> {
        self.changed.extend(rules_named(name)?.into_iter().map(|rule| (rule.id, severity)));
        Ok(())
    }

    /// Switches off all rules except those that the names match.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn select(&mut self, names: &[String]) -> Result<(), Unknown> {
        names.iter().try_for_each(|name| rules_named(name).map(drop))?;
        let chosen = |rule: &Rule| names.is_empty() || names.iter().any(|name| matches(name, rule));
        for rule in crate::protocols::rules().filter(|rule| !chosen(rule)) {
            self.changed.insert(rule.id, None);
        }
        Ok(())
    }

    /// Severity of a rule; `None` where it is switched off.
    pub fn severity(&self, rule: &Rule) -> Option<Severity> {
        if self.changed.is_empty() {
            return Some(rule.severity);
        }
        self.changed.get(rule.id).copied().unwrap_or(Some(rule.severity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str) -> &'static Rule {
        crate::protocols::rules().find(|r| r.id == id).expect("there is such a rule")
    }

    #[test]
    fn a_name_matches_the_rules_that_begin_with_it() {
        let token = rule("SQP-TXN-004");
        for name in ["SQP", "sqp-txn", "SQP-TXN-004"] {
            assert!(matches(name, token), "{name}");
        }
        for name in ["SQP-TX", "SQP-TXN-00", "SFQ", "SQP-TXN-004-X"] {
            assert!(!matches(name, token), "{name}");
        }
    }

    #[test]
    fn selection_severities_and_profiles_take_effect() {
        let mut policy = Policy::new(Profile::Strict);
        assert_eq!(policy.severity(rule("SKY-JSN-001")), Some(Severity::Warning));
        policy.set_severity("SKY-JSN-001", Some(Severity::Error)).expect("it exists");
        assert_eq!(policy.severity(rule("SKY-JSN-001")), Some(Severity::Error));
        policy.select(&["SKY".into()]).expect("they exist");
        assert_eq!(policy.severity(rule("SQP-TXN-004")), None);
        policy.set_severity("SKY-SEC", None).expect("they exist");
        assert_eq!(policy.severity(rule("SKY-SEC-001")), None);
        let lenient = Policy::new(Profile::Lenient);
        assert_eq!(lenient.severity(rule("SKY-SEC-001")), Some(Severity::Note));
        assert_eq!(Policy::default().severity(rule("SKY-SEC-001")), Some(Severity::Warning));
    }

    #[test]
    fn reports_an_unknown_rule() {
        let unknown = Policy::default().set_severity("SQP-TXN-OO4", None).unwrap_err();
        assert_eq!(unknown.name, "SQP-TXN-OO4");
        assert!(Policy::default().select(&["nope".into()]).is_err());
    }
}
