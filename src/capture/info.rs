//! Facts that a capture states about itself: which program made it, its interfaces, and how many packets they lost.

/// Interfaces listed in [`CaptureInfo`]; facts about further ones are ignored.
pub const MAX_TOLD: usize = 256;

/// Distinct link types listed in [`CaptureInfo`].
const MAX_LINKS: usize = 256;

/// Bytes kept of each text about an interface: with all of them, the facts stay below 128 KiB.
const MAX_NAME: usize = 128;

/// Bytes kept of any other text in the capture.
pub(super) const MAX_TEXT: usize = 4096;

/// Facts that the capture states about itself, as far as it has been read.
///
/// All facts before the first packet are known as soon as the capture is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureInfo {
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// How the file is compressed: `gzip`, `zstd`, `lz4`, `xz`, `bzip2`; `None` when it is not.
    pub compression: Option<&'static str>,
    /// Link types of the interfaces described so far, each once, in order of appearance; at most 256.
    pub links: Vec<u16>,
    /// Snap length of the first interface in bytes; `None` when there is no limit or no interface.
    pub snaplen: Option<u32>,
    /// The program that wrote the capture (`shb_userappl`), of the first section that names one;
    /// at most 4,096 bytes. Bytes that are not UTF-8 are shown as U+FFFD.
    pub application: Option<String>,
    /// First comment on a section (`opt_comment` of its header), with the same limits.
    pub comment: Option<String>,
    /// The hardware that made the capture (`shb_hardware`), with the same limits.
    pub hardware: Option<String>,
    /// The operating system that made it (`shb_os`), with the same limits.
    pub os: Option<String>,
    /// The interfaces described so far, over all sections and counted as
    /// [`Frame::interface`](super::Frame::interface) does; at most 256.
    pub interfaces: Vec<Interface>,
    /// The name under which it was opened, where that is not valid Unicode: as text it would lose bytes.
    pub strange_name: Option<std::path::PathBuf>,
}

impl CaptureInfo {
    /// Stores an option of a section header; the first section that has the option counts.
    pub(super) fn note_section(&mut self, code: u16, value: &[u8]) {
        let place = match code {
            1 => &mut self.comment,
            2 => &mut self.hardware,
            3 => &mut self.os,
            4 => &mut self.application,
            _ => return,
        };
        *place = place.take().or_else(|| text(value, MAX_TEXT));
    }
}

/// At most `most` bytes of the text of an option, up to its first zero byte, because some writers count a
/// terminating zero; `None` where it is empty.
pub(super) fn text(value: &[u8], most: usize) -> Option<String> {
    let value = value.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut text = String::from_utf8_lossy(value.get(..most).unwrap_or(value)).into_owned();
    if value.len() > most {
        // Removes a character that the cut has split.
        text.truncate(text.trim_end_matches('\u{fffd}').len());
    }
    Some(text).filter(|text| !text.is_empty())
}

/// An interface as the capture describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Link type (`LINKTYPE_…` of tcpdump.org).
    pub link: u16,
    /// Snap length in bytes; `None` where there is no limit.
    pub snaplen: Option<u32>,
    /// Decimals of a second in its time stamps, rounded down to 0, 1, 2, 3, 6 or 9 as in tshark.
    pub decimals: u8,
    /// Name (`if_name`), such as `eth0`; at most 128 bytes, like the other texts.
    pub name: Option<String>,
    /// Description (`if_description`).
    pub description: Option<String>,
    /// First comment (`opt_comment` of its description).
    pub comment: Option<String>,
    /// Packets received since the capture began (`isb_ifrecv`), by its latest statistics.
    pub received: Option<u64>,
    /// Packets lost by the interface and the operating system (`isb_ifdrop`, `isb_osdrop`), by its latest
    /// statistics.
    counted: Option<u64>,
    /// Packets lost between captured packets (`epb_dropcount`, and the field of obsolete blocks), added up.
    between: Option<u64>,
}

impl Interface {
    /// An interface with this link type and snap length in bytes (0: no limit); its time stamps count microseconds.
    pub(super) fn new(link: u16, snaplen: u32) -> Interface {
        let snaplen = Some(snaplen).filter(|&limit| limit != 0);
        Interface { link, snaplen, decimals: 6, ..Interface::default() }
    }

    /// Sets the unit of its time stamps, given as in `if_tsresol`.
    pub(super) fn counts_by(&mut self, resolution: u8) {
        let exponent = resolution & 0x7f;
        // 2^10 is nearly a thousand: ten binary digits count as three decimals.
        let digits = if resolution & 0x80 == 0 {
            exponent
        } else {
            (u16::from(exponent).saturating_mul(3) / 10) as u8
        };
        self.decimals = match digits {
            0..=2 => digits,
            3..=5 => 3,
            6..=8 => 6,
            _ => 9,
        };
    }

    /// Stores an option of its description.
    pub(super) fn note(&mut self, code: u16, value: &[u8]) {
        let place = match code {
            1 => &mut self.comment,
            2 => &mut self.name,
            3 => &mut self.description,
            _ => return,
        };
        *place = place.take().or_else(|| text(value, MAX_NAME));
    }

    /// Packets that the capture lost, as far as it has been read; `None` where it does not say. Both ways of
    /// counting describe the same packets, so the higher count is used.
    pub fn dropped(&self) -> Option<u64> {
        self.counted.max(self.between)
    }
}

/// Interface statistics; each value replaces that of earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statistics {
    received: Option<u64>,
    dropped: [Option<u64>; 2],
}

impl Statistics {
    /// Stores an option: 4 `isb_ifrecv`, 5 `isb_ifdrop`, 7 `isb_osdrop`.
    pub(super) fn note(&mut self, code: u16, value: u64) {
        let place = match code {
            4 => &mut self.received,
            5 => &mut self.dropped[0],
            7 => &mut self.dropped[1],
            _ => return,
        };
        place.get_or_insert(value);
    }

    fn lost(self) -> Option<u64> {
        let [interface, system] = self.dropped;
        let sum = interface.unwrap_or(0).saturating_add(system.unwrap_or(0));
        interface.or(system).map(|_| sum)
    }
}

impl CaptureInfo {
    pub(super) fn note_interface(&mut self, interface: Interface) {
        if self.links.is_empty() {
            self.snaplen = interface.snaplen;
        }
        if self.links.len() < MAX_LINKS && !self.links.contains(&interface.link) {
            self.links.push(interface.link);
        }
        if self.interfaces.len() < MAX_TOLD {
            self.interfaces.push(interface);
        }
    }

    /// Stores the statistics of an interface; `number` counts over all sections.
    pub(super) fn note_statistics(&mut self, number: u32, statistics: Statistics) {
        let Some(interface) = self.interfaces.get_mut(number as usize) else { return };
        interface.received = statistics.received.or(interface.received);
        interface.counted = statistics.lost().or(interface.counted);
    }

    /// Adds `packets` that were lost before a packet of the interface.
    pub(super) fn note_lost(&mut self, number: u32, packets: u64) {
        let Some(interface) = self.interfaces.get_mut(number as usize) else { return };
        interface.between = Some(interface.between.unwrap_or(0).saturating_add(packets));
    }

    /// Packets that the capture lost, as far as it has been read; `None` where no interface says. In most files the
    /// statistics are at the end.
    pub fn dropped(&self) -> Option<u64> {
        let told = self.interfaces.iter().filter_map(Interface::dropped);
        told.reduce(u64::saturating_add)
    }
}
