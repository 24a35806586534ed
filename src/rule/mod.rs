//! Conformance rules: each one contains its explanation, its source and the examples that test it.

pub mod general;
pub(crate) mod pairing;

/// The severity of a broken rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal or harmless, worth knowing.
    #[default]
    Note,
    /// Breaks the specification, or works only with some peers.
    Warning,
    /// A peer rejects or misreads it, or a security property is broken.
    Error,
}

impl Severity {
    /// Every severity, the highest first.
    pub const ALL: &[Severity] = &[Severity::Error, Severity::Warning, Severity::Note];

    /// `note`, `warning` or `error`, as in records and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A numbered statement that a datagram or an exchange must satisfy.
#[derive(Debug)]
pub struct Rule {
    /// `SQP-CHK-004`: protocol, part of the message, number. Stable; never reused.
    pub id: &'static str,
    /// Severity in the default profile.
    pub severity: Severity,
    /// What is wrong, as a phrase without a full stop.
    pub title: &'static str,
    /// What the rule checks and why it matters; Markdown, taken from the rule's doc comment.
    pub why: &'static str,
    /// The source: a place in the specification or in a deployed implementation.
    pub cite: Cite,
    /// Every exchange with a given server breaks it, so it is reported on the first datagram only.
    pub per_server: bool,
    /// It reports as missing what may have come before the capture: in that case its finding is a note.
    pub needs_past: bool,
    /// It compares the sizes of request and answer, and its findings state them.
    pub ratio: bool,
    /// An answer that breaks it went to a client that has not proven its address, although the protocol can prove
    /// addresses.
    pub unproven: bool,
    /// Who is at fault.
    pub side: Side,
    /// Severity in the strict profile, where it differs.
    pub strict: Option<Severity>,
    /// Severity in the lenient profile, where it differs.
    pub lenient: Option<Severity>,
    /// Only the tests of `ask --probe` find it, so that it has no examples.
    pub active: bool,
    /// Shortest conversations that break this rule. Tested: it must be reported there.
    pub examples: &'static [Example],
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Who is at fault where a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The sender of the datagram; of an exchange without an answer, the server.
    Sender,
    /// The client.
    Client,
    /// The server.
    Server,
    /// The network between them: loss, copies, delay.
    Path,
    /// Whoever made the capture.
    Capture,
}

impl Side {
    /// Every side.
    pub const ALL: &[Side] = &[Side::Sender, Side::Client, Side::Server, Side::Path, Side::Capture];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Sender => "sender",
            Side::Client => "client",
            Side::Server => "server",
            Side::Path => "path",
            Side::Capture => "capture",
        }
    }
}

/// A place in a published document, or in a deployed implementation where no document says it.
#[derive(Clone, Copy, Debug)]
pub struct Cite {
    /// Name of the document or implementation.
    pub doc: &'static str,
    /// Section, table or file.
    pub section: &'static str,
    /// Public address; empty where none is known.
    pub url: &'static str,
}

impl Rule {
    /// A rule without options; the fields that every rule must have are still empty.
    pub(crate) const PLAIN: Rule = Rule {
        id: "",
        severity: Severity::Note,
        title: "",
        why: "",
        cite: Cite { doc: "", section: "", url: "" },
        per_server: false,
        needs_past: false,
        ratio: false,
        unproven: false,
        active: false,
        side: Side::Sender,
        strict: None,
        lenient: None,
        examples: &[],
    };
    /// Its address, which is unique: as a key it is faster to hash and compare than the id, which is text.
    #[inline(always)]
    pub(crate) fn address(&'static self) -> usize {
        std::ptr::from_ref(self) as usize
    }
    /// Whether it is shared by all protocols.
    pub fn is_shared(&self) -> bool {
        self.id.starts_with("GEN-")
    }
    /// The title as one word: `string-is-not-valid-utf-8`.
    pub fn slug(&self) -> String {
        let mut slug = String::with_capacity(self.title.len());
        for word in self.title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
            if !slug.is_empty() {
                slug.push('-');
            }
            slug.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        }
        slug
    }
}

/// A conversation that shows how a rule is broken, or how a protocol is used correctly.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The server's UDP port where it matters.
    pub server_port: Option<u16>,
    /// The capture begins with the example: earlier datagrams may be missing.
    pub at_start: bool,
    /// What happens, in order.
    pub steps: &'static [Step],
}

impl Example {
    /// An example between one client and a server on any port.
    pub const fn of(steps: &'static [Step]) -> Example {
        Example { server_port: None, at_start: false, steps }
    }
    /// An example whose server listens on `port`.
    pub const fn on(port: u16, steps: &'static [Step]) -> Example {
        Example { server_port: Some(port), at_start: false, steps }
    }
    /// An example with which the capture begins.
    pub const fn at_start(steps: &'static [Step]) -> Example {
        Example { server_port: None, at_start: true, steps }
    }
}

