//! Keys of fields in JSON, prepared when the fields are declared.

use crate::text::line::Line;

/// The most bytes of a key with comma, quotes and colon; a longer key does not compile.
const MOST: usize = 40;

/// A key as it is written in an object, `,"name":`, padded with zeros.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    text: [u8; MOST],
    len: usize,
}

impl Key {
    /// The key of a name that needs no escaping.
    #[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)] // evaluated at compile time
    pub const fn new(name: &str) -> Key {
        assert!(name.len() + 4 <= MOST, "a field's name in JSON has at most 36 bytes");
        let mut text = [0; MOST];
        let (_, to) = text.split_at_mut(2);
        to.split_at_mut(name.len()).0.copy_from_slice(name.as_bytes());
        (text[0], text[1]) = (b',', b'"');
        (text[name.len() + 2], text[name.len() + 3]) = (b'"', b':');
        Key { text, len: name.len() + 4 }
    }

    /// Appends the key.
    #[inline(always)]
    pub fn push(&self, out: &mut Line) {
        out.push_first(&self.text, self.len);
    }
}

/// The last part of a path, without `[]`.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)] // evaluated at compile time
pub(super) const fn key(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    let mut end = bytes.len();
    while end >= 2 && bytes[end - 2] == b'[' && bytes[end - 1] == b']' {
        end -= 2;
    }
    let mut start = end;
    while start > 0 && bytes[start - 1] != b'.' {
        start -= 1;
    }
    name.split_at(end).0.split_at(start).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_the_last_part_without_brackets() {
        assert_eq!(key("token"), "token");
        assert_eq!(key("server_info.port"), "port");
        assert_eq!(key("player_info.records[][]"), "records");
        assert_eq!(key("sub_states[].version"), "version");
    }

    #[test]
    fn keys_have_their_comma_quotes_and_colon() {
        for name in ["", "a", "a_key_of_exactly_36_letters_as_it_is"] {
            assert_eq!(Line::text(|out| Key::new(name).push(out)), format!(",\"{name}\":"));
        }
    }

    #[test]
    #[should_panic(expected = "at most 36 bytes")]
    fn longer_keys_are_refused() {
        Key::new("a_key_of_37_letters_and_more_is_a_lot");
    }
}
