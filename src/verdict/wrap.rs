//! Breaks text into lines of a width.

use unicode_width::UnicodeWidthStr;

/// A text in lines of at most `width` columns, broken between words; all lines but the first are indented. A longer word
/// has a line of its own.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![];
    let (mut line, mut columns) = (String::new(), 0);
    for word in text.split(' ') {
        let (begun, wide) = (!line.trim_start().is_empty(), word.width());
        if begun && columns + 1 + wide > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            columns = indent;
        } else if begun {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += wide;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_no_word_is_lost() {
        assert_eq!(wrapped("one two  three", 100, 2), ["one two  three"]);
        assert_eq!(wrapped("one two three four", 9, 2), ["one two", "  three", "  four"]);
        assert_eq!(wrapped("a-very-long-word x", 5, 1), ["a-very-long-word", " x"]);
        assert_eq!(wrapped("日本 語", 6, 0), ["日本", "語"], "these take two columns each");
        assert_eq!(wrapped("", 5, 2), [""]);
    }
}
