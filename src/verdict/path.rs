//! Names of captures for CI systems: relative to the root of the repository, with forward slashes.

use std::path::{Component, Path, Prefix};

/// A capture's name relative to `base`, the repository of a job. A name outside of it stays absolute.
pub fn relative(name: &str, base: Option<&Path>) -> String {
    String::from_utf8_lossy(&bytes(Path::new(name), base)).into_owned()
}

/// Like [`relative`], but as bytes, because a name need not be text.
pub fn bytes(path: &Path, base: Option<&Path>) -> Vec<u8> {
    let path = base.and_then(|base| path.strip_prefix(base).ok()).unwrap_or(path);
    let mut out = Vec::with_capacity(path.as_os_str().len());
    let mut drive = false;
    for part in path.components() {
        match part {
            Component::CurDir => continue,
            Component::RootDir => {
                out.push(b'/');
                continue;
            }
            Component::Prefix(prefix) => {
                out.extend(root(prefix.kind()).into_bytes());
                drive = true;
                continue;
            }
            Component::ParentDir | Component::Normal(_) => {}
        }
        // `C:a` is relative to the working directory of the drive, not to its root.
        if !(std::mem::take(&mut drive) || out.is_empty() || out.ends_with(b"/")) {
            out.push(b'/');
        }
        out.extend_from_slice(part.as_os_str().as_encoded_bytes());
    }
    if out.is_empty() { b".".to_vec() } else { out }
}

/// The prefix of a Windows path: `C:`, `//server/share`.
fn root(prefix: Prefix<'_>) -> String {
    match prefix {
        Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => format!("{}:", letter as char),
        Prefix::UNC(server, share) | Prefix::VerbatimUNC(server, share) => {
            format!("//{}/{}", server.to_string_lossy(), share.to_string_lossy())
        }
        Prefix::DeviceNS(name) | Prefix::Verbatim(name) => format!("//./{}", name.to_string_lossy()),
    }
}

/// A path from [`bytes`] as a URI reference (RFC 3986): relative, or with the scheme `file:` if it is absolute.
/// Everything but letters, digits, `-._~` and slashes is percent-encoded, so that nothing can be taken for a scheme, a
/// query or a fragment, or reverses text on a terminal.
pub fn uri(path: impl AsRef<[u8]>) -> String {
    let path = path.as_ref();
    let mut out = String::with_capacity(path.len());
    let root = match path {
        [b'/', b'/', ..] => "file:",
        [b'/', ..] => "file://",
        [_, b':', b'/', ..] if cfg!(windows) => "file:///",
        _ => "",
    };
    out.push_str(root);
    for (at, byte) in path.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(*byte as char)
            }
            b':' if at == 1 && root == "file:///" => out.push(':'), // the colon of a drive
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_base() {
        let base = Some(Path::new("/home/ci/repo"));
        for (name, expected) in [
            ("captures/a.pcap", "captures/a.pcap"),
            ("./captures//a.pcap", "captures/a.pcap"),
            ("captures/./a.pcap", "captures/a.pcap"),
            ("../a.pcap", "../a.pcap"),
            ("/home/ci/repo/captures/a.pcap", "captures/a.pcap"),
            ("/home/ci/repository/a.pcap", "/home/ci/repository/a.pcap"),
            ("/a.pcap", "/a.pcap"),
            ("-", "-"),
            ("", "."),
            ("./", "."),
        ] {
            assert_eq!(relative(name, base), expected, "{name:?}");
        }
        assert_eq!(relative("/home/a.pcap", None), "/home/a.pcap");
    }

    #[test]
    #[cfg(windows)]
    fn backslashes_become_forward_slashes() {
        let base = Some(Path::new("C:\\ci"));
        assert_eq!(relative("captures\\a.pcap", base), "captures/a.pcap");
        assert_eq!(relative("C:\\ci\\captures\\a.pcap", base), "captures/a.pcap");
        assert_eq!(uri(relative("D:\\a b.pcap", base)), "file:///D:/a%20b.pcap");
        assert_eq!(uri(relative("C:a\\b.pcap", None)), "C%3Aa/b.pcap");
        assert_eq!(uri(relative(r"\\?\C:\a:b.pcap", None)), "file:///C:/a%3Ab.pcap");
        assert_eq!(uri(relative(r"\\server\share\x\a.pcap", None)), "file://server/share/x/a.pcap");
        assert_eq!(uri(relative(r"\\.\pipe\a", None)), "file://./pipe/a");
    }

    #[test]
    fn uris_encode_all_special_characters_of_a_name() {
        assert_eq!(uri("captures/a-b_c.~1.pcap"), "captures/a-b_c.~1.pcap");
        assert_eq!(uri("http://x?y#z"), "http%3A//x%3Fy%23z");
        assert_eq!(uri("100%/ü.pcap"), "100%25/%C3%BC.pcap");
        assert_eq!(uri("a\n\u{202e}\\\"<b"), "a%0A%E2%80%AE%5C%22%3Cb");
    }

    #[test]
    #[cfg(unix)]
    fn an_absolute_path_is_a_file_uri() {
        assert_eq!(uri("/tmp/a b.pcap"), "file:///tmp/a%20b.pcap");
        assert_eq!(uri(b"/tmp/\xff\xc3.pcap"), "file:///tmp/%FF%C3.pcap", "a name need not be text");
        assert_eq!(uri(relative("//host/a.pcap", None)), "file:///host/a.pcap");
    }
}
