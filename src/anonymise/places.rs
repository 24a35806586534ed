//! What is replaced in a message.

use crate::check::Packet;
use crate::decode::{Fact, Field, FieldKind, Node, Span, Tree, Value};
use crate::protocols::Id;
use crate::rule::Severity;
use crate::text::variables;
use std::net::IpAddr;

/// What is replaced in one field.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The field.
    pub field: &'static Field,
    /// The bytes that are replaced.
    pub at: Span,
    /// How.
    pub how: How,
}

#[derive(Clone, Copy, Debug)]
pub enum How {
    Text,
    /// Bytes in which there may be text, or tokens.
    Bytes,
    Utf16,
    Latin1,
    Address(IpAddr),
    Token,
    /// A token that is a number, which may be sent as digits elsewhere.
    Number(i128),
}

/// Whether the values of a field may not stay, whatever the rules look at.
pub fn is_personal(field: &Field) -> bool {
    field.personal || field.fact == Some(Fact::ServerName)
}

impl Place {
    /// Its bytes in a message.
    pub fn of<'a>(&self, message: &'a mut [u8]) -> Option<&'a mut [u8]> {
        message.get_mut(usize::from(self.at.start)..usize::from(self.at.end))
    }

    /// Puts its bytes in a message into another one.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        let from = self.at.of(from);
        self.of(to).filter(|to| to.len() == from.len()).into_iter().for_each(|to| to.copy_from_slice(from));
    }

    /// The words of a text, each as a place of its own; none for anything else.
    pub fn words(&self, payload: &[u8]) -> Vec<Place> {
        let width = match self.how {
            How::Text | How::Bytes | How::Latin1 => 1,
            How::Utf16 => 2,
            How::Address(_) | How::Token | How::Number(_) => return vec![],
        };
        let is_letter = |unit: &[u8]| {
            unit.iter().skip(1).any(|byte| *byte != 0)
                || unit.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        };
        let units = self.at.of(payload).chunks_exact(width).zip((self.at.start..).step_by(width));
        let mut words: Vec<Place> = vec![];
        for (_, start) in units.filter(|(unit, _)| is_letter(unit)) {
            let end = start.saturating_add(width as u16);
            match words.last_mut() {
                Some(word) if word.at.end == start => word.at.end = end,
                _ => words.push(Place { at: Span { start, end }, ..*self }),
            }
        }
        words
    }
}

/// Finds what is replaced.
#[derive(Debug)]
pub struct Finder {
    /// Indices of nodes, and their bytes.
    order: Vec<(usize, Span)>,
    /// Whether a byte belongs to a field that has been looked at.
    taken: Vec<bool>,
    /// The protocols that send numbers as digits, too, one bit each.
    digits: u32,
}

impl Finder {
    /// A finder for all protocols.
    pub fn new() -> Finder {
        let has_text = |id: &&Id| {
            let mut fields = id.info().fields.iter().copied().flatten();
            fields.any(|field| field.token && field.kind == FieldKind::Text)
        };
        let digits =
            Id::ALL.iter().filter(has_text).fold(0, |digits, id| digits | 1u32.unbounded_shl(*id as u32));
        Finder { order: vec![], taken: vec![], digits }
    }

    /// What is replaced in a message: the bytes of each place once, those of inner fields before those around them.
    pub fn find(&mut self, p: &Packet<'_>, tree: &Tree) -> Vec<Place> {
        let (nodes, info) = (tree.nodes(), p.id.info());
        let values = nodes.iter().enumerate().filter(|(_, node)| !node.derived && node.is_value());
        let spans =
            values.map(|(index, node)| (index, node.value_span())).filter(|(_, at)| at.end > at.start);
        self.order.clear();
        self.order.extend(spans);
        self.order.sort_unstable_by_key(|(index, at)| (at.end.saturating_sub(at.start), *index));
        self.taken.clear();
        self.taken.resize(p.bytes.len(), false);
        // Where a message is broken, anything may stand in the place of a game or a version.
        let is_broken = tree.violations().iter().any(|broken| broken.rule.severity > Severity::Note);
        let is_sent_as_digits = self.digits & 1u32.unbounded_shl(p.id as u32) != 0;
        let mut places = vec![];
        for (index, at) in &self.order {
            let Some(node) = nodes.get(*index) else { continue };
            let Some(taken) = self.taken.get_mut(usize::from(at.start)..usize::from(at.end)) else {
                continue;
            };
            let is_token = node.field.token
                || !info.volatile_keys.is_empty() && is_named_as_token(p.id, nodes, *index, p.bytes);
            let how = how(node, [is_token, is_sent_as_digits, is_broken], p.bytes);
            if let Some(how) = how.filter(|_| !(info.is_public)(nodes, *index, p.bytes)) {
                add(&mut places, Place { field: node.field, at: *at, how }, taken);
            }
            taken.fill(true);
        }
        places.sort_by_key(|place| place.at.start);
        places
    }
}

