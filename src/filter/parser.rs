//! Parses tokens into a plan by recursive descent: `or`, `and`, `not`, test, operand.
//!
//! ```text
//! or      = and { ("or" | "||") and }
//! and     = not { ("and" | "&&") not }
//! not     = ("not" | "!") not | "(" or ")" | test
//! test    = ["any" | "all"] operand [ { relation operand } | ["not"] "in" "{" element { "," element } "}" ]
//! element = operand [ ".." operand ]
//! operand = (word | text | char | word "(" operand { "," operand } ")") { slice } [ "&" operand ]
//! ```

use super::compile::Compiler;
use super::error::{Place, Result};
use super::lexer::Token;
use super::operand::{Atom, Element, Operand, Operator, operator};
use super::plan::{Plan, Quantifier};
use super::value::{Cut, Until};
use super::{FilterError, MAX_DEPTH, MAX_NODES};
use crate::escape::quoted;

/// Reads an expression, and returns the compiler as well, which knows the declared fields that it names.
///
/// # Errors
/// At the first token that is not allowed at its place, for unknown names and types that do not fit together, and beyond
/// [`MAX_DEPTH`] and [`MAX_NODES`].
pub(super) fn parse(text: &str, tokens: &[(Token<'_>, Place)]) -> Result<(Plan, Compiler)> {
    let mut parser =
        Parser { text, tokens, depth: 0, nodes: 0, refused: None, compiler: Compiler::default() };
    let plan = parser.or()?;
    match parser.tokens.first() {
        None => parser.refused.map_or(Ok((plan, parser.compiler)), Err),
        Some((Token::Symbol(")"), at)) => at.refuse("This bracket closes none; open one before it."),
        Some((_, at)) if tokens.iter().any(|(token, _)| is_of_libpcap(token)) => {
            at.refuse("This is a filter of libpcap; here it says udp.port == 7777 or ip.addr == 192.0.2.10.")
        }
        Some(_) => Err(parser.unexpected("\"and\", \"or\" or the end")),
    }
}

/// Whether it is a word of capture filters, such as `udp port 7777`, that no display filter has.
fn is_of_libpcap(token: &Token<'_>) -> bool {
    matches!(*token, Token::Word("port" | "portrange" | "host" | "net" | "src" | "dst"))
}

struct Parser<'p, 't> {
    text: &'t str,
    tokens: &'p [(Token<'t>, Place)],
    depth: usize,
    nodes: usize,
    /// The first error about names and types; those about the grammar go before.
    refused: Option<FilterError>,
    /// Gives the operands of a test their types as soon as they have been read.
    compiler: Compiler,
}

