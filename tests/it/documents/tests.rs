//! Tests the parsers of pages and shell text with invalid input.

use super::*;
use shell::{Piece, commands, pieces};

const PAGE: &str = "# A\n\n```sh\none |\n  two\n```\n\n```text\nout\n```\n\nWords.\n\n<!-- not run: needs two -->\n```sh\n\
                    three\n```\n<!-- not run: -->\n\n```sh\nfour\n```\n\n<!-- not run: far away -->\n\nMore.\n\n```sh\nfive\n\
                    ```\n\n* item\n  ```sh\n  six\n  ```\n\n````\n```sh\nseven\n```\n````\n";

#[test]
fn blocks_are_found_with_their_lines_marks_and_neighbours() {
    let found = blocks(PAGE);
    let seen =
        |b: &Block| (b.line, b.language.clone(), b.text.clone(), b.not_run().map(str::to_owned), b.follows);
    let is = |line, language: &str, text: &str, mark: Option<&str>, follows| {
        (line, language.to_owned(), text.to_owned(), mark.map(str::to_owned), follows)
    };
    assert_eq!(
        found.iter().map(seen).collect::<Vec<_>>(),
        [
            is(3, "sh", "one |\n  two\n", None, false),
            is(8, "text", "out\n", None, true),
            is(15, "sh", "three\n", Some("needs two"), false),
            is(20, "sh", "four\n", Some(""), true),
            is(28, "sh", "five\n", None, false),
            is(33, "sh", "six\n", None, false),
            is(37, "", "```sh\nseven\n```\n", None, true),
        ]
    );
}

#[test]
fn the_range_of_a_block_can_be_replaced() {
    let page = "a\n```sh\none\n```\n```text\n```\n\n````\n```\ntwo\n````\n";
    let insides: Vec<&str> = blocks(page).into_iter().map(|block| &page[block.inside]).collect();
    assert_eq!(insides, ["one\n", "", "```\ntwo\n"]);
    let mut tried = Tried::default();
    let page = "```sh\necho one | cat\n```\n```text\ntwo\n```\n```text\nthree\n```\n";
    let anew = try_page(Path::new("a.md"), page, &mut tried);
    assert_eq!(anew, page.replace("two", "one"));
    assert_eq!((tried.ran, tried.wrong.len()), (1, 1));
    assert!(tried.wrong[0].starts_with("a.md:1: it prints"));
    let kept = "<!-- saved as: a.txt -->\n```text\none\n```\n```sh\ncat a.txt\n```\n```text\none\n```\n";
    assert_eq!(try_page(Path::new("a.md"), kept, &mut tried), kept);
    try_page(Path::new("a.md"), "<!-- not run: -->\n```sh\nfalse\n```\n", &mut tried);
    assert_eq!((tried.ran, tried.marked), (2, 1));
    try_page(Path::new("a.md"), "<!-- dont run: it is slow -->\n```sh\ntrue\n```\n", &mut tried);
    assert_eq!((tried.ran, tried.marked), (3, 1));
    let wrong = ["a.md:2: the mark has no reason", "a.md:2: nobody knows the mark \"dont run: it is slow\""];
    assert_eq!(tried.wrong[1..], wrong);
}

#[test]
fn an_invalid_mark_does_not_skip_a_block() {
    for mark in ["<!-- not run, needs two -->", "<!-- needs two -->", "not run: needs two", "<!-- not run: a"]
    {
        let found = blocks(&format!("{mark}\n\n```sh\none\n```\n"));
        assert!(found.iter().all(|block| block.not_run().is_none()), "{mark}: {found:?}");
    }
}

