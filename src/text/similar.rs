//! Guesses which known name was meant by an unknown name.

/// Longest name for which a similar one is looked for, in bytes.
const LONGEST_NAME: usize = 64;

/// The name among `known` that `name` was perhaps meant to be. Case does not matter.
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let nearest = known.into_iter().map(|known| (distance(&name, &known.to_ascii_lowercase()), known)).min();
    nearest.filter(|&(errors, known)| errors <= (known.len() / 3).min(2)).map(|(_, known)| known)
}

/// Typing errors between two names; at most one where `name` has at least three bytes and `known` begins with it.
fn distance(name: &str, known: &str) -> usize {
    let is_prefix = name.len() >= 3 && known.starts_with(name);
    let errors = strsim::osa_distance(name, known);
    if is_prefix { errors.min(1) } else { errors }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_similar_to_none() {
        let known = "a".repeat(LONGEST_NAME);
        let slip = |len: usize| "a".repeat(len - 1) + "b";
        assert_eq!(similar(&slip(LONGEST_NAME), [known.as_str()]), Some(known.as_str()));
        assert_eq!(similar(&slip(LONGEST_NAME + 1), [known.as_str()]), None);
    }
}
