//! Packets of an index as a page shows them.

use super::{Index, ReadBytes, Row, Unopened};
use crate::report::{ListRecord, Listed, Picked, StandIns};
use crate::text::escape::terminal_safe_json;
use std::ops::Range;

impl Index {
    /// The packets of some rows as a list shows them, as JSON. Of those that cannot be opened, it has what their rows know.
    /// `stand_ins` are what is made up of frames.
    pub fn listed(&self, rows: Range<usize>, stand_ins: &StandIns, read: ReadBytes<'_>) -> String {
        let end = rows.end.min(self.rows.len());
        let records: Vec<_> = (rows.start..end)
            .filter_map(|at| {
                let mut listed = Listed::new(stand_ins);
                let opened = self.open(at, false, read, &mut listed);
                let known = self.rows.get(at)?;
                opened.ok().and(listed.record).or_else(|| Some(self.unopened(known)))
            })
            .collect();
        terminal_safe_json(&records)
    }

    /// What is known of a packet that cannot be opened.
    fn unopened(&self, row: &Row) -> ListRecord {
        let protocol = row.protocol();
        ListRecord {
            frame: self.place(row.frame).frame,
            protocol: protocol.map(|id| id.info().name),
            message: protocol.map_or(String::new(), |id| id.info().message_name(row.message()).to_owned()),
            worst: row.worst().map(|severity| severity.name()),
            findings: usize::from(row.worst().is_some()),
            ..ListRecord::default()
        }
    }

    /// The packet of a row with its tree, bytes and findings, as JSON: see [`Picked::json`].
    ///
    /// # Errors
    /// See [`Unopened`].
    pub fn picked(&self, at: usize, stand_ins: &StandIns, read: ReadBytes<'_>) -> Result<String, Unopened> {
        let mut picked = Picked::new(stand_ins.clone());
        self.open(at, false, read, &mut picked)?;
        picked.json().ok_or(Unopened::Again)
    }

    /// A filter for the field that a line of a packet's tree shows; `None` if it shows none, or the packet cannot be opened.
    pub fn field_filter(&self, at: usize, line: usize, read: ReadBytes<'_>) -> Option<String> {
        let mut picked = Picked::new(StandIns::default());
        self.open(at, false, read, &mut picked).ok()?;
        picked.filter(line)
    }
}
