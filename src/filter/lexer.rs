//! Splits the text of an expression into tokens.
//!
//! ```text
//! symbol   == === != !== <= >= < > ~ ~= ! && || & ( ) { } , ..
//! word     a name, a number, an address, bytes:  sqp.sub_states[2].version  -1.5  10.0.0.0/8  02:00:5e
//! text     "double quotes"  r"raw, for regular expressions"
//! char     'a'  '\x20'
//! slice    [2:4]  [2-5]  [2]  [:4]  [2:]  [-4:]  [0,2:4]
//! ```
//!
//! A word includes an index only if another name follows, because a final `[2]` may also be a slice.

use super::FilterError;
use super::error::TextSpan;
use super::value::{Cut, Until};
use crate::text::escape::quoted;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while_m_n};
use nom::character::complete::{char, digit1, i32 as integer, multispace0, none_of, one_of, satisfy};
use nom::combinator::{map, map_opt, not, opt, peek, recognize, value};
use nom::error::{Error, ErrorKind};
use nom::multi::{many0, many0_count, many1_count, separated_list1};
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Offset, Parser};

/// A token of the expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// An operator or bracket.
    Symbol(&'static str),
    /// Anything without quotes.
    Word(&'t str),
    /// A text with its escapes resolved.
    Text(Vec<u8>),
    /// A single character.
    Char(u8),
    /// The byte ranges of a slice.
    Slice(Vec<Cut>),
}

/// The symbols. A longer symbol precedes its prefixes.
const SYMBOLS: &[&str] = &[
    "===", "!==", "==", "!=", "<=", ">=", "~=", "&&", "||", "..", "<", ">", "~", "!", "&", "(", ")", "{",
    "}", ",",
];

/// The tokens of an expression and their spans.
///
/// # Errors
/// At the first byte that begins no token.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, TextSpan)>, FilterError> {
    let mut tokens = vec![];
    let mut rest = skip_blanks(text);
    while !rest.is_empty() {
        let start = text.len().saturating_sub(rest.len());
        let Ok((after, token)) = token(rest) else {
            return Err(token_error(rest, start));
        };
        tokens.push((token, TextSpan { start, end: text.len().saturating_sub(after.len()) }));
        rest = skip_blanks(after);
    }
    Ok(tokens)
}

fn skip_blanks(i: &str) -> &str {
    multispace0::<_, ()>(i).map_or(i, |(rest, _)| rest)
}

fn token(i: &str) -> IResult<&str, Token<'_>> {
    alt((
        map(raw, Token::Text),
        map(word, Token::Word),
        map(symbol, Token::Symbol),
        map(text, Token::Text),
        map(character, Token::Char),
        map(slice, Token::Slice),
    ))
    .parse(i)
}

fn symbol(i: &str) -> IResult<&str, &'static str> {
    let longest = SYMBOLS.iter().find_map(|symbol| Some((i.strip_prefix(*symbol)?, *symbol)));
    longest.ok_or_else(|| nom::Err::Error(Error::new(i, ErrorKind::Tag)))
}

/// `r"\d+"`: backslashes are kept; a backslash before a quote keeps the quote from ending the text.
fn raw(i: &str) -> IResult<&str, Vec<u8>> {
    let part = alt((recognize(pair(char('\\'), satisfy(|_| true))), recognize(none_of("\"\\"))));
    let parts = recognize(many0_count(part));
    map(delimited(alt((tag("r\""), tag("R\""))), parts, char('"')), |t: &str| t.as_bytes().to_vec()).parse(i)
}

fn text(i: &str) -> IResult<&str, Vec<u8>> {
    let plain = map(none_of("\"\\"), |c| c.to_string().into_bytes());
    let parts = map(many0(alt((plain, escape))), |parts: Vec<Vec<u8>>| parts.concat());
    delimited(char('"'), parts, char('"')).parse(i)
}

fn character(i: &str) -> IResult<&str, u8> {
    let plain = map(none_of("'\\"), |c| c.to_string().into_bytes());
    let single = map_opt(alt((plain, escape)), |bytes| <[u8; 1]>::try_from(bytes).ok());
    map(delimited(char('\''), single, char('\'')), |[byte]| byte).parse(i)
}

