//! The configuration string: JSON according to the published page, but JSON with single quotes from every known server.
//!
//! ```text
//! {'players':['Ann','Bob'],'experience':'Stalker','pvp':'True'}
//! ```
//!
//! The server escapes nothing, so a backslash between single quotes is read as a backslash, although clients may read it
//! differently.
//! Text between double quotes is read as JSON, but its escapes are shown as they were sent, because values are borrowed.
//!
//! Also contains the datagrams that all examples share.

use crate::decode::Value as FieldValue;
use crate::protocols::prelude::*;

/// The published page.
pub(super) const SPEC: &str = "https://github.com/Filigrani/SkyCoop/wiki/Server-Query-Protocol";

pub(super) const fn wiki(section: &'static str) -> Cite {
    Cite { doc: "Sky Co-op wiki, Server Query Protocol", section, url: SPEC }
}

/// The published dedicated server.
pub(super) const fn server(file: &'static str) -> Cite {
    Cite {
        doc: "Sky Co-op dedicated server",
        section: file,
        url: "https://github.com/RED1cat/SkyCoopDedicatedServer",
    }
}

/// The mod itself, which contains the client.
pub(super) const fn client(file: &'static str) -> Cite {
    Cite { doc: "Sky Co-op mod", section: file, url: "https://github.com/Filigrani/SkyCoop" }
}

/// The query.
pub(super) const RQ: Step = C("feffffff");

/// A reply: "Camp", version 0.13.2, two of ten players, Ann and Bob.
pub(super) const OK: Step = S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 \
     7a000000 7b00270070006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f006200\
     27005d002c00270065007800700065007200690065006e006300650027003a0027005300740061006c006b0065007200\
     27002c00270070007600700027003a002700540072007500650027007d00");

/// RCON with the password "pw123" and the command "status".
pub(super) const RCON: Step = C("ffffffff 05000000 7077313233 0c000000 730074006100740075007300");

pub(super) const SAMPLES: &[Example] = &[
    Example::on(26950, &[RQ, OK]),
    // "Zoé 🏕" without players; asked again by another client.
    Example::of(&[
        RQ,
        S("93000000 0c000000 5a006f00e90020003cd8d5df 06000000 302e31332e32 00000000 0a000000 \
           66000000 7b00270070006c006100790065007200730027003a005b005d002c002700650078007000650072006900\
           65006e006300650027003a002700500069006c006700720069006d0027002c00270070007600700027003a002700\
           460061006c007300650027007d00"),
        Wait(700),
        C2("feffffff"),
        S2("93000000 0c000000 5a006f00e90020003cd8d5df 06000000 302e31332e32 00000000 0a000000 \
           66000000 7b00270070006c006100790065007200730027003a005b005d002c002700650078007000650072006900\
           65006e006300650027003a002700500069006c006700720069006d0027002c00270070007600700027003a002700\
           460061006c007300650027007d00"),
    ]),
    // The layout before April 2023.
    Example::on(
        26950,
        &[
            RQ,
            S(
                "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01",
            ),
        ],
    ),
    // RCON beside the query, with the answer "ok".
    Example::on(26950, &[RQ, OK, RCON, S("82000000 04000000 6f006b00")]),
];

// --- The configuration

fields! {
    /// What the configuration says, read leniently.
    CONFIG_PARSED = "config_parsed": Group;
    /// Names of the players.
    PLAYER_LIST = "config_parsed.players": List;
    /// One name.
    PLAYER = "config_parsed.players[]": Text;
    /// Difficulty of the game.
    EXPERIENCE = "config_parsed.experience": Text public;
    /// Players can hurt each other; absent where neither True nor False is sent.
    PVP = "config_parsed.pvp": Bool;
}

