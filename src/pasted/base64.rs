//! Base64 in both alphabets, RFC 4648 sections 4 and 5.
//!
//! ```text
//!  character   |  0  |  1  |  2  |  3  |     six bits each, most significant first
//!  byte        |   0    |   1    |  2  |     "=" fills up the last group
//! ```

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD as STANDARD_NO_PAD;

/// The fewest characters that are taken for base64 unasked: shorter ones are words.
const FEWEST: usize = 8;

/// The bytes; `None` where the text is no base64: other characters, a length that cannot be, bits behind the end.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    let padded = body.len() < text.len();
    let fits = !padded || text.len().is_multiple_of(4) && body.len().saturating_add(2) >= text.len();
    if !fits || body.is_empty() {
        return None;
    }
    STANDARD_NO_PAD.decode(body.replace('-', "+").replace('_', "/")).ok()
}

/// Whether a word looks like base64 rather than like a word: long enough, and padded or in mixed characters.
pub fn is_likely(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let lower = body.bytes().any(|b| b.is_ascii_lowercase());
    let digits = body.bytes().any(|b| b.is_ascii_digit() || b"+/".contains(&b));
    let capitals = body.as_bytes().windows(3).any(|w| w.iter().all(u8::is_ascii_uppercase));
    let mixed = lower && (capitals || digits && body.bytes().skip(1).any(|b| b.is_ascii_uppercase()));
    let upper = body.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let padded = body.len() < text.len();
    text.len() >= FEWEST
        && (padded
            || mixed && (text.len().is_multiple_of(4) || digits && text.len() >= 16)
            || text.len() >= 24 && (mixed || upper))
        && decode(text).is_some()
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_with_and_without_padding() {
        // RFC 4648 section 10.
        for (text, bytes) in
            [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE", "fooba")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/-_"), Some(vec![0xfb, 0xff, 0xbf]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for text in ["", "=", "A", "AAAAA", "AA=", "AAA==", "AAAA====", "AB==", "A A=", "A\u{e9}="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_no_base64() {
        for word in
            ["response", "Response", "challenge", "Satisfactory", "ServerQuery", "a/b/c/de", "gamedig1"]
        {
            assert!(!is_likely(word), "{word}");
        }
        for text in ["AAAAAAA=", "1fYAAaWcQ4TxRt8IAQ==", "1fYAAaWcQ4Tx", "AAECAwQF"] {
            assert!(is_likely(text), "{text}");
        }
    }
}