/// `\n`, `\x41`, `\101`, `\u00e9`, `\U0001f3d5`.
fn escape(i: &str) -> IResult<&str, Vec<u8>> {
    let hex = |min, max| take_while_m_n(min, max, |c: char| c.is_ascii_hexdigit());
    let octal = take_while_m_n(1, 3, |c: char| c.is_digit(8));
    let code = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    let unicode = map_opt(alt((preceded(char('u'), hex(4, 4)), preceded(char('U'), hex(8, 8)))), code);
    let named = map_opt(none_of(""), |c| {
        Some(match c {
            '\'' | '"' | '\\' => c as u8,
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            _ => return None,
        })
    });
    let byte = alt((
        map_opt(preceded(char('x'), hex(1, 2)), |digits| u8::from_str_radix(digits, 16).ok()),
        map_opt(octal, |digits| u8::from_str_radix(digits, 8).ok()),
        named,
    ));
    let escaped = alt((map(unicode, |c| c.to_string().into_bytes()), map(byte, |byte| vec![byte])));
    preceded(char('\\'), escaped).parse(i)
}

/// A word. It ends before `..`, and before a final `-` or `/`.
fn word(i: &str) -> IResult<&str, &str> {
    let letter = || satisfy(|c| c.is_ascii_alphanumeric() || c == '_');
    let digit = || satisfy(|c| c.is_ascii_digit());
    let dot = || terminated(char('.'), not(char('.')));
    let index = recognize(many1_count((char('['), digit1, char(']'))));
    let further = alt((
        letter(),
        dot(),
        char(':'),
        terminated(char('-'), peek(letter())),
        terminated(char('/'), peek(digit())),
        value('[', terminated(index, peek((char('.'), letter())))),
    ));
    let sign = opt(terminated(one_of("+-"), peek(digit())));
    recognize((sign, alt((letter(), dot(), char(':'))), many0_count(further))).parse(i)
}

fn slice(i: &str) -> IResult<&str, Vec<Cut>> {
    let blank = || multispace0::<&str, Error<&str>>;
    let comma = || delimited(blank(), char(','), blank());
    delimited((char('['), blank()), separated_list1(comma(), cut), (blank(), char(']'))).parse(i)
}

fn cut(i: &str) -> IResult<&str, Cut> {
    let until = alt((
        map(preceded(char(':'), opt(integer)), |length| length.map_or(Until::End, Until::Length)),
        map(preceded(char('-'), integer), Until::Through),
    ));
    let (rest, from) = opt(integer).parse(i)?;
    let (rest, until) = opt(until).parse(rest)?;
    match (from, until) {
        (None, Some(until @ Until::Length(_))) => Ok((rest, Cut { from: 0, until })),
        (Some(from), until) => Ok((rest, Cut { from, until: until.unwrap_or(Until::Length(1)) })),
        _ => Err(nom::Err::Error(Error::new(i, ErrorKind::Digit))),
    }
}

/// The error for text that begins no token.
fn token_error(rest: &str, start: usize) -> FilterError {
    let first = rest.chars().next().unwrap_or_default();
    let span = TextSpan::of(start, first.len_utf8());
    match first {
        '"' | 'r' | 'R' => text_error(rest, start),
        '\'' => FilterError::new(
            span,
            "Between single quotes stands exactly one byte, such as 'a' or '\\x20'; texts stand in double quotes.",
        ),
        '[' => FilterError::new(
            TextSpan::of(start, rest.find(']').map_or(rest.len(), |end| end.saturating_add(1))),
            "This is no slice: write [2] for one byte, [2:4] for four bytes from the third on, [2-5] for the same, [:4] or [4:].",
        ),
        '=' => FilterError::new(span, "A single \"=\" compares nothing; write \"==\"."),
        '|' => FilterError::new(span, "A single \"|\" means nothing; write \"||\" or \"or\"."),
        c => {
            let c = quoted(&c.to_string());
            FilterError::new(
                span,
                format!("The character {c} means nothing here; texts stand in double quotes."),
            )
        }
    }
}

/// The error for a text in double quotes that does not end, or that has an invalid escape.
fn text_error(text: &str, start: usize) -> FilterError {
    let mut rest = text.split_once('"').map_or("", |(_, rest)| rest);
    while let Some(escaped) = rest.find('\\').and_then(|at| rest.get(at..)) {
        let Ok((after, _)) = escape(escaped) else {
            let escape_text: String = escaped.chars().take(2).collect();
            return FilterError::new(
                TextSpan::of(start.saturating_add(text.offset(escaped)), escape_text.len()),
                format!(
                    "{} is no escape; write a backslash twice, or the text raw: r\"...\".",
                    quoted(&escape_text)
                ),
            );
        };
        rest = after;
    }
    let message = "The text that begins here has no closing quote; put \" at its end.";
    FilterError::new(TextSpan::of(start, text.len()), message)
}
