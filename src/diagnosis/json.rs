//! A diagnosis in records and in words.

use super::Diagnosis;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

/// What would make the message fit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "term.diagnosis", deny_unknown_fields)]
pub struct DiagnosisRecord<'a> {
    variations: &'a [String],
    help: &'a str,
    says: &'static str,
    section: &'static str,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    reading: Option<Box<RawValue>>,
}

impl DiagnosisRecord<'_> {
    /// The cause in a sentence, without values of the message.
    pub fn cause(&self) -> String {
        cause(self.help, self.says, self.section)
    }
}

/// `everything fits if numbers are little-endian. SQP is big-endian (Data types)`.
fn cause(help: &str, says: &str, section: &str) -> String {
    format!("{help}. {says} ({section})")
}

impl Diagnosis {
    /// The member `diagnosis` of records.
    pub fn record(&self) -> DiagnosisRecord<'_> {
        let reading = String::from_utf8_lossy(&self.reading).into_owned();
        DiagnosisRecord {
            variations: &self.variations,
            help: &self.help,
            says: self.says,
            section: self.section,
            reading: RawValue::from_string(reading).ok(),
        }
    }

    /// The line below the findings of a message.
    pub fn help_line(&self) -> String {
        format!("= help: {self}")
    }

    /// The cause without values of the message: `everything fits if numbers are little-endian. SQP is big-endian (Data types)`.
    pub fn cause(&self) -> String {
        cause(&self.help, self.says, self.section)
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
