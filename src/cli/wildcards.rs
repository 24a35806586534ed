//! Wildcards in the names of inputs, which the shells of Windows do not expand.

use super::system;
use std::path::{Component, Path, PathBuf};

/// Whether a path has wildcards that no shell has expanded. Files of Windows have no such characters in their names.
pub fn has_wildcards(path: &Path) -> bool {
    let is_wild =
        |part| matches!(part, Component::Normal(name) if name.to_string_lossy().contains(['*', '?']));
    cfg!(windows) && !system::is_reserved(path) && path.components().any(is_wild)
}

/// The files and directories with such a name, in order.
#[cfg(any(windows, test))]
pub fn expand(path: &Path) -> Vec<PathBuf> {
    let options = glob::MatchOptions {
        case_sensitive: false,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    // To the shells of Windows, brackets are characters like any other.
    let pattern = path.to_string_lossy().replace('[', "[[]");
    glob::glob_with(&pattern, options).into_iter().flatten().flatten().collect()
}

/// On other systems the shell has expanded wildcards.
#[cfg(not(any(windows, test)))]
pub fn expand(path: &Path) -> Vec<PathBuf> {
    vec![path.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn wildcards_match_in_order_and_in_directories() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x/b.pcap", "x/A.PCAP", "x/a.txt", "y/.c.pcap", "z[1].pcap", "z1.pcap"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| {
            let found = expand(&folder.path().join(pattern));
            let names = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_path_buf());
            names.collect::<Vec<_>>()
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(found("x/*.pcap"), paths(&["x/A.PCAP", "x/b.pcap"]));
        assert_eq!(found("?/*.pcap"), paths(&["x/A.PCAP", "x/b.pcap", "y/.c.pcap"]));
        assert_eq!(found("z[1]*"), paths(&["z[1].pcap"]));
        assert_eq!(found("?"), paths(&["x", "y"]));
        assert!(found("*.cap").is_empty() && found("no/*").is_empty() && found("x**.pcap").is_empty());
    }
}
