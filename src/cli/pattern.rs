//! Patterns with `*` and `?` for names of captures.

/// Whether a pattern matches a capture. `*` stands for any characters, `?` for one. A pattern without a slash is matched
/// against the last part of the path.
pub fn names(pattern: &str, file: &str) -> bool {
    let file = if cfg!(windows) { file.replace('\\', "/") } else { file.to_owned() };
    let file = file.trim_start_matches("./");
    let part = if pattern.contains('/') { file } else { file.rsplit('/').next().unwrap_or(file) };
    fits(pattern.trim_start_matches("./"), part)
}

fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<_>, Vec<_>) = (pattern.chars().collect(), name.chars().collect());
    // Where to continue after a mismatch: behind the last star, which then takes one more character.
    let (mut p, mut n, mut retry) = (0, 0, None);
    while let Some(c) = name.get(n) {
        match pattern.get(p) {
            Some('*') => {
                p += 1;
                retry = Some((p, n));
                continue;
            }
            Some(wanted) if *wanted == '?' || wanted == c => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((star, taken)) = retry else { return false };
                retry = Some((star, taken + 1));
                (p, n) = (star, taken + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (pattern, file) in [
            ("*", "a/b.pcap"),
            ("b.pcap", "a/b.pcap"),
            ("a/*.pcap", "./a/b/c.pcap"),
            ("*a*b", "xaab/xab"),
            ("**.pc?p", "b.pc\u{e9}p"),
            ("-", "-"),
        ] {
            assert!(names(pattern, file), "{pattern} {file}");
        }
        for (pattern, file) in
            [("a.pcap", "b/a.pcapng"), ("a/b.pcap", "b.pcap"), ("?", ""), ("?", "ab"), ("[a]", "a")]
        {
            assert!(!names(pattern, file), "{pattern} {file}");
        }
        assert!(!fits(&"a*".repeat(2_000), &"a".repeat(1_999)), "it ends");
    }
}
