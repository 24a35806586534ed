//! Counts of exchanges by how they ended.

use super::Outcome;

/// How exchanges ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Number of exchanges.
    pub requests: u64,
    /// Exchanges answered in time.
    pub answered: u64,
    /// Exchanges answered after the window.
    pub late: u64,
    /// Exchanges not answered.
    pub unanswered: u64,
    /// Exchanges open when the capture ended.
    pub undecided: u64,
    /// Exchanges refused by ICMP errors.
    pub refused: u64,
}

impl Outcomes {
    /// Counts an exchange.
    pub fn add(&mut self, outcome: Outcome) {
        self.requests += 1;
        *match outcome {
            Outcome::Answered => &mut self.answered,
            Outcome::Late => &mut self.late,
            Outcome::Unanswered => &mut self.unanswered,
            Outcome::Undecided => &mut self.undecided,
            Outcome::Refused => &mut self.refused,
        } += 1;
    }

    /// Adds the counts of others.
    pub fn absorb(&mut self, other: &Outcomes) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.late += other.late;
        self.unanswered += other.unanswered;
        self.undecided += other.undecided;
        self.refused += other.refused;
    }

    /// Exchanges whose outcome is known.
    pub fn decided(&self) -> u64 {
        self.requests - self.undecided
    }

    /// Exchanges with an answer.
    pub fn with_answer(&self) -> u64 {
        self.answered + self.late
    }
}
