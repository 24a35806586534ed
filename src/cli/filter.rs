//! `-Y`: the expression, read once, and what is said about it.

use super::say;
use qdissect::filter::{Filter, FilterError};
use qdissect::report::count;
use std::convert::Infallible;

/// A display filter as given, and what was made of it.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    read: Result<Filter, FilterError>,
}

/// Reads an expression. What is wrong with it is said later, with a caret, which clap could not draw.
pub fn expression(text: &str) -> Result<Expression, Infallible> {
    Ok(Expression { text: text.to_owned(), read: Filter::parse(text) })
}

impl Expression {
    /// The filter, if it is one.
    pub fn filter(&self) -> Option<&Filter> {
        self.read.as_ref().ok()
    }

    /// What is wrong with it: a sentence, and two lines that show the place.
    pub fn complaint(&self) -> Option<String> {
        let wrong = self.read.as_ref().err()?;
        Some(format!("{wrong}\n{}", wrong.caret(&self.text)))
    }
}

/// Says how many datagrams were judged without all that the filter asks for.
pub fn remark(missed: u64) {
    if missed > 0 {
        say(&format_args!(
            "qdissect: The filter had no headers of {}: too many other frames stood in between.\n",
            count(missed, "datagram")
        ));
    }
}
