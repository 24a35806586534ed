//! The search: every set of variations of a layout, the smallest first, until one size of set reads the message.

use crate::layout::{Change, Expected, Form, Layout, Nul, Reader, Set, Variation, Whole, for_each_set, rank};
use hashbrown::HashMap;

/// Variations in a set at most.
const MAX_SET: usize = 3;
/// Widths that are tried of fields of fixed width, in bytes.
const FIXED_WIDTHS: [usize; 12] = [16, 20, 24, 32, 40, 48, 50, 64, 100, 128, 255, 256];

/// What a message is read with.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The layout.
    pub layout: &'static Layout,
    /// The variation of the message as a whole.
    pub whole: Option<&'static Whole>,
    /// The variations of its parts.
    pub set: Set,
}

/// A reading that fits.
#[derive(Debug)]
pub struct Fit {
    /// What it was read with.
    pub attempt: Attempt,
    /// It is proof enough, because a changed form of texts shows in enough texts.
    pub strong: bool,
}

impl Attempt {
    /// Names of the variations, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let whole = self.whole.map(|whole| whole.id.to_owned());
        let mut names: Vec<String> =
            whole.into_iter().chain(self.set.iter().map(|v| v.to_string())).collect();
        names.sort_unstable();
        names
    }

    /// How common it is; the least is the commonest.
    fn rank(&self) -> (usize, Vec<u32>) {
        let (n, mut ranks) = rank(&self.set);
        if self.whole.is_some() {
            ranks.push(50);
        }
        (n.saturating_add(usize::from(self.whole.is_some())), ranks)
    }

    /// Reads a message; returns each message that it should have been, and whether that is proof enough.
    pub fn read(&self, data: &[u8], expected: Expected) -> Vec<(Vec<u8>, bool)> {
        let undone = match self.whole {
            Some(whole) => match (whole.undo)(data) {
                Some(undone) => Some(undone),
                None => return vec![],
            },
            None => None,
        };
        let mut out = vec![];
        read_with(undone.as_deref().unwrap_or(data), self.layout, &self.set, expected, |bytes, strong| {
            out.push((bytes, strong));
        });
        out
    }
}

/// All readings with the least number of variations, by the message that they write.
pub fn search(data: &[u8], layout: &'static Layout, expected: Expected) -> HashMap<Vec<u8>, Vec<Fit>> {
    let all: Vec<&'static Variation> = layout.variations.iter().copied().flatten().collect();
    let undone: Vec<(&'static Whole, Vec<u8>)> = layout
        .wholes
        .iter()
        .copied()
        .flatten()
        .filter_map(|whole| Some((*whole, (whole.undo)(data)?)))
        .collect();
    let mut found: HashMap<Vec<u8>, Vec<Fit>> = HashMap::new();
    for size in 1..=MAX_SET {
        let mut try_sets = |whole: Option<&'static Whole>, data: &[u8], size: usize| {
            for_each_set(&all, size, |set| {
                read_with(data, layout, set, expected, |bytes, strong| {
                    let strong = strong && !(layout.refuses)(set);
                    let attempt = Attempt { layout, whole, set: set.iter().copied().collect() };
                    let fit = Fit { attempt, strong };
                    found.entry(bytes).or_default().push(fit);
                });
            });
        };
        try_sets(None, data, size);
        if size < MAX_SET {
            undone.iter().for_each(|(whole, data)| try_sets(Some(whole), data, size.saturating_sub(1)));
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// The commonest of the readings that write the same message, if any of them is proof enough.
pub fn commonest(fits: Vec<Fit>) -> Option<Attempt> {
    let strong = fits.into_iter().filter(|fit| fit.strong).map(|fit| fit.attempt);
    strong.min_by_key(Attempt::rank)
}

fn read_with(
    data: &[u8],
    layout: &'static Layout,
    set: &[&'static Variation],
    expected: Expected,
    mut fits: impl FnMut(Vec<u8>, bool),
) {
    let mut read = |expected: Expected| {
        let mut reader = Reader::new(data, layout, set, expected);
        if reader.read().is_some() && reader.is_complete() && (layout.plausible)(&reader) {
            let strong = is_strong(&reader, set);
            fits(reader.out, strong);
        }
    };
    if set.iter().any(|v| v.change == Change::Texts(Form::Fixed)) {
        FIXED_WIDTHS.iter().for_each(|&fixed| read(Expected { fixed, ..expected }));
    } else if set.iter().any(|v| v.change == Change::Nul(Nul::Wrapped)) {
        layout.wrapped.iter().for_each(|&wrapped| read(Expected { wrapped, ..expected }));
    } else {
        read(expected);
    }
}

/// Whether a reading is more than a coincidence: a changed form of texts must show in two texts that are not empty.
fn is_strong(reader: &Reader<'_>, set: &[&'static Variation]) -> bool {
    let texts = || reader.texts.iter().filter(|text| !text.is_empty());
    let least = if reader.layout.one_text { 1 } else { 2 };
    set.iter().all(|v| {
        let is_wide = matches!(v.change, Change::Encoding(encoding) if encoding.is_wide());
        let counts = match v.change {
            Change::Texts(form) => !matches!(form, Form::Length(8, _) | Form::SevenBits),
            Change::Nul(nul) => nul != Nul::Wrapped,
            _ => is_wide,
        };
        (!is_wide || texts().any(|text| text.chars().nth(2).is_some()))
            && (!counts || texts().count() >= least)
    })
}
