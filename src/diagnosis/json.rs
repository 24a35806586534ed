//! A diagnosis in records.

use super::Diagnosis;
use crate::decode::push_text;
use crate::text::line::Line;

impl Diagnosis {
    /// Appends the member `diagnosis` to an object in JSON that has members already.
    pub fn push_json(&self, line: &mut Line) {
        line.add(b",\"diagnosis\":{\"variations\":[");
        for (i, name) in self.variations.iter().enumerate() {
            if i > 0 {
                line.push(b',');
            }
            push_text(line, name.as_bytes());
        }
        for (key, text) in
            [("],\"help\":", self.help.as_str()), (",\"says\":", self.says), (",\"section\":", self.section)]
        {
            line.extend_from_slice(key.as_bytes());
            push_text(line, text.as_bytes());
        }
        line.add(b",\"reading\":");
        line.extend_from_slice(&self.reading);
        line.push(b'}');
    }
}

/// `everything fits if numbers are little-endian: "A" on "d", 1/8. SQP is big-endian (Data types)`.
impl std::fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.help)?;
        if !self.facts.is_empty() {
            write!(f, ": {}", self.facts)?;
        }
        write!(f, ". {} ({})", self.says, self.section)
    }
}
