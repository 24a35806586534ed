//! Text cut to what fits.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks that have no width of their own, for each column, before a text is cut for them alone.
const MOST_MARKS: usize = 4;

/// At most `most` columns of a terminal, with an ellipsis where something was left out. Wide characters take two, and
/// a mark stays with its letter.
pub fn short(text: &str, most: usize) -> String {
    let longest = most.saturating_mul(MOST_MARKS);
    // No character takes more columns than bytes.
    if text.len() <= most || text.len() <= longest && text.width() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let mut columns = 0;
    let fits = text.chars().take(longest).take_while(|c| {
        columns += c.width().unwrap_or(0);
        columns <= room
    });
    fits.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_is_cut_by_columns() {
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("サーバー", 8, "サーバー"),
            ("サーバー", 7, "サーバ…"),
            ("サーバー", 6, "サー…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("e\u{301}e\u{301}e\u{301}x", 3, "e\u{301}e\u{301}…"),
            ("", 0, ""),
            ("a", 0, "…"),
        ] {
            assert_eq!(short(text, most), expected, "{text} {most}");
        }
    }

    #[test]
    fn marks_without_end_are_cut_too() {
        let cut = short(&format!("a{}", "\u{301}".repeat(100_000)), 10);
        assert_eq!((cut.chars().count(), cut.width()), (41, 2));
    }
}
