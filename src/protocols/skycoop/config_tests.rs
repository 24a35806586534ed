//! Tests of reading the text of a configuration.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]

use super::*;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Strictness, players, experience and pvp of a text.
fn read(text: &str) -> Option<(bool, Vec<String>, String, String)> {
    let bytes = utf16(text);
    let shown = |s: Slice<'_>| {
        assert_eq!(&bytes[s.at..s.at + s.text.len()], s.text, "a slice stands where it says");
        Shown::Utf16(s.text).text().unwrap().into_owned()
    };
    let config = Config::read(&bytes)?;
    let players = config.players().map(|p| p.map(shown).collect()).unwrap_or_default();
    let experience = config.experience.map(shown).unwrap_or_default();
    Some((config.strict, players, experience, config.pvp.map(|(p, _)| shown(p)).unwrap_or_default()))
}

#[test]
fn what_servers_send_is_read_as_it_is_meant() {
    let real =
        read("{'players':['Alice','Ёжик','a\"b','c\\'],'experience':'Interloper','pvp':'True'}").unwrap();
    assert!(!real.0);
    assert_eq!(real.1, ["Alice", "Ёжик", "a\"b", "c\\"]);
    assert_eq!((real.2.as_str(), real.3.as_str()), ("Interloper", "True"));
    assert_eq!(read("{'players':[],'pvp':False}").unwrap(), (false, vec![], String::new(), "False".into()));
}

#[test]
fn json_is_json() {
    let text = r#" { "players" : [ "a\"b" , "c" ] , "x" : {"y":[1,-2.5,null]}, "pvp": true } "#;
    assert_eq!(read(text).unwrap(), (true, vec!["a\\\"b".into(), "c".into()], String::new(), "true".into()));
    assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
    assert!(read("{}").unwrap().0);
}

#[test]
fn what_is_neither_is_refused() {
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
fn nesting_is_followed_to_its_limit() {
    let nested = |open: &str, inside: &str, close: &str, n| {
        read(&format!("{{'a':{}{inside}{},'pvp':'True'}}", open.repeat(n), close.repeat(n)))
    };
    // The outermost braces count, and so does what stands within the innermost.
    assert_eq!(nested("[", "", "]", 7).unwrap().3, "True");
    assert_eq!(nested("{'b':", "1", "}", 6).unwrap().3, "True");
    assert_eq!(nested("[", "", "]", 8), None);
    assert_eq!(nested("{'b':", "1", "}", 7), None);
}
