//! Compares the tables of `docs/limits.md` with the sources: every limit has a row, and every row names a test that reaches it,
//! or the reason why none does.

use crate::kit::sources::sources;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

/// The texts in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of the constants in a source file that are limits by their names.
fn bounds(source: &str) -> impl Iterator<Item = &str> {
    let declared =
        source.lines().filter_map(|line| line.split("const ").nth(1)?.split_once(':').map(|(name, _)| name));
    // A length that distinguishes two formats of Ethernet frames.
    declared.filter(|name| name.starts_with("MAX_") && *name != "MAX_802_3_LENGTH")
}

/// The rows: file, constants, tests.
fn rows(page: &str) -> Vec<[String; 3]> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    rows.map(|cells| {
        assert_eq!(cells.len(), 5, "{cells:?}");
        [cells[0], cells[2], cells[4]].map(str::to_owned)
    })
    .collect()
}

#[test]
fn every_limit_is_documented_and_every_documented_limit_exists_and_is_tested() {
    let page = fs::read_to_string("docs/limits.md").unwrap();
    let src = sources("src");
    let tests: String = src.iter().chain(&sources("tests")).map(|(_, text)| text.as_str()).collect();
    let mut documented = HashSet::new();
    for [file, constants, reached] in rows(&page) {
        let file = Path::new("src").join(quoted(&file).next().unwrap());
        let text =
            &src.iter().find(|(path, _)| *path == file).unwrap_or_else(|| panic!("{file:?} is not there")).1;
        for name in quoted(&constants) {
            assert!(text.contains(&format!("const {name}: ")), "{file:?} has no {name}");
            documented.insert((file.clone(), name.to_owned()));
        }
        for name in quoted(&reached) {
            assert!(tests.contains(&format!("fn {name}(")), "there is no test {name}");
        }
        let unreachable =
            reached.strip_prefix("none (").is_some_and(|why| why.len() > 20 && why.ends_with(')'));
        assert!(
            unreachable || quoted(&reached).next().is_some(),
            "{file:?}: {reached:?} says neither who nor why"
        );
    }
    let declared =
        src.iter().flat_map(|(path, text)| bounds(text).map(|name| (path.clone(), name.to_owned())));
    let missing: BTreeSet<_> = declared.filter(|it| !documented.contains(it)).collect();
    assert!(missing.is_empty(), "docs/limits.md does not speak of {missing:?}");
}