rules! {
    /// The page says JSON, but the server puts its strings between single quotes, and no JSON parser takes that.
    /// Every real server does it.
    JSN_001 = "SKY-JSN-001" Note "configuration is JSON with single quotes" {
        cite: server("GetStatusJson"),
        per_server: true,
        strict: Warning,
        examples: [Example::of(&[RQ, OK])],
    }
    /// It is cut, or a name broke it, for the server escapes nothing: one with the quote that ends it.
    JSN_002 = "SKY-JSN-002" Error "configuration is not JSON, not even with double quotes" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 02000000 7b00")]),
            // A player whose name is a quote.
            Example::of(&[RQ, S("93000000 02000000 4100 03000000 302e31 01000000 0a000000 6c000000 7b002700\
               70006c006100790065007200730027003a005b0027002700270027005d002c00270065007800700065007200690065006e00\
               6300650027003a002700500069006c006700720069006d0027002c00270070007600700027003a002700460061006c00\
               7300650027007d00")]),
        ],
    }
    /// Every known server sends the three of them: a list, and two strings.
    JSN_003 = "SKY-JSN-003" Warning "players, experience or pvp is missing or of another type" {
        cite: server("GetStatusJson"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 32000000 7b002700\
               70006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d007d00")]),
        ],
    }
    /// Operators on RCON are counted, but not listed.
    JSN_004 = "SKY-JSN-004" Note "list of players and number of players differ" {
        cite: server("GetStatusJson"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 03000000 0a000000 7a000000 7b002700\
               70006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c00\
               270065007800700065007200690065006e006300650027003a0027005300740061006c006b006500720027002c00\
               270070007600700027003a002700540072007500650027007d00")]),
        ],
    }
    /// Known are Pilgrim, Voyageur, Stalker, Interloper and Unknown.
    JSN_005 = "SKY-JSN-005" Note "experience is unknown" {
        cite: server("GetDifficultyString"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 78000000 7b002700\
               70006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c00\
               270065007800700065007200690065006e006300650027003a0027004d006900730065007200790027002c002700\
               70007600700027003a002700540072007500650027007d00")]),
        ],
    }
    /// No known server sends it: this is another implementation.
    JSN_006 = "SKY-JSN-006" Note "configuration is strict JSON" {
        cite: wiki("Reply format"),
        per_server: true,
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 7a000000 7b002200\
               70006c006100790065007200730022003a005b00220041006e006e0022002c00220042006f00620022005d002c00\
               220065007800700065007200690065006e006300650022003a0022005300740061006c006b006500720022002c00\
               220070007600700022003a002200540072007500650022007d00")]),
        ],
    }
    /// The server writes a truth value as .NET shows it, as a string.
    JSN_007 = "SKY-JSN-007" Warning "pvp is neither the string True nor False" {
        cite: server("GetStatusJson"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 74000000 7b002700\
               70006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c00\
               270065007800700065007200690065006e006300650027003a0027005300740061006c006b006500720027002c00\
               270070007600700027003a002700310027007d00")]),
        ],
    }
    /// It tells them to anyone who asks, without any login.
    SEC_003 = "SKY-SEC-003" Note "reply discloses the names of players" {
        cite: server("GetStatusJson"),
        per_server: true,
        examples: [Example::of(&[RQ, OK])],
    }
}

/// What may follow a backslash in JSON.
const ESCAPES: [u8; 9] = *b"\"\\/bfnrtu";
/// Maximum nesting depth.
const MAX_DEPTH: u8 = 8;

/// The content of a configuration string. Texts are borrowed UTF-16LE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Config<'a> {
    /// The list of players, without its brackets.
    players: Option<Slice<'a>>,
    /// Difficulty.
    experience: Option<Slice<'a>>,
    /// Whether players can hurt each other: the value as sent, and whether it is a string.
    pvp: Option<(Slice<'a>, bool)>,
    /// Whether the string is valid JSON.
    strict: bool,
    /// Whether a string in it has single quotes.
    single_quoted: bool,
    /// Whether a string in it would be invalid in JSON even with double quotes.
    broken: bool,
    /// Length of the string in bytes.
    length: u16,
}

/// A piece of the string, and its offset in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

impl Slice<'_> {
    /// Whether the piece equals an ASCII text.
    pub fn is(&self, ascii: &str) -> bool {
        let (units, tail) = self.text.as_chunks::<2>();
        tail.is_empty() && units.iter().map(|u| u16::from_le_bytes(*u)).eq(ascii.bytes().map(u16::from))
    }

    /// The beginning of it, for a finding; what is not ASCII becomes `?`.
    fn compared(&self) -> ComparedValue {
        let mut ascii = [0; 32];
        let units = self.text.as_chunks::<2>().0;
        ascii.iter_mut().zip(units).for_each(|(to, unit)| *to = if unit[1] == 0 { unit[0] } else { b'?' });
        ComparedValue::from(ascii.get(..units.len()).unwrap_or(&ascii))
    }

    /// The boolean that it names, as .NET or JSON writes it.
    fn boolean(&self) -> Option<bool> {
        let words = [("True", true), ("true", true), ("False", false), ("false", false)];
        words.iter().find(|(word, _)| self.is(word)).map(|(_, value)| *value)
    }
}