/// One step of an [`Example`]. Payloads are hex; blanks between digits are layout, and `'text'` stands for its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// First client → server.
    C(&'static str),
    /// Server → first client.
    S(&'static str),
    /// Second client → server.
    C2(&'static str),
    /// Server → second client.
    S2(&'static str),
    /// A pause, in milliseconds of capture time.
    Wait(u32),
    /// A whole frame: link type, length on the wire in bytes, and what was captured of it.
    Frame(u16, u32, &'static str),
    /// A copy of the frame before it, a tenth of a millisecond later, as a mirrored port shows it.
    Copy,
}

/// The bytes of spaced hex. `78*3` stands for `78 78 78`, and `'text'` for the bytes of the text.
///
/// # Panics
/// On anything else: examples are constants of this crate.
#[cfg(any(feature = "cli", test))]
#[allow(clippy::panic)]
pub fn hex(text: &str) -> Vec<u8> {
    let mut out = vec![];
    let mut quoted = true;
    for part in text.split('\'') {
        quoted = !quoted;
        if quoted { out.extend_from_slice(part.as_bytes()) } else { unspaced(part, &mut out) }
    }
    assert!(!quoted, "a quote is open in {text:?}");
    out
}

/// Appends the bytes of spaced hex without quotes.
#[cfg(any(feature = "cli", test))]
#[allow(clippy::panic)]
fn unspaced(text: &str, out: &mut Vec<u8>) {
    let nibble = |d: u8| match (d as char).to_digit(16) {
        Some(n) => n as u8,
        None => panic!("{:?} is no hex digit in {text:?}", d as char),
    };
    for word in text.split_ascii_whitespace() {
        let (digits, times) = word.split_once('*').unwrap_or((word, "1"));
        assert!(digits.len().is_multiple_of(2), "odd number of hex digits in {text:?}");
        let bytes: Vec<u8> =
            digits.as_bytes().chunks_exact(2).map(|d| (nibble(d[0]) << 4) | nibble(d[1])).collect();
        let times: usize = times.parse().unwrap_or_else(|_| panic!("{times:?} is no number in {text:?}"));
        out.extend(bytes.repeat(times));
    }
}

/// Declares rules and, from the same text, their list, so that no rule is missing from it: `RULES`, or the name that
/// `list NAME;` gives where a file has several lists. The doc comment is the explanation that users read. A rule of
/// [`pairing`] is declared as `NAME: COMMON = "ID"`, without severity and title.
macro_rules! rules {
    (@base) => { $crate::rule::Rule::PLAIN };
    (@base $common:ident) => { $crate::rule::pairing::$common };
    (list $LIST:ident; $($(#[doc = $why:expr])+ $NAME:ident $(: $common:ident)? = $id:literal $($severity:ident $title:literal)? {
        cite: $cite:expr, $(per_server: $once:literal,)? $(needs_past: $past:literal,)? $(ratio: $ratio:literal,)? $(unproven: $unproven:literal,)? $(active: $active:literal,)? $(side: $side:ident,)? $(strict: $strict:ident,)? $(lenient: $lenient:ident,)? examples: [$($example:expr),* $(,)?] $(,)?
    })*) => {
        $($(#[doc = $why])+ pub static $NAME: $crate::rule::Rule = $crate::rule::Rule {
            id: $id,
            $(severity: $crate::rule::Severity::$severity, title: $title,)?
            why: concat!($($why, "\n"),+),
            cite: $cite,
            examples: &[$($example),*],
            $(per_server: $once,)?
            $(needs_past: $past,)?
            $(ratio: $ratio,)?
            $(unproven: $unproven,)?
            $(active: $active,)?
            $(side: $crate::rule::Side::$side,)?
            $(strict: Some($crate::rule::Severity::$strict),)?
            $(lenient: Some($crate::rule::Severity::$lenient),)?
            ..$crate::rule::rules!(@base $($common)?)
        };)*
        /// These rules, in order.
        pub static $LIST: &[&$crate::rule::Rule] = &[$(&$NAME),*];
    };
    ($($rules:tt)*) => {
        $crate::rule::rules! { list RULES; $($rules)* }
    };
}
pub(crate) use rules;

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn payloads_are_spaced_hex_and_quoted_text() {
        assert_eq!(hex("ff 00*2 'a b' 0a 'c'"), b"\xff\0\0a b\nc");
        assert_eq!(hex("''"), b"");
    }

    #[test]
    #[should_panic(expected = "a quote is open")]
    fn a_quote_must_close() {
        hex("ff 'a");
    }
}
