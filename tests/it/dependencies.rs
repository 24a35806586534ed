//! Checks `Cargo.lock` against `deny.toml` as `cargo deny check bans licenses sources` does. That program is not installed
//! everywhere, and has as many dependencies as this one.

use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::process::Command;
use toml::de::{DeTable, DeValue};

/// The entries of a list in `deny.toml`: strings, or the `crate` of tables.
fn listed(name: &str, key: &str) -> Vec<String> {
    let text = fs::read_to_string("deny.toml").unwrap();
    let table = DeTable::parse(&text).unwrap().into_inner();
    let section = table.get(name).and_then(|it| it.get_ref().as_table());
    let section = section.unwrap_or_else(|| panic!("deny.toml has no [{name}]"));
    let list = section.get(key).and_then(|it| it.get_ref().as_array());
    let list = list.unwrap_or_else(|| panic!("deny.toml has no list {key}"));
    let word = |it: &DeValue| match it {
        DeValue::Table(table) => table.get("crate").and_then(|it| it.get_ref().as_str()).map(str::to_owned),
        it => it.as_str().map(str::to_owned),
    };
    list.iter().map(|it| word(it.get_ref()).unwrap_or_else(|| panic!("{key} has {it:?}"))).collect()
}

/// Checks that the rest of deny.toml has the settings that these tests implement.
#[test]
fn deny_toml_agrees_with_these_tests() {
    let text = fs::read_to_string("deny.toml").unwrap();
    for line in [
        "multiple-versions = \"deny\"",
        "unknown-registry = \"deny\"",
        "unknown-git = \"deny\"",
        "allow-git = []",
    ] {
        assert!(text.lines().any(|own| own == line), "deny.toml lacks {line}");
    }
}

/// A package of `Cargo.lock`: of every system and feature.
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

/// The packages of `Cargo.lock` without this crate.
fn locked() -> Vec<Locked> {
    let text = fs::read_to_string("Cargo.lock").unwrap();
    let lock = DeTable::parse(&text).unwrap().into_inner();
    let packages = lock["package"].get_ref().as_array().unwrap().iter().map(|package| {
        let word = |key| package.get_ref().get(key).and_then(|it| it.get_ref().as_str()).map(str::to_owned);
        Locked {
            name: word("name").unwrap(),
            version: word("version").unwrap(),
            source: word("source"),
            checksum: word("checksum"),
        }
    });
    packages.filter(|package| package.name != "qdissect").collect()
}

/// The packages that are built on this system, with their manifests. All of them have been downloaded.
fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--all-features",
        "--locked",
        "--offline",
        "--format-version=1",
        "--filter-platform",
        host,
    ]);
    let cargo = cargo.output().unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().filter(|package| package["name"] != "qdissect").cloned().collect()
}

fn name(package: &Value) -> String {
    format!("{}@{}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap())
}

/// Whether the allowed licences satisfy a licence expression. `/` is an old form of `OR`. A crate without a licence is not
/// allowed.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    if expression.is_empty() {
        return false;
    }
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let satisfied = any_of(&words, &mut at, allowed);
    assert_eq!(at, words.len(), "{expression} is no licence expression");
    satisfied
}

fn any_of(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut satisfied = all_of(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        satisfied |= all_of(words, at, allowed);
    }
    satisfied
}

fn all_of(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut satisfied = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        satisfied &= one(words, at, allowed);
    }
    satisfied
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let word = words.get(*at).copied().unwrap_or_default();
    *at += 1;
    if word == "(" {
        let satisfied = any_of(words, at, allowed);
        assert_eq!(words.get(*at), Some(&")"), "{words:?}");
        *at += 1;
        return satisfied;
    }
    let mut licence = word.to_owned();
    if words.get(*at) == Some(&"WITH") {
        licence = format!("{word} WITH {}", words.get(*at + 1).unwrap());
        *at += 2;
    }
    allowed.contains(&licence)
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    for fine in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_allowed(fine, &allowed), "{fine}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "MIT WITH Exception", "(GPL-3.0 OR GPL-2.0) AND MIT", ""] {
        assert!(!is_allowed(refused, &allowed), "{refused}");
    }
}

#[test]
fn every_crate_has_an_allowed_licence_and_every_licence_a_crate() {
    let (allowed, packages) = (listed("licenses", "allow"), packages());
    let licence = |package: &Value| package["license"].as_str().unwrap_or_default().to_owned();
    let refused: Vec<_> = packages
        .iter()
        .filter(|package| !is_allowed(&licence(package), &allowed))
        .map(|package| format!("{}: {}", name(package), licence(package)))
        .collect();
    assert!(refused.is_empty(), "licences that deny.toml does not allow: {refused:#?}");
    for one in allowed {
        let used = packages.iter().any(|package| licence(package).contains(&one));
        assert!(used, "no crate has the licence {one}: take it out of deny.toml");
    }
}

#[test]
fn every_crate_comes_from_an_allowed_registry_with_its_checksum() {
    let allowed = listed("sources", "allow-registry");
    let locked = locked();
    assert!(locked.len() > 50, "{}", locked.len());
    for package in locked {
        let source = package.source.as_deref().unwrap_or("the file system");
        let registry = source.strip_prefix("registry+").unwrap_or_default();
        assert!(allowed.iter().any(|one| one == registry), "{} comes from {source}", package.name);
        assert_eq!(package.checksum.map(|sum| sum.len()), Some(64), "{} has no checksum", package.name);
    }
}

#[test]
fn crates_of_several_versions_are_listed_with_a_reason() {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in locked() {
        let full = format!("{}@{}", package.name, package.version);
        versions.entry(package.name).or_default().push(full);
    }
    let skipped: HashSet<String> = listed("bans", "skip").into_iter().collect();
    for (name, own) in &versions {
        let further: Vec<_> = own.iter().filter(|full| !skipped.contains(*full)).collect();
        assert!(
            further.len() <= 1,
            "{name} has several versions, and deny.toml skips none of these: {further:?}"
        );
    }
    for skip in &skipped {
        let twice = versions.values().any(|own| own.len() > 1 && own.contains(skip));
        assert!(twice, "{skip} is the only one of its name: take it out of deny.toml");
    }
}