/// Adds a place. Where other fields are within it, those are looked at already: of a text, what is between them is replaced.
fn add(places: &mut Vec<Place>, place: Place, taken: &[bool]) {
    if !taken.contains(&true) {
        places.push(place);
    } else if matches!(place.how, How::Text | How::Bytes) {
        let mut start = place.at.start;
        for run in taken.split(|taken| *taken) {
            let end = start.saturating_add(run.len() as u16);
            if end > start {
                places.push(Place { at: Span { start, end }, ..place });
            }
            start = end.saturating_add(1);
        }
    }
}

/// Whether the node before a node is a key that names a token, which a message of the protocol has as a field of its own.
fn is_named_as_token(id: Id, nodes: &[Node], index: usize, payload: &[u8]) -> bool {
    let info = id.info();
    let name = index.checked_sub(1).and_then(|before| nodes.get(before)?.value(payload)?.text());
    name.is_some_and(|name| {
        let mut fields = info.fields.iter().copied().flatten();
        info.volatile_keys.contains(&&*name) && fields.any(|field| field.token && field.key == name)
    })
}

/// How the value of a field is replaced; `None` if it is not.
fn how(node: &Node, [is_token, is_sent_as_digits, is_broken]: [bool; 3], payload: &[u8]) -> Option<How> {
    let field = node.field;
    let value = node.value(payload)?;
    let stays = match (field.public, field.fact, value) {
        (true, _, Value::Bytes(_)) => true,
        // A separator more or less, and values are in the place of names.
        (true, ..) if is_broken || field.name.contains("[]") => {
            value.text().is_some_and(|text| variables::is_known(text.as_bytes()))
        }
        (true, ..) => true,
        (_, Some(Fact::Version | Fact::Game | Fact::Mode), _) => !is_broken,
        _ => false,
    };
    match value {
        value @ (Value::Address(_) | Value::MappedAddress(_)) => {
            value.socket().map(|socket| How::Address(socket.ip()))
        }
        Value::Int(number) if is_token => Some(How::Number(number.into())),
        Value::Uint64(number) if is_token && is_sent_as_digits => Some(How::Number(number.into())),
        Value::Text(text) if is_token => {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
            Some(number.map_or(How::Text, How::Number))
        }
        Value::Uint(_) | Value::Uint64(_) | Value::Bytes(_) if is_token => Some(How::Token),
        Value::Text(text) | Value::Latin1(text) if !is_personal(field) && is_small_number(text) => None,
        Value::Text(_) | Value::Escaped(..) if !stays => Some(How::Text),
        Value::Bytes(_) if !stays => Some(How::Bytes),
        Value::Utf16(_) if !stays => Some(How::Utf16),
        Value::Latin1(_) if !stays => Some(How::Latin1),
        Value::Text(_) | Value::Escaped(..) | Value::Bytes(_) | Value::Utf16(_) | Value::Latin1(_) => None,
        // A number may be a piece of a text there.
        _ if is_broken && !field.volatile && is_like_text(node.value_span().of(payload)) => Some(How::Bytes),
        _ => None,
    }
}

/// Whether the bytes of a number are letters and digits.
fn is_like_text(bytes: &[u8]) -> bool {
    bytes.len() > 1 && bytes.iter().all(u8::is_ascii_alphanumeric)
}

/// Whether a text is a number of at most five characters.
fn is_small_number(text: &[u8]) -> bool {
    text.len() < 6 && text.iter().all(|byte| byte.is_ascii_digit() || b"+-.".contains(byte))
}