/// A value and its kind.
#[derive(Clone, Copy)]
struct Value<'a> {
    inside: Slice<'a>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    List,
    Object,
    Word,
}

impl<'a> Config<'a> {
    /// Parses a configuration string; `None` if even lenient parsing fails.
    pub(super) fn read(text: &'a [u8]) -> Option<Config<'a>> {
        if !text.len().is_multiple_of(2) {
            return None;
        }
        let mut reader = Reader::new(text);
        let mut config = Config::default();
        reader.skip_blanks();
        reader.object(0, |key, value| {
            if key.is("players") && value.kind == Kind::List {
                config.players.get_or_insert(value.inside);
            } else if key.is("experience") && value.kind == Kind::Text {
                config.experience.get_or_insert(value.inside);
            } else if key.is("pvp") && matches!(value.kind, Kind::Text | Kind::Word) {
                config.pvp.get_or_insert((value.inside, value.kind == Kind::Text));
            }
        })?;
        reader.skip_blanks();
        config.strict = reader.strict && !reader.broken;
        (config.single_quoted, config.broken) = (reader.single_quoted, reader.broken);
        config.length = text.len() as u16;
        (reader.at == reader.units.len()).then_some(config)
    }

    /// The names of the players, if the string lists them.
    pub(super) fn players(&self) -> Option<Players<'a>> {
        self.players.map(|inside| Players { reader: Reader::new(inside.text), base: inside.at })
    }
}

/// Iterates over the list of players.
pub(super) struct Players<'a> {
    reader: Reader<'a>,
    base: usize,
}

impl<'a> Iterator for Players<'a> {
    type Item = Slice<'a>;

    fn next(&mut self) -> Option<Slice<'a>> {
        self.reader.skip_blanks();
        let Slice { text, at } = self.reader.value(0)?.inside;
        self.reader.skip_blanks();
        self.reader.take(b',');
        Some(Slice { text, at: at.saturating_add(self.base) })
    }
}

/// Reads UTF-16 units. Every step consumes at least one unit or fails, so reading ends.
struct Reader<'a> {
    text: &'a [u8],
    units: &'a [[u8; 2]],
    at: usize,
    strict: bool,
    single_quoted: bool,
    broken: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, units: text.as_chunks().0, at: 0, strict: true, single_quoted: false, broken: false }
    }

    fn peek(&self) -> Option<u16> {
        self.units.get(self.at).map(|u| u16::from_le_bytes(*u))
    }

    fn skip(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn take(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(u16::from(c));
        if found {
            self.skip();
        }
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(0x20 | 0x09 | 0x0a | 0x0d)) {
            self.skip();
        }
    }

    fn slice(&self, from: usize, to: usize) -> Slice<'a> {
        let (at, end) = (from.saturating_mul(2), to.saturating_mul(2));
        Slice { text: self.text.get(at..end).unwrap_or_default(), at }
    }

    fn value(&mut self, depth: u8) -> Option<Value<'a>> {
        let from = self.at;
        let kind = match u8::try_from(self.peek()?).ok()? {
            b'\'' | b'"' => return self.string().map(|inside| Value { inside, kind: Kind::Text }),
            b'[' => {
                self.list(depth)?;
                // The slice excludes the brackets.
                let inside = self.slice(from.saturating_add(1), self.at.saturating_sub(1));
                return Some(Value { inside, kind: Kind::List });
            }
            b'{' => {
                self.object(depth, |_, _| ())?;
                Kind::Object
            }
            _ => {
                self.word()?;
                Kind::Word
            }
        };
        Some(Value { inside: self.slice(from, self.at), kind })
    }

    /// Reads a string; returns the text between the quotes.
    fn string(&mut self) -> Option<Slice<'a>> {
        let quote = self.peek()?;
        self.skip();
        let from = self.at;
        let single = quote == u16::from(b'\'');
        self.strict &= !single;
        self.single_quoted |= single;
        loop {
            let c = self.peek()?;
            self.skip();
            if c == quote {
                return Some(self.slice(from, self.at.saturating_sub(1)));
            }
            self.broken |= c < 0x20;
            if c == u16::from(b'\\') {
                let escape = self.peek().is_some_and(|c| ESCAPES.map(u16::from).contains(&c));
                self.broken |= !escape;
                // If a name ends with a backslash, the quote after it ends the name.
                if escape || !single {
                    self.skip();
                }
            }
        }
    }

    /// Reads a number or a word: true, false and null in JSON, True, False and None elsewhere.
    fn word(&mut self) -> Option<()> {
        let from = self.at;
        let part = |c: u16| {
            u8::try_from(c).is_ok_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.'))
        };
        while self.peek().is_some_and(part) {
            self.skip();
        }
        let word = self.slice(from, self.at);
        let known = ["true", "false", "null"].iter().any(|w| word.is(w));
        let digit = |b: &u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E' | 0);
        let number = !word.text.is_empty() && !word.text.starts_with(b"e") && word.text.iter().all(digit);
        let lenient = ["True", "False", "None"].iter().any(|w| word.is(w));
        self.strict &= known || number;
        (known || number || lenient).then_some(())
    }

    fn list(&mut self, depth: u8) -> Option<()> {
        self.skip();
        self.elements(b']', |reader| reader.value(depth.checked_add(1).filter(|d| *d < MAX_DEPTH)?).map(drop))
    }

    fn object(&mut self, depth: u8, mut pair: impl FnMut(Slice<'a>, Value<'a>)) -> Option<()> {
        if !self.take(b'{') {
            return None;
        }
        self.elements(b'}', |reader| {
            if !matches!(reader.peek(), Some(0x22 | 0x27)) {
                return None;
            }
            let key = reader.string()?;
            reader.skip_blanks();
            if !reader.take(b':') {
                return None;
            }
            reader.skip_blanks();
            let value = reader.value(depth.checked_add(1).filter(|d| *d < MAX_DEPTH)?)?;
            pair(key, value);
            Some(())
        })
    }

    /// Reads elements between commas, up to `end`.
    fn elements(&mut self, end: u8, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.skip_blanks();
        if self.take(end) {
            return Some(());
        }
        loop {
            self.skip_blanks();
            element(self)?;
            self.skip_blanks();
            if self.take(end) {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
        }
    }
}

