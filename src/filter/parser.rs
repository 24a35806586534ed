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
use super::error::{Result, TextSpan};
use super::lexer::Token;
use super::operand::{Atom, Element, Operand, Operator, operator};
use super::plan::{Plan, Quantifier};
use super::value::{Cut, Until};
use super::{FilterError, MAX_DEPTH, MAX_NODES};
use crate::text::escape::quoted;

/// Parses an expression. Returns the plan and the compiler, which has collected the declared fields of the expression.
///
/// # Errors
/// At the first unexpected token, for unknown names and incompatible types, and beyond [`MAX_DEPTH`] and [`MAX_NODES`].
pub(super) fn parse(text: &str, tokens: &[(Token<'_>, TextSpan)]) -> Result<(Plan, Compiler)> {
    let mut parser =
        Parser { text, tokens, depth: 0, nodes: 0, type_error: None, compiler: Compiler::default() };
    let plan = parser.or()?;
    match parser.tokens.first() {
        None => parser.type_error.map_or(Ok((plan, parser.compiler)), Err),
        Some((Token::Symbol(")"), span)) => span.error("This bracket closes none; open one before it."),
        Some((_, span)) if tokens.iter().any(|(token, _)| is_capture_filter_word(token)) => {
            span.error("This is a filter of libpcap; here it says udp.port == 7777 or ip.addr == 192.0.2.10.")
        }
        Some(_) => Err(parser.unexpected_error("\"and\", \"or\" or the end")),
    }
}

/// Whether a token is a keyword of capture filters, such as `port` in `udp port 7777`; display filters have none of
/// them.
fn is_capture_filter_word(token: &Token<'_>) -> bool {
    matches!(*token, Token::Word("port" | "portrange" | "host" | "net" | "src" | "dst"))
}

struct Parser<'p, 't> {
    text: &'t str,
    tokens: &'p [(Token<'t>, TextSpan)],
    depth: usize,
    nodes: usize,
    /// The first error about names or types. Syntax errors take precedence over it.
    type_error: Option<FilterError>,
    /// Types the operands of each test as soon as the test is parsed.
    compiler: Compiler,
}

