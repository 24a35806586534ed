//! Completes names while a filter is typed.

/// Words end at characters other than these.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "._".contains(c)
}

/// The word at the end of a text.
fn last_word(before: &str) -> &str {
    let start = before.char_indices().rev().take_while(|(_, c)| is_word(*c)).last();
    start.and_then(|(at, _)| before.get(at..)).unwrap_or_default()
}

/// The names that the word before the cursor may become, at most `most`. `before` is the filter up to the cursor.
pub fn candidates<'a>(before: &str, names: &'a [String], most: usize) -> Vec<&'a str> {
    let word = last_word(before);
    if word.is_empty() {
        return vec![];
    }
    let begins = names.iter().filter(|name| name.starts_with(word) && *name != word);
    begins.map(String::as_str).take(most).collect()
}

/// What completes the word before the cursor, as far as the names agree.
pub fn completion<'a>(before: &str, names: &'a [String]) -> &'a str {
    let candidates = candidates(before, names, usize::MAX);
    let Some(first) = candidates.first() else { return "" };
    let same = |name: &&str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let common = candidates.iter().map(same).min().unwrap_or_default();
    first.get(last_word(before).len()..common).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_as_far_as_they_agree() {
        let names: Vec<String> = ["sqp", "sqp.token", "sqp.total", "players"].map(str::to_owned).into();
        assert_eq!(candidates("players > 3 and s", &names, 9), ["sqp", "sqp.token", "sqp.total"]);
        assert_eq!(candidates("sqp.t", &names, 1), ["sqp.token"]);
        for (before, rest) in [
            ("players > 3 and s", "qp"),
            ("sqp.t", "o"),
            ("!sqp.tot", "al"),
            ("é == p", "layers"),
            ("players", ""),
            ("(", ""),
            ("", ""),
            ("nothing", ""),
        ] {
            assert_eq!(completion(before, &names), rest, "{before}");
        }
    }
}