/// The difficulties that servers name.
static EXPERIENCES: [&str; 5] = ["Pilgrim", "Voyageur", "Stalker", "Interloper", "Unknown"];

/// Reads the configuration string that was just decoded, checks it and reports its content.
pub(super) fn decode<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, text: &'a [u8], players: i32) {
    let config = Config::read(text);
    c.check(&JSN_002, || config.is_some());
    let Some(config) = config else { return };
    c.facts.game = config.experience.map(|e| FieldValue::Utf16(e.text));
    c.check(&JSN_001, || !config.single_quoted || config.broken);
    c.check(&JSN_006, || !config.strict);
    let wanted = [
        (config.players.is_some(), "players"),
        (config.experience.is_some(), "experience"),
        (config.pvp.is_some(), "pvp"),
    ];
    let lacks = || wanted.iter().find(|(has, _)| !has);
    c.compare(
        &JSN_003,
        || lacks().is_none(),
        || Compared::new("nothing that fits", lacks().map_or("", |(_, name)| *name)),
    );
    let listed = || config.players().map(|p| p.count());
    c.compare(
        &JSN_004,
        || listed().is_none_or(|n| i32::try_from(n) == Ok(players)),
        || Compared::new(listed().unwrap_or_default(), players),
    );
    c.compare(
        &SEC_003,
        || listed().unwrap_or_default() == 0,
        || Compared::new(listed().unwrap_or_default(), 0),
    );
    let known = |e: Slice<'_>| EXPERIENCES.iter().any(|name| e.is(name));
    c.compare(
        &JSN_005,
        || config.experience.is_none_or(known),
        || {
            Compared::new(
                config.experience.map_or(ComparedValue::Nothing, |e| e.compared()),
                "a difficulty of the game",
            )
        },
    );
    let by_dotnet = |(value, string): (Slice<'_>, bool)| string && (value.is("True") || value.is("False"));
    c.compare(
        &JSN_007,
        || config.pvp.is_none_or(by_dotnet),
        || {
            Compared::new(
                config.pvp.map_or(ComparedValue::Nothing, |(value, _)| value.compared()),
                "the text True or False",
            )
        },
    );
    report(c, &config);
}

