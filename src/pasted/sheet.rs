//! What has been read so far: datagrams, the one under way, and what could not be read.

use super::dump::Dump;
use super::{
    Complaint, Form, Head, MAX_COMPLAINTS, MAX_PAYLOAD, MAX_PIECE, MAX_PIECES, Mark, Pasted, Piece, Wrong,
    packet,
};

/// What the datagram under way is written as, and where it stands.
#[derive(Debug)]
pub enum Way {
    /// Rows with offsets.
    Dump(Dump),
    /// Lines of digits: bytes of the first line and of the last, and whether that said it goes on.
    Lines { first: usize, last: usize, goes_on: bool },
    /// Lines of base64; characters of the last.
    Base64(usize),
    /// Rows of digits with rows of characters below: so many bytes are still to come.
    Gamedig(usize),
}

/// The datagram under way.
#[derive(Debug)]
pub struct Open {
    /// What it holds so far.
    pub piece: Piece,
    /// How it is written.
    pub way: Way,
    /// It has more bytes than fit, and that has been said.
    full: bool,
}

/// Datagrams and complaints, in the order of the text.
#[derive(Debug, Default)]
pub struct Sheet {
    /// What is complete.
    pub pasted: Pasted,
    /// What lines above said of the next datagram.
    pub head: Head,
    /// The datagram under way.
    pub open: Option<Open>,
    /// Number of the line, from 1.
    pub number: usize,
    /// The text is a stream as Wireshark follows it: offsets go on from datagram to datagram.
    pub follow: bool,
    /// There were more datagrams than are kept, and that has been said.
    full: bool,
}

impl Sheet {
    /// A datagram begins on this line.
    pub fn begin(&mut self, form: Form, way: Way, said: Head) {
        self.flush();
        let mut head = std::mem::take(&mut self.head);
        head.take(said);
        let piece = Piece { bytes: vec![], missing: 0, head, line: self.number, form, packet: None };
        self.open = Some(Open { piece, way, full: false });
    }

    /// Adds bytes to the datagram under way, as many as fit.
    pub fn add(&mut self, bytes: &[u8]) {
        let Some(open) = &mut self.open else { return };
        let room = MAX_PIECE.saturating_sub(open.piece.bytes.len());
        open.piece.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if room < bytes.len() && !std::mem::replace(&mut open.full, true) {
            self.complain(0, too_long());
        }
    }

    /// The datagram under way ends.
    pub fn flush(&mut self) {
        let Some(Open { mut piece, way, full }) = self.open.take() else { return };
        if let Way::Gamedig(left) = way
            && left > 0
        {
            let bytes = crate::report::count(left as u64, "byte");
            self.complain(
                0,
                format!(
                    "{bytes} more were announced as the buffer's length. They are taken as not captured."
                ),
            );
            piece.missing = u32::try_from(left).unwrap_or(u32::MAX);
        }
        if piece.bytes.is_empty() {
            self.head.take(piece.head);
            return;
        }
        if self.pasted.pieces.len() >= MAX_PIECES {
            if !std::mem::replace(&mut self.full, true) {
                let what = format!("There are more than {MAX_PIECES} datagrams; what follows is not read.");
                self.complain(0, what);
            }
            return;
        }
        let shows_packets = matches!(&way, Way::Dump(dump) if dump.packets);
        piece.packet = packet::headers(&piece.bytes, shows_packets);
        if piece.packet.is_none() && shows_packets && piece.head.time.is_some() {
            // Of tcpdump, but not IP: nothing that could be a payload.
            piece.packet = u32::try_from(piece.bytes.len()).ok().map(|len| (packet::RAW, len));
        }
        if piece.packet.is_none() && piece.bytes.len() > MAX_PAYLOAD {
            piece.bytes.truncate(MAX_PAYLOAD);
            if !full {
                self.complain(0, too_long());
            }
        }
        let room = MAX_PAYLOAD.saturating_sub(piece.bytes.len());
        piece.missing = piece.missing.min(u32::try_from(room).unwrap_or(0));
        if self.follow
            && piece.head.mark.is_none()
            && let Way::Dump(dump) = &way
        {
            // Whoever spoke first stands at the margin.
            piece.head.mark = Some(if dump.indented { Mark::FromServer } else { Mark::ToServer });
        }
        self.pasted.pieces.push(piece);
    }

    /// Complains about a column of this line, in characters from 0.
    pub fn complain(&mut self, column: usize, what: String) {
        self.complain_on(self.number, column.saturating_add(1), what);
    }

    /// Complains about a place in a part of this line that begins at byte `from`; what stands before it is short.
    pub fn complain_at(&mut self, from: usize, wrong: Wrong) {
        self.complain(from.saturating_add(wrong.column), wrong.what);
    }

    /// Complains about byte `at` of the text; this line begins at byte `line_at`.
    pub fn complain_in(&mut self, text: &str, line_at: usize, at: usize, what: String) {
        if self.pasted.complaints.len() >= MAX_COMPLAINTS {
            return self.complain(0, what);
        }
        let before = text.get(line_at..at).unwrap_or_default();
        let line = self.number.saturating_add(before.matches('\n').count());
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count());
        self.complain_on(line, column.saturating_add(1), what);
    }

    fn complain_on(&mut self, line: usize, column: usize, what: String) {
        if self.pasted.complaints.len() < MAX_COMPLAINTS {
            self.pasted.complaints.push(Complaint { line, column, what });
        } else {
            self.pasted.more_complaints = self.pasted.more_complaints.saturating_add(1);
        }
    }
}

fn too_long() -> String {
    format!("A UDP datagram over IPv4 holds at most {MAX_PAYLOAD} bytes; what is more is left out.")
}
