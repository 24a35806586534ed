//! Finds repeated texts in a list.

use super::work;
use arrayvec::ArrayVec;

/// Texts remembered per list; later texts are only compared with these. This keeps the time linear for a hostile
/// list of tens of thousands of keys.
const MOST: usize = 64;
/// Slots of the hash table: half of them stay empty.
const SLOTS: usize = 128;

/// Remembers the first 64 texts of a list, without allocating.
#[derive(Debug)]
pub struct Repeats<'a> {
    texts: ArrayVec<&'a [u8], MOST>,
    /// At the hash of a text, its number, counted from 1; 0 where there is none.
    slots: [u8; SLOTS],
}

impl Default for Repeats<'_> {
    fn default() -> Self {
        Repeats { texts: ArrayVec::new(), slots: [0; SLOTS] }
    }
}

impl<'a> Repeats<'a> {
    /// Whether `text` was seen before; remembers it.
    #[inline]
    pub fn repeats(&mut self, text: &'a [u8]) -> bool {
        self.seen(text, |byte| byte, |known| known == text)
    }

    /// As [`repeats`](Self::repeats), where letters of either case are the same.
    pub fn repeats_in_any_case(&mut self, text: &'a [u8]) -> bool {
        self.seen(text, |byte| byte.to_ascii_lowercase(), |known| known.eq_ignore_ascii_case(text))
    }

    #[inline(always)]
    fn seen(&mut self, text: &'a [u8], fold: impl Fn(u8) -> u8, is_same: impl Fn(&[u8]) -> bool) -> bool {
        work::add(text.len());
        let hash = text.iter().fold(5381usize, |h, &b| h.wrapping_mul(33) ^ fold(b) as usize);
        for probe in 0..SLOTS {
            let Some(slot) = self.slots.get_mut(hash.wrapping_add(probe) % SLOTS) else { return false };
            let known = usize::from(*slot).checked_sub(1).and_then(|n| self.texts.get(n));
            match known {
                Some(known) if is_same(known) => return true,
                Some(known) => work::add(if known.len() == text.len() { text.len() } else { 0 }),
                None => {
                    if self.texts.try_push(text).is_ok() {
                        *slot = self.texts.len() as u8;
                    }
                    return false;
                }
            }
        }
        false
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_found_in_linear_time() {
        let many = if cfg!(miri) { MOST as u32 + 2 } else { 60_000 }; // Miri takes milliseconds per text
        let texts: Vec<Vec<u8>> = (0..many).map(|n| n.to_be_bytes().to_vec()).collect();
        let mut seen = Repeats::default();
        assert!(texts.iter().all(|t| !seen.repeats(t)));
        assert!(seen.repeats(&texts[0]) && seen.repeats(&texts[MOST - 1]));
        assert!(!seen.repeats(&texts[MOST]), "beyond the bound nothing is remembered");
    }

    #[test]
    fn letters_of_either_case_may_be_the_same() {
        let mut seen = Repeats::default();
        assert_eq!(
            [b"name", b"NAME", b"Nam\xe9"].map(|text| seen.repeats_in_any_case(text)),
            [false, true, false]
        );
        assert!(!seen.repeats(b"NamE"));
    }
}
