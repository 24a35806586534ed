//! Writes into the lines of the screen.

use crate::text::escape::truncated;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Writes a text into a line. A text that is too long ends with `…`.
pub fn put(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    if area.height > 0 {
        buffer.set_stringn(area.x, area.y, truncated(text, area.width.into()), area.width.into(), style);
    }
}

/// A line of an area.
pub fn line_of(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: u16::from(at < area.height), ..area }
}
