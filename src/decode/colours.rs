//! Colour marks in texts, which are no part of a name.

/// The marks of a family of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// A caret and another character, or a caret, an x and three hex digits: Quake 3 and its descendants.
    Carets,
    /// A section sign and a character: Minecraft.
    Sections,
    /// 0x and six hex digits, or 0xRESETT: Armagetron.
    Hex,
    /// The name of a colour, or a number sign and hex digits, in brackets; or brackets alone: Mindustry.
    Brackets,
}

/// The colours that have names, in small letters and without underscores.
const NAMED: &str = "accent acid black blue brick brown chartreuse clear coral crimson cyan darkgray darkgrey \
    firebrick forest gold goldenrod gray green grey highlight lightgray lightgrey lime magenta \
    maroon navy negstat olive orange pink purple red royal salmon scarlet sky slate stat tan teal \
    unlaunched violet white yellow";
/// Characters of the longest name, and of the longest number: red, green, blue and opacity.
const LONGEST_NAME: usize = 10;
const LONGEST_NUMBER: usize = 8;

impl Colours {
    /// The byte that every mark contains, in UTF-8 as well as with one byte per character.
    pub(super) const fn byte(self) -> u8 {
        match self {
            Colours::Carets => b'^',
            Colours::Sections => 0xa7,
            Colours::Hex => b'x',
            Colours::Brackets => b'[',
        }
    }

    /// The characters of a text without its colour marks.
    pub fn strip<C: Iterator<Item = char> + Clone>(self, mut text: C) -> impl Iterator<Item = char> {
        std::iter::from_fn(move || {
            while let Some(last) = self.mark_len(text.clone()).checked_sub(1) {
                text.nth(last);
            }
            text.next()
        })
    }

    /// Number of characters of the mark with which a text begins; 0 if it begins with none.
    fn mark_len(self, mut text: impl Iterator<Item = char> + Clone) -> usize {
        match (self, text.next()) {
            (Colours::Carets, Some('^')) => match text.next() {
                Some('x') if are_hex(&text, 3) => 5,
                Some(c) if c.is_ascii_graphic() && c != '^' => 2,
                _ => 0,
            },
            (Colours::Sections, Some('\u{a7}')) => text.next().map_or(0, |_| 2),
            (Colours::Hex, Some('0')) if text.next() == Some('x') => {
                let resets = || text.clone().take(6).eq("RESETT".chars());
                if are_hex(&text, 6) || resets() { 8 } else { 0 }
            }
            (Colours::Brackets, Some('[')) => bracketed(&text).map_or(0, |inside| inside.saturating_add(2)),
            _ => 0,
        }
    }
}

/// Whether so many hex digits come next.
fn are_hex(text: &(impl Iterator<Item = char> + Clone), count: usize) -> bool {
    text.clone().take(count).filter(char::is_ascii_hexdigit).count() == count
}

/// Number of characters of a colour that a closing bracket follows.
fn bracketed(text: &(impl Iterator<Item = char> + Clone)) -> Option<usize> {
    let length = text.clone().take(LONGEST_NAME.saturating_add(2)).position(|c| c == ']')?;
    let mut colour = text.clone().take(length);
    let is_colour = match colour.clone().next() {
        None => true,
        Some('#') => {
            let digits = length.saturating_sub(1);
            colour.next();
            (1..=LONGEST_NUMBER).contains(&digits) && are_hex(&colour, digits)
        }
        Some(_) => {
            let letters = || colour.clone().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase());
            NAMED.split(' ').any(|name| letters().eq(name.chars()))
        }
    };
    is_colour.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_marks_are_stripped_from_texts() {
        let stripped = |colours: Colours, text: &str| colours.strip(text.chars()).collect::<String>();
        for (text, plain) in [
            ("^1Lab ^7One", "Lab One"),
            ("^x0f8Lab^xyz", "Labyz"),
            ("^^1a ^ b^", "^a ^ b^"),
            ("^", "^"),
            ("no mark", "no mark"),
        ] {
            assert_eq!(stripped(Colours::Carets, text), plain);
        }
        assert_eq!(stripped(Colours::Sections, "§6Lab §r§lOne§"), "Lab One§");
        for (text, plain) in [
            ("0x00ff00Lab 0xRESETTOne", "Lab One"),
            ("0xff00000x00FF00L0x12", "L0x12"),
            ("00xRESETTa0xRESETb", "0a0xRESETb"),
        ] {
            assert_eq!(stripped(Colours::Hex, text), plain);
        }
        for (text, plain) in [
            ("[accent]Lab[] [#ff8000]One[#ff8000ff]!", "Lab One!"),
            ("[LIGHT_GRAY][royal]a[EU]b[", "a[EU]b["),
            ("[#]a[#12345678901]b[#xyz]", "[#]a[#12345678901]b[#xyz]"),
            ("[unlaunched]a[[red]b]", "a[b]"),
        ] {
            assert_eq!(stripped(Colours::Brackets, text), plain);
        }
    }
}