#[test]
fn operators_are_found_unless_they_are_quoted() {
    for (line, found) in [
        ("qdissect a | head", "|"),
        ("qdissect a|head", "|"),
        ("qdissect a >out", ">"),
        ("qdissect a 2>>out", ">>"),
        ("qdissect - <a", "<"),
        ("qdissect a && b", "&&"),
        ("qdissect a || b", "||"),
        ("qdissect a; b", ";"),
        ("qdissect a &", "&"),
        ("qdissect $(ls)", "$("),
        ("qdissect \"a $(ls)\"", "$("),
        ("qdissect `ls`", "`"),
        ("qdissect -Y 'a > 3' | head", "|"),
        ("qdissect -Y 'it''s' > 3", ">"),
        ("qdissect -Y 'a > 3", "'"),
        ("qdissect \"a", "\""),
    ] {
        assert_eq!(operator(line).as_deref(), Some(found), "{line}");
    }
    for line in [
        "qdissect -Y 'a > 3 || b < 4' a.pcap",
        "qdissect -Y \"a > 3; b\" a.pcap",
        "qdissect -Y a\\>3 a.pcap",
        "qdissect -Y 'a $(b) `c`' a.pcap",
        "qdissect a.pcap # | head",
        "qdissect a#b $c",
    ] {
        assert_eq!(operator(line), None, "{line}");
    }
}

#[test]
fn words_come_without_their_quotes_and_lines_are_joined() {
    let words = |text: &str| {
        let word = |piece| match piece {
            Piece::Word(word) => word,
            other => panic!("{other:?} in {text}"),
        };
        pieces(text).into_iter().map(word).collect::<Vec<_>>()
    };
    assert_eq!(words("a 'b c'\"d\"e \\\n  f ''"), ["a", "b cde", "f", ""]);
    assert_eq!(words(r#""a\"b\n" '\'"#), [r#"a"b\n"#, r"\"]);
}

#[test]
fn the_commands_of_a_script_are_separated() {
    let script = "# words | words\nx=1 A=b one 'a | b' 2>log >out | two \\\n  c && three\nfor f in *; do four \"$f\"; done\n";
    let found = commands(script);
    let found: Vec<String> = found.into_iter().map(|command| command.join(" ")).collect();
    assert_eq!(found, ["one a | b", "two c", "three", "for f in *", "four $f", "done"]);
    let block = |text: &str| blocks(&format!("```sh\n{text}\n```\n")).remove(0);
    assert_eq!(missing(&block("sh -c true | cat")), None);
    assert_eq!(missing(&block("echo jq")), None);
}

#[test]
fn command_lines_of_transcripts_may_have_several_lines() {
    let block = |language| {
        blocks(&format!("```{language}\n$ one \\\n> two | three\nout\n> no\n$ four\n```\n")).remove(0)
    };
    assert_eq!(command_lines(&block("console")), ["one \\ two | three", "four"]);
    assert!(command_lines(&block("text")).is_empty());
}

#[test]
fn broken_links_are_noticed() {
    let page = "# A `b`: c_d, E\n\n## A\n\n## A\n\n<a id=\"own\"></a>\n\n[x](b.md) `[y](c.md)`\n[z](#a)\n";
    let anchors = links::anchors(page);
    let mut sorted: Vec<&str> = anchors.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, ["a", "a-1", "a-b-c_d-e", "own"]);
    assert_eq!(links::links(page), [(9, "b.md".to_owned()), (10, "#a".to_owned())]);
    let all = HashMap::from([(PathBuf::from("docs/hex.md"), anchors)]);
    let from = |page: &str, link: &str| link_error(&all, Path::new(page), link);
    assert_eq!(from("docs/hex.md", "#a-1"), None);
    assert_eq!(from("README.md", "docs/hex.md#own"), None);
    assert_eq!(from("docs/protocols/sqp.md", "../hex.md#a"), None);
    assert_eq!(from("docs/hex.md", "../src/lib.rs"), None);
    assert_eq!(from("docs/hex.md", "https://example.org/x"), None);
    assert_eq!(from("docs/hex.md", "#b"), Some("there is no such heading"));
    assert_eq!(from("README.md", "hex.md"), Some("there is no such file"));
    assert_eq!(from("docs/hex.md", "http://example.org/x"), Some("there is no such file"));
}