impl<'t> Parser<'_, 't> {
    fn or(&mut self) -> Result<Plan> {
        let mut parts = vec![self.and()?];
        while self.took("||") || self.took("or") {
            parts.push(self.and()?);
        }
        Ok(Plan::one_or(parts, Plan::Any))
    }

    fn and(&mut self) -> Result<Plan> {
        let mut parts = vec![self.not()?];
        while self.took("&&") || self.took("and") {
            parts.push(self.not()?);
        }
        Ok(Plan::one_or(parts, Plan::All))
    }

    fn not(&mut self) -> Result<Plan> {
        let here = self.here();
        if self.took("!") || self.took("not") {
            return self.deeper(here, |p| Ok(Plan::Not(Box::new(p.not()?))));
        }
        if self.took("(") {
            return self.deeper(here, |p| {
                let inner = p.or()?;
                if p.took(")") { Ok(inner) } else { Err(p.unclosed(here)) }
            });
        }
        self.test()
    }

    /// Reads a test. In a chain, each left side must be a field: `1 < a < 5` is none, but `a > b > 1` is.
    fn test(&mut self) -> Result<Plan> {
        let start = self.here();
        let quantifier = self.quantifier();
        let left = self.operand()?;
        let not = matches!(self.tokens, [(Token::Word("not"), _), (Token::Word("in"), _), ..]);
        if not {
            self.skip();
        }
        let plan = if self.took("in") {
            let set = self.set()?;
            self.compiler.is_in(quantifier, &left, &set, not)
        } else {
            let mut chain = vec![];
            while let Some(operator) = self.operator() {
                chain.push((operator, self.operand()?));
            }
            match chain.is_empty() {
                true => self.compiler.exists(quantifier, &left, start.to(left.at)),
                false => self.compiler.chain(quantifier, &left, &chain),
            }
        };
        Ok(plan.unwrap_or_else(|e| {
            self.refused.get_or_insert(e);
            Plan::All(vec![])
        }))
    }

    /// Reads `any` or `all`. They are ordinary words, unless an operand follows.
    fn quantifier(&mut self) -> Option<Quantifier> {
        let [(Token::Word(first), _), (Token::Word(next), _), ..] = self.tokens else { return None };
        let quantifier = match *first {
            "any" => Quantifier::Any,
            "all" => Quantifier::All,
            _ => return None,
        };
        if operator(next).is_some() || matches!(*next, "in" | "and" | "or" | "not") {
            return None;
        }
        self.skip();
        Some(quantifier)
    }

    fn operator(&mut self) -> Option<Operator> {
        let (Token::Symbol(text) | Token::Word(text), _) = self.tokens.first()? else { return None };
        let operator = operator(text)?;
        self.skip();
        Some(operator)
    }

    /// Reads the values and ranges of a set.
    fn set(&mut self) -> Result<Vec<Element<'t>>> {
        let open = self.here();
        if !self.took("{") {
            return Err(self.unexpected("a set such as {1, 5..9}"));
        }
        let mut set = vec![];
        loop {
            let from = self.operand()?;
            let to = if self.took("..") { Some(self.operand()?) } else { None };
            set.push((from, to));
            if !self.took(",") {
                break;
            }
        }
        if self.took("}") { Ok(set) } else { Err(self.unclosed(open)) }
    }

    fn operand(&mut self) -> Result<Operand<'t>> {
        let start = self.here();
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > MAX_NODES {
            return start.refuse(format!(
                "The filter has more than {MAX_NODES} operands; use ranges such as {{1..9}}, or several filters."
            ));
        }
        let Some((token, at)) = self.tokens.first() else {
            return Err(self.unexpected("a field or a value"));
        };
        let atom = match token {
            Token::Word(word @ ("and" | "or" | "not" | "in")) => {
                return at.refuse(format!("Before \"{word}\" a field or a value is missing."));
            }
            Token::Word(word) => Atom::Word(word),
            Token::Text(bytes) => Atom::Text(bytes.clone()),
            Token::Char(byte) => Atom::Char(*byte),
            Token::Symbol(_) | Token::Slice(_) => return Err(self.unexpected("a field or a value")),
        };
        let mut operand = Operand { atom, slices: vec![], mask: None, at: *at, written: "" };
        self.skip();
        self.arguments(&mut operand)?;
        while let Some((Token::Slice(cuts), at)) = self.tokens.first() {
            operand.slices.push(sound(cuts, *at)?);
            operand.at = start.to(*at);
            self.skip();
        }
        if self.took("&") {
            let mask = self.deeper(start, Self::operand)?;
            operand.at = start.to(mask.at);
            operand.mask = Some(Box::new(mask));
        }
        operand.written = self.text.get(operand.at.start..operand.at.end).unwrap_or_default();
        Ok(operand)
    }

    /// Turns a word into a function call where a bracket follows.
    fn arguments(&mut self, operand: &mut Operand<'t>) -> Result<()> {
        let Atom::Word(name) = operand.atom else { return Ok(()) };
        let open = self.here();
        if !self.took("(") {
            return Ok(());
        }
        let arguments = self.deeper(open, |p| {
            let mut arguments = vec![p.operand()?];
            while p.took(",") {
                arguments.push(p.operand()?);
            }
            Ok(arguments)
        })?;
        let close = self.here();
        if !self.took(")") {
            return Err(self.unclosed(open));
        }
        operand.at = operand.at.to(close);
        operand.atom = Atom::Call(name, arguments);
        Ok(())
    }

    fn deeper<T>(&mut self, at: Place, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return at
                .refuse(format!("The filter is nested deeper than {MAX_DEPTH} levels; leave out brackets."));
        }
        let out = inner(self);
        self.depth = self.depth.saturating_sub(1);
        out
    }

    /// The place of the next token, or the end of the expression.
    fn here(&self) -> Place {
        let end = self.text.len();
        self.tokens.first().map_or(Place { start: end, end }, |(_, at)| *at)
    }

    fn skip(&mut self) {
        self.tokens = self.tokens.get(1..).unwrap_or_default();
    }

    fn took(&mut self, text: &str) -> bool {
        let is = matches!(self.tokens.first(), Some((Token::Symbol(t) | Token::Word(t), _)) if *t == text);
        if is {
            self.skip();
        }
        is
    }

    fn unclosed(&self, open: Place) -> FilterError {
        match self.tokens.first() {
            None => FilterError::new(open, "This bracket is never closed; close it."),
            Some(_) => self.unexpected("the closing bracket"),
        }
    }

    fn unexpected(&self, wanted: &str) -> FilterError {
        let Some((token, at)) = self.tokens.first() else {
            return FilterError::new(self.here(), format!("The filter ends where {wanted} should follow."));
        };
        let found = match token {
            Token::Symbol(text) | Token::Word(text) => quoted(text),
            Token::Text(_) => "a text".into(),
            Token::Char(_) => "a character".into(),
            Token::Slice(_) => "a slice".into(),
        };
        FilterError::new(*at, format!("Here stands {found} where {wanted} should stand."))
    }
}

/// Checks that no part of a slice ends before it begins.
fn sound(cuts: &[Cut], at: Place) -> Result<Vec<Cut>> {
    for cut in cuts {
        let backwards = match cut.until {
            Until::Length(length) => length <= 0,
            Until::Through(last) => (last < 0) == (cut.from < 0) && last < cut.from,
            Until::End => false,
        };
        if backwards {
            return at.refuse(format!(
                "The slice [{cut}] ends before it begins; write [{}] for one byte.",
                cut.from
            ));
        }
    }
    Ok(cuts.to_vec())
}
