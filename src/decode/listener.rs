//! The listeners of a run, which are reused for one datagram after the other.

use super::{Coverage, FieldSink, Json, Notes, Tree};

/// A listener that is reused for one datagram after the other and collects broken rules.
pub trait Listener: FieldSink + Default {
    /// A new datagram begins.
    fn begin(&mut self);
    /// The datagram ends.
    fn end(&mut self) {}
    /// The broken rules.
    fn notes(&self) -> &Notes;
}

/// The listener that a report has chosen.
#[derive(Debug)]
pub enum AnyListener {
    /// Collects broken rules.
    Notes(Notes),
    /// Collects broken rules, and which rules were checked.
    Coverage(Coverage),
    /// Collects broken rules, and the fields as a tree.
    Tree(Tree),
    /// Collects broken rules, and the fields as JSON.
    Json(Json),
}

impl AnyListener {
    /// The broken rules.
    #[inline]
    pub fn notes(&self) -> &Notes {
        match self {
            AnyListener::Notes(notes) => notes,
            AnyListener::Coverage(coverage) => coverage.notes(),
            AnyListener::Tree(tree) => tree.notes(),
            AnyListener::Json(json) => json.notes(),
        }
    }
}
