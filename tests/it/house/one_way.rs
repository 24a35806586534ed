//! Imports run in one direction: a stage imports only lower stages, and the files of a directory have no circular imports.

use crate::kit::sources::sources;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The modules of the library from the lowest level up. A module may import modules of lower levels.
const FLOORS: [&[&str]; 17] = [
    &["bounded", "rule"],
    &["capture"],
    &["net", "text"],
    &["decode", "layout"],
    &["contract"],
    &["protocols"],
    &["conversation", "diagnosis"],
    &["check"],
    &["classify"],
    &["exchange"],
    &["filter"],
    &["report"],
    &["browse", "case", "pasted", "pipeline", "stats", "verdict"],
    &["anonymise", "diff", "page", "reduce", "tables"],
    &["schema"],
    &["answer"],
    &["cli"],
];

/// The level of a module, counted from the lowest.
fn floor(module: &str) -> usize {
    FLOORS
        .iter()
        .position(|floor| floor.contains(&module))
        .unwrap_or_else(|| panic!("{module} is on no floor"))
}

/// A module of tests: its name, and whether it is in a separate file (`;`) or at the end of this one (`{`).
static TESTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#\[cfg\((?:all\()?test[^\n]*\]\n(?:#\[[^\n]*\n)*(?:pub\([a-z]+\) )?mod (\w+)( \{|;)")
        .unwrap()
});

/// The code of a source file without comments and without the tests at its end.
fn code(text: &str) -> String {
    let tests = TESTS.captures_iter(text).find(|found| &found[2] == " {");
    let text = tests.map_or(text, |found| &text[..found.get(0).unwrap().start()]);
    text.lines().flat_map(|line| [line.split("//").next().unwrap_or_default(), "\n"]).collect()
}

/// The files below `src` except tests, by path relative to `src`, each with its code.
fn files() -> BTreeMap<PathBuf, String> {
    let all = sources("src");
    let beside = |path: &Path, name: &str| path.with_file_name(name).with_extension("rs");
    let tests: BTreeSet<_> = all
        .iter()
        .flat_map(|(path, text)| TESTS.captures_iter(text).map(move |found| (path, found)))
        .filter(|(_, found)| &found[2] == ";")
        .map(|(path, found)| beside(path, &found[1]))
        .collect();
    let own = all.iter().filter(|(path, _)| !tests.contains(path));
    own.map(|(path, text)| (path.strip_prefix("src").unwrap().to_owned(), code(text))).collect()
}

/// The names after a path such as `crate::`, including every name of a group in braces.
fn behind<'a>(code: &'a str, path: &str) -> Vec<&'a str> {
    let name =
        |text: &'a str| &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())];
    let mut names = vec![];
    for (at, _) in code.match_indices(path) {
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(members(group).into_iter().map(name)),
            None => names.push(name(rest)),
        }
    }
    names
}

/// The members of a group after its opening brace, without those of nested groups.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut from, mut members) = (0, 0, vec![]);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                members.push(group[from..at].trim());
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    members
}

/// The module of the library that a file belongs to.
fn module(path: &Path) -> String {
    path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

#[test]
fn a_stage_imports_only_those_below_it() {
    let (mut arrows, mut upward) = (0, vec![]);
    for (path, code) in files() {
        let own = module(&path);
        if ["lib", "main"].contains(&own.as_str()) {
            continue;
        }
        for other in behind(&code, "crate::").into_iter().filter(|other| *other != own) {
            arrows += 1;
            if floor(other) >= floor(&own) {
                upward.push(format!("{} imports {other}", path.display()));
            }
        }
    }
    assert!(arrows > 500, "{arrows} imports");
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn files_of_a_folder_have_no_circular_imports() {
    let files = files();
    let mut imports: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (path, code) in &files {
        let folder = path.parent().unwrap();
        let inside = folder.iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>().join("::");
        let mut names = behind(code, "super::");
        names.extend(behind(code, &format!("crate::{inside}::")));
        let others = names.into_iter().map(|name| folder.join(name).with_extension("rs"));
        let others = others.filter(|other| other != path && files.contains_key(other)).collect();
        if path.file_name().is_some_and(|name| name != "mod.rs") {
            imports.insert(path.clone(), others);
        }
    }
    assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 300, "{imports:?}");
    // Files without imports of the remaining files are removed until none is left.
    loop {
        let before = imports.len();
        let left: BTreeSet<_> = imports.keys().cloned().collect();
        imports.retain(|_, others| others.iter().any(|other| left.contains(other)));
        if imports.len() == before {
            break;
        }
    }
    assert!(imports.is_empty(), "these files import each other, or files that do: {:?}", imports.keys());
}
