//! Keys of fields in JSON, made ready when they are declared.

use super::push::push_front;

/// Most bytes of a key with comma, quotes and colon; a longer one does not compile.
const MOST: usize = 40;
/// Room for a key and eight bytes behind it.
const ROOM: usize = MOST + 8;

/// A key as an object has it, `,"name":`, with zeros behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    text: [u8; ROOM],
    len: usize,
}

impl Key {
    /// Of a name that needs no escaping.
    #[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)] // evaluated at compile time
    pub const fn new(name: &str) -> Key {
        assert!(name.len() + 4 <= MOST, "a field's name in JSON has at most 36 bytes");
        let mut text = [0; ROOM];
        let (_, to) = text.split_at_mut(2);
        to.split_at_mut(name.len()).0.copy_from_slice(name.as_bytes());
        (text[0], text[1]) = (b',', b'"');
        (text[name.len() + 2], text[name.len() + 3]) = (b'"', b':');
        Key { text, len: name.len() + 4 }
    }

    /// Appends it.
    #[inline(always)]
    pub fn push(&self, out: &mut Vec<u8>) {
        push_front(out, &self.text, self.len);
    }

    /// Appends it and the first `len` of eight bytes, the first one in the lowest, where there is room without
    /// making any: nothing need be saved then for when that has been done. Returns whether there was.
    #[inline(always)]
    pub fn push_with(&self, out: &mut Vec<u8>, value: u64, len: usize) -> bool {
        if out.capacity().wrapping_sub(out.len()) < ROOM {
            return false;
        }
        let end = out.len().wrapping_add(self.len);
        out.extend_from_slice(&self.text);
        if let Some(place) = out.get_mut(end..).and_then(|behind| behind.first_chunk_mut()) {
            *place = value.to_le_bytes();
        }
        out.truncate(end.wrapping_add(len));
        true
    }
}

/// The last part of a path, without `[]`.
pub(super) const fn key(name: &'static str) -> &'static str {
    let mut end = name.len();
    let bytes = name.as_bytes();
    while end >= 2 && ends_with_brackets(bytes, end) {
        end = end.saturating_sub(2);
    }
    let mut start = end;
    while start > 0 && !is_dot(bytes, start.saturating_sub(1)) {
        start = start.saturating_sub(1);
    }
    name.split_at(end).0.split_at(start).1
}

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)] // evaluated at compile time
const fn ends_with_brackets(bytes: &[u8], end: usize) -> bool {
    bytes[end - 2] == b'[' && bytes[end - 1] == b']'
}

#[allow(clippy::indexing_slicing)] // evaluated at compile time
const fn is_dot(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.'
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
            let mut out = b"{".to_vec();
            Key::new(name).push(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("{{,\"{name}\":"));
        }
    }

    #[test]
    fn short_values_stand_behind_keys_where_there_is_room() {
        for name in ["", "a", "a_key_of_exactly_36_letters_as_it_is"] {
            for (value, len) in [("7", 1), ("12345678", 8)] {
                let word = value.bytes().rev().fold(0, |word, byte| word << 8 | u64::from(byte));
                let mut out = Vec::with_capacity(64);
                assert!(Key::new(name).push_with(&mut out, word, len));
                assert_eq!(String::from_utf8_lossy(&out), format!(",\"{name}\":{value}"));
                let mut full = vec![b'{'];
                full.shrink_to_fit();
                assert!(!Key::new(name).push_with(&mut full, word, len));
                assert_eq!(full, b"{");
            }
        }
    }

    #[test]
    #[should_panic(expected = "at most 36 bytes")]
    fn longer_keys_are_refused() {
        Key::new("a_key_of_37_letters_and_more_is_a_lot");
    }
}
