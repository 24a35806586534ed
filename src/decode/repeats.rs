//! Has this text been seen before, in this list?

/// Texts remembered of one list; later ones are only compared with these. Keeps a hostile list of
/// tens of thousands of keys linear.
const MOST: usize = 64;
/// Places for them: half stay empty.
const SLOTS: usize = 128;

/// Remembers the first 64 texts of a list, without the heap.
#[derive(Debug)]
pub struct Repeats<'a> {
    slots: [Option<&'a [u8]>; SLOTS],
    used: usize,
}

impl Default for Repeats<'_> {
    fn default() -> Self {
        Repeats { slots: [None; SLOTS], used: 0 }
    }
}

impl<'a> Repeats<'a> {
    /// Whether `text` was seen before; remembers it.
    pub fn repeats(&mut self, text: &'a [u8]) -> bool {
        let hash = text.iter().fold(5381usize, |h, &b| h.wrapping_mul(33) ^ b as usize);
        for probe in 0..SLOTS {
            let Some(slot) = self.slots.get_mut(hash.wrapping_add(probe) % SLOTS) else { return false };
            match slot {
                Some(known) if *known == text => return true,
                Some(_) => {}
                None if self.used < MOST => {
                    *slot = Some(text);
                    self.used = self.used.saturating_add(1);
                    return false;
                }
                None => return false,
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
    fn repeats_are_found_and_long_lists_stay_linear() {
        let many = if cfg!(miri) { MOST as u32 + 2 } else { 60_000 }; // Miri takes milliseconds for each
        let texts: Vec<Vec<u8>> = (0..many).map(|n| n.to_be_bytes().to_vec()).collect();
        let mut seen = Repeats::default();
        assert!(texts.iter().all(|t| !seen.repeats(t)));
        assert!(seen.repeats(&texts[0]) && seen.repeats(&texts[MOST - 1]));
        assert!(!seen.repeats(&texts[MOST]), "beyond the bound nothing is remembered");
    }
}