/// Reports the content as derived fields.
fn report<S: FieldSink>(c: &mut Cursor<'_, '_, S>, config: &Config<'_>) {
    let end = c.last().end;
    let all = Span { start: end.saturating_sub(config.length), end };
    let span = |slice: &Slice<'_>| {
        let start = all.start.saturating_add(slice.at as u16);
        Span { start, end: start.saturating_add(slice.text.len() as u16) }
    };
    c.derived_in(&CONFIG_PARSED, Shape::Group, all, |c| {
        if let (Some(players), Some(inside)) = (config.players(), &config.players) {
            c.derived_in(&PLAYER_LIST, Shape::List, span(inside), |c| {
                players.for_each(|name| c.derived_at(&PLAYER, span(&name), FieldValue::Utf16(name.text)));
            });
        }
        if let Some(e) = &config.experience {
            c.derived_at(&EXPERIENCE, span(e), FieldValue::Utf16(e.text));
        }
        if let Some((value, _)) = &config.pvp
            && let Some(pvp) = value.boolean()
        {
            c.derived_at(&PVP, span(value), FieldValue::Bool(pvp));
        }
    });
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    /// Strictness, players, experience and pvp of a text.
    fn read(text: &str) -> Option<(bool, Vec<String>, String, String)> {
        let bytes = utf16(text);
        let shown = |s: Slice<'_>| {
            assert_eq!(&bytes[s.at..s.at + s.text.len()], s.text, "a slice stands where it says");
            FieldValue::Utf16(s.text).text().unwrap().into_owned()
        };
        let config = Config::read(&bytes)?;
        let players = config.players().map(|p| p.map(shown).collect()).unwrap_or_default();
        let experience = config.experience.map(shown).unwrap_or_default();
        Some((config.strict, players, experience, config.pvp.map(|(p, _)| shown(p)).unwrap_or_default()))
    }

    #[test]
    fn reads_single_quoted_text_as_servers_send_it() {
        let real =
            read("{'players':['Alice','Ёжик','a\"b','c\\'],'experience':'Interloper','pvp':'True'}").unwrap();
        assert!(!real.0);
        assert_eq!(real.1, ["Alice", "Ёжик", "a\"b", "c\\"]);
        assert_eq!((real.2.as_str(), real.3.as_str()), ("Interloper", "True"));
        assert_eq!(
            read("{'players':[],'pvp':False}").unwrap(),
            (false, vec![], String::new(), "False".into())
        );
    }

    #[test]
    fn reads_valid_json() {
        let text = r#" { "players" : [ "a\"b" , "c" ] , "x" : {"y":[1,-2.5,null]}, "pvp": true } "#;
        assert_eq!(
            read(text).unwrap(),
            (true, vec!["a\\\"b".into(), "c".into()], String::new(), "true".into())
        );
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        assert!(read("{}").unwrap().0);
    }

    #[test]
    fn reads_names_that_would_break_json() {
        let broken = |text: &str| Config::read(&utf16(text)).unwrap().broken;
        for text in ["{'a':'\\'}", "{'a':'\\o/'}", "{'a':'b\tc'}", "{\"a\":\"\\x\"}", "{\"a\":\"b\tc\"}"] {
            assert!(broken(text), "{text:?}");
        }
        for text in ["{'a':'\\\\'}", "{'a':'\\n','b':'\"'}", "{\"a\":\"\\\"\\u0041\"}", "{'a':\t'b'}"] {
            assert!(!broken(text), "{text:?}");
        }
    }

    #[test]
    fn rejects_malformed_text() {
        for text in [
            "",
            "{",
            "{'a'}",
            "{'a':}",
            "{'a':1,}",
            "{a:1}",
            "['a']",
            "{} x",
            "{'a':[1,]}",
            "{'a':maybe}",
            "{'a':'b}",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert!(Config::read(b"{\0}").is_none(), "half a unit");
    }

    #[test]
    fn reads_nesting_up_to_the_limit() {
        let nested = |open: &str, inside: &str, close: &str, n| {
            read(&format!("{{'a':{}{inside}{},'pvp':'True'}}", open.repeat(n), close.repeat(n)))
        };
        // The outermost braces count as a level, and so does the content of the innermost.
        assert_eq!(nested("[", "", "]", 7).unwrap().3, "True");
        assert_eq!(nested("{'b':", "1", "}", 6).unwrap().3, "True");
        assert_eq!(nested("[", "", "]", 8), None);
        assert_eq!(nested("{'b':", "1", "}", 7), None);
    }
}