impl<'t> Parser<'_, 't> {
    fn or(&mut self) -> Result<Plan> {
        let mut parts = vec![self.and()?];
        while self.accept("||") || self.accept("or") {
            parts.push(self.and()?);
        }
        Ok(Plan::one_or(parts, Plan::Any))
    }

    fn and(&mut self) -> Result<Plan> {
        let mut parts = vec![self.not()?];
        while self.accept("&&") || self.accept("and") {
            parts.push(self.not()?);
        }
        Ok(Plan::one_or(parts, Plan::All))
    }

    fn not(&mut self) -> Result<Plan> {
        let span = self.span();
        if self.accept("!") || self.accept("not") {
            return self.nested(span, |p| Ok(Plan::Not(Box::new(p.not()?))));
        }
        if self.accept("(") {
            return self.nested(span, |p| {
                let inner = p.or()?;
                if p.accept(")") { Ok(inner) } else { Err(p.unclosed_error(span)) }
            });
        }
        self.test()
    }

    /// Parses a test. Each left side in a chain must be a field: `1 < a < 5` is invalid, `a > b > 1` is valid.
    fn test(&mut self) -> Result<Plan> {
        let start_span = self.span();
        let quantifier = self.quantifier();
        let left = self.operand()?;
        let is_negated = matches!(self.tokens, [(Token::Word("not"), _), (Token::Word("in"), _), ..]);
        if is_negated {
            self.advance();
        }
        let plan = if self.accept("in") {
            let set = self.set()?;
            self.compiler.is_in(quantifier, &left, &set, is_negated)
        } else {
            let mut chain = vec![];
            while let Some(operator) = self.operator() {
                chain.push((operator, self.operand()?));
            }
            match chain.is_empty() {
                true => self.compiler.exists(quantifier, &left, start_span.to(left.span)),
                false => self.compiler.chain(quantifier, &left, &chain),
            }
        };
        Ok(plan.unwrap_or_else(|e| {
            self.type_error.get_or_insert(e);
            Plan::All(vec![])
        }))
    }

    /// Parses `any` or `all`, which are ordinary words unless an operand follows.
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
        self.advance();
        Some(quantifier)
    }

    fn operator(&mut self) -> Option<Operator> {
        let (Token::Symbol(text) | Token::Word(text), _) = self.tokens.first()? else { return None };
        let operator = operator(text)?;
        self.advance();
        Some(operator)
    }

    /// Parses the values and ranges of a set.
    fn set(&mut self) -> Result<Vec<Element<'t>>> {
        let open_span = self.span();
        if !self.accept("{") {
            return Err(self.unexpected_error("a set such as {1, 5..9}"));
        }
        let mut set = vec![];
        loop {
            let from = self.operand()?;
            let to = if self.accept("..") { Some(self.operand()?) } else { None };
            set.push((from, to));
            if !self.accept(",") {
                break;
            }
        }
        if self.accept("}") { Ok(set) } else { Err(self.unclosed_error(open_span)) }
    }

    fn operand(&mut self) -> Result<Operand<'t>> {
        let start_span = self.span();
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > MAX_NODES {
            return start_span.error(format!(
                "The filter has more than {MAX_NODES} operands; use ranges such as {{1..9}}, or several filters."
            ));
        }
        let Some((token, span)) = self.tokens.first() else {
            return Err(self.unexpected_error("a field or a value"));
        };
        let atom = match token {
            Token::Word(word @ ("and" | "or" | "not" | "in")) => {
                return span.error(format!("Before \"{word}\" a field or a value is missing."));
            }
            Token::Word(word) => Atom::Word(word),
            Token::Text(bytes) => Atom::Text(bytes.clone()),
            Token::Char(byte) => Atom::Char(*byte),
            Token::Symbol(_) | Token::Slice(_) => return Err(self.unexpected_error("a field or a value")),
        };
        let mut operand = Operand { atom, slices: vec![], mask: None, span: *span, text: "" };
        self.advance();
        self.arguments(&mut operand)?;
        while let Some((Token::Slice(cuts), span)) = self.tokens.first() {
            operand.slices.push(checked_slice(cuts, *span)?);
            operand.span = start_span.to(*span);
            self.advance();
        }
        if self.accept("&") {
            let mask = self.nested(start_span, Self::operand)?;
            operand.span = start_span.to(mask.span);
            operand.mask = Some(Box::new(mask));
        }
        operand.text = self.text.get(operand.span.start..operand.span.end).unwrap_or_default();
        Ok(operand)
    }

    /// Turns a word into a function call where a bracket follows.
    fn arguments(&mut self, operand: &mut Operand<'t>) -> Result<()> {
        let Atom::Word(name) = operand.atom else { return Ok(()) };
        let open_span = self.span();
        if !self.accept("(") {
            return Ok(());
        }
        let arguments = self.nested(open_span, |p| {
            let mut arguments = vec![p.operand()?];
            while p.accept(",") {
                arguments.push(p.operand()?);
            }
            Ok(arguments)
        })?;
        let close_span = self.span();
        if !self.accept(")") {
            return Err(self.unclosed_error(open_span));
        }
        operand.span = operand.span.to(close_span);
        operand.atom = Atom::Call(name, arguments);
        Ok(())
    }

    fn nested<T>(&mut self, span: TextSpan, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return span
                .error(format!("The filter is nested deeper than {MAX_DEPTH} levels; leave out brackets."));
        }
        let out = inner(self);
        self.depth = self.depth.saturating_sub(1);
        out
    }

    /// The span of the next token, or the end of the expression.
    fn span(&self) -> TextSpan {
        let end = self.text.len();
        self.tokens.first().map_or(TextSpan { start: end, end }, |(_, span)| *span)
    }

    fn advance(&mut self) {
        self.tokens = self.tokens.get(1..).unwrap_or_default();
    }

    fn accept(&mut self, text: &str) -> bool {
        let matches =
            matches!(self.tokens.first(), Some((Token::Symbol(t) | Token::Word(t), _)) if *t == text);
        if matches {
            self.advance();
        }
        matches
    }

    fn unclosed_error(&self, open_span: TextSpan) -> FilterError {
        match self.tokens.first() {
            None => FilterError::new(open_span, "This bracket is never closed; close it."),
            Some(_) => self.unexpected_error("the closing bracket"),
        }
    }

    fn unexpected_error(&self, expected: &str) -> FilterError {
        let Some((token, span)) = self.tokens.first() else {
            return FilterError::new(self.span(), format!("The filter ends where {expected} should follow."));
        };
        let found = match token {
            Token::Symbol(text) | Token::Word(text) => quoted(text),
            Token::Text(_) => "a text".into(),
            Token::Char(_) => "a character".into(),
            Token::Slice(_) => "a slice".into(),
        };
        FilterError::new(*span, format!("Here stands {found} where {expected} should stand."))
    }
}

/// The ranges of a slice, or an error if one of them ends before it begins.
fn checked_slice(cuts: &[Cut], span: TextSpan) -> Result<Vec<Cut>> {
    for cut in cuts {
        let backwards = match cut.until {
            Until::Length(length) => length <= 0,
            Until::Through(last) => (last < 0) == (cut.from < 0) && last < cut.from,
            Until::End => false,
        };
        if backwards {
            return span.error(format!(
                "The slice [{cut}] ends before it begins; write [{}] for one byte.",
                cut.from
            ));
        }
    }
    Ok(cuts.to_vec())
}
