//! Wildcards in the names of inputs, which the shells of Windows leave to the programs.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Whether a path has wildcards that no shell has expanded. Files of Windows have no such characters in their names.
pub fn any(path: &Path) -> bool {
    cfg!(windows)
        && !super::system::is_reserved(path)
        && path.components().any(|part| wildcard(part).is_some())
}

fn wildcard(part: Component<'_>) -> Option<String> {
    let Component::Normal(name) = part else { return None };
    Some(name.to_string_lossy().into_owned()).filter(|name| name.contains(['*', '?']))
}

/// The files and directories with such a name, in order.
pub fn expanded(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let Some(pattern) = wildcard(part) else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        found = found.iter().flat_map(|folder| inside(folder, &pattern)).collect();
    }
    found.retain(|path| path.exists());
    found
}

/// The entries of a directory whose names match.
fn inside(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| matches(pattern, &name.to_string_lossy()));
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Whether a name matches: `*` stands for any characters, `?` for one, and case does not matter.
fn matches(pattern: &str, name: &str) -> bool {
    let [pattern, name] = [pattern, name].map(|text| text.to_lowercase().chars().collect::<Vec<_>>());
    let (mut at, mut from) = (0, 0);
    // Where to go on when what follows the last asterisk does not match: it stands for one character more.
    let mut again = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                again = Some((at, from));
            }
            Some(c) if *c == '?' || Some(c) == name.get(from) => (at, from) = (at + 1, from + 1),
            _ => match again.as_mut() {
                Some((after, begun)) => {
                    *begun += 1;
                    (at, from) = (*after, *begun);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asterisks_and_question_marks_stand_for_other_characters() {
        for (pattern, name) in [
            ("*.pcap", "A.PCAP"),
            ("*", "a"),
            ("a?c*", "abc"),
            ("*a*b", "xaxbab"),
            ("ä*.pcap?", "Äb.pcap2"),
            ("**", ""),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.pcap", "a.pcapng"), ("?", ""), ("?", "ab"), ("a*b", "abc"), ("*a*b", "b")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        let hostile = "*a".repeat(50) + "b";
        assert!(!matches(&hostile, &"a".repeat(255)), "in a moment");
    }

    #[test]
    fn what_matches_is_found_in_order_and_in_directories() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x/b.pcap", "x/a.pcap", "x/a.txt", "y/c.pcap", "z.pcap"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| {
            let found = expanded(&folder.path().join(pattern));
            let names = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_path_buf());
            names.collect::<Vec<_>>()
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(found("x/*.pcap"), paths(&["x/a.pcap", "x/b.pcap"]));
        assert_eq!(found("?/*.pcap"), paths(&["x/a.pcap", "x/b.pcap", "y/c.pcap"]));
        assert_eq!(found("*"), paths(&["x", "y", "z.pcap"]));
        assert_eq!(found("*/c.pcap"), paths(&["y/c.pcap"]));
        assert!(found("*.cap").is_empty() && found("no/*").is_empty());
    }
}
