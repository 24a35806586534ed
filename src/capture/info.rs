//! Facts that a capture states about itself: which program made it, its interfaces, and how many packets they lost; and the
//! names of link types.

use std::borrow::Cow;

/// Interfaces listed in [`CaptureInfo`]; facts about further ones are ignored.
pub const MAX_LISTED_INTERFACES: usize = 256;

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
        let slot = match code {
            1 => &mut self.comment,
            2 => &mut self.hardware,
            3 => &mut self.os,
            4 => &mut self.application,
            _ => return,
        };
        *slot = slot.take().or_else(|| text(value, MAX_TEXT));
    }

    pub(super) fn note_interface(&mut self, interface: Interface) {
        if self.links.is_empty() {
            self.snaplen = interface.snaplen;
        }
        if self.links.len() < MAX_LINKS && !self.links.contains(&interface.link) {
            self.links.push(interface.link);
        }
        if self.interfaces.len() < MAX_LISTED_INTERFACES {
            self.interfaces.push(interface);
        }
    }

    /// Stores how many packets an interface received, lost, and lost in the operating system; later counts replace
    /// earlier ones. `number` counts over all sections.
    pub(super) fn note_statistics(&mut self, number: u32, [received, lost, by_system]: [Option<u64>; 3]) {
        let Some(interface) = self.interfaces.get_mut(number as usize) else { return };
        let sum = lost.unwrap_or(0).saturating_add(by_system.unwrap_or(0));
        interface.received = received.or(interface.received);
        interface.lost_by_statistics = lost.or(by_system).map(|_| sum).or(interface.lost_by_statistics);
    }

    /// Adds `packets` that were lost before a packet of the interface.
    pub(super) fn note_lost(&mut self, number: u32, packets: u64) {
        let Some(interface) = self.interfaces.get_mut(number as usize) else { return };
        interface.lost_by_packets = Some(interface.lost_by_packets.unwrap_or(0).saturating_add(packets));
    }

    /// Packets that the capture lost, as far as it has been read; `None` where no interface says. In most files the
    /// statistics are at the end.
    pub fn dropped(&self) -> Option<u64> {
        let counts = self.interfaces.iter().filter_map(Interface::dropped);
        counts.reduce(u64::saturating_add)
    }
}

/// The text of an option, at most `most` bytes of it and up to its first zero byte, because some writers count a
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
    lost_by_statistics: Option<u64>,
    /// Packets lost between captured packets (`epb_dropcount`, and the field of obsolete blocks), added up.
    lost_by_packets: Option<u64>,
}

impl Interface {
    /// An interface with this link type and snap length in bytes (0: no limit); its time stamps count microseconds.
    pub(super) fn new(link: u16, snaplen: u32) -> Interface {
        let snaplen = Some(snaplen).filter(|&limit| limit != 0);
        Interface { link, snaplen, decimals: 6, ..Interface::default() }
    }

    /// Sets the unit of its time stamps, given as in `if_tsresol`.
    pub(super) fn set_resolution(&mut self, resolution: u8) {
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
        let slot = match code {
            1 => &mut self.comment,
            2 => &mut self.name,
            3 => &mut self.description,
            _ => return,
        };
        *slot = slot.take().or_else(|| text(value, MAX_NAME));
    }

    /// Packets that the capture lost, as far as it has been read; `None` where it does not say. Both ways of
    /// counting describe the same packets, so the higher count is used.
    pub fn dropped(&self) -> Option<u64> {
        self.lost_by_statistics.max(self.lost_by_packets)
    }
}

/// The link types that have a name, ascending: <https://www.tcpdump.org/linktypes.html>.
///
/// 12 and 14 are not on that page: they are raw IP in files of systems that wrote their own numbers (`DLT_RAW`)
/// unchanged.
const NAMES: &[(u16, &str)] = &[
    (0, "null"),
    (1, "ethernet"),
    (6, "ieee802_5"),
    (7, "arcnet_bsd"),
    (8, "slip"),
    (9, "ppp"),
    (10, "fddi"),
    (12, "raw"),
    (14, "raw"),
    (50, "ppp_hdlc"),
    (51, "ppp_ether"),
    (99, "symantec_firewall"),
    (100, "atm_rfc1483"),
    (101, "raw"),
    (104, "c_hdlc"),
    (105, "ieee802_11"),
    (106, "atm_clip"),
    (107, "frelay"),
    (108, "loop"),
    (109, "enc"),
    (113, "linux_sll"),
    (114, "ltalk"),
    (117, "pflog"),
    (119, "ieee802_11_prism"),
    (122, "ip_over_fc"),
    (123, "sunatm"),
    (127, "ieee802_11_radiotap"),
    (129, "arcnet_linux"),
    (138, "apple_ip_over_ieee1394"),
    (143, "docsis"),
    (144, "linux_irda"),
    (163, "ieee802_11_avs"),
    (166, "ppp_pppd"),
    (177, "linux_lapd"),
    (187, "bluetooth_hci_h4"),
    (189, "usb_linux"),
    (192, "ppi"),
    (195, "ieee802_15_4_withfcs"),
    (197, "erf"),
    (201, "bluetooth_hci_h4_with_phdr"),
    (204, "ppp_with_dir"),
    (205, "c_hdlc_with_dir"),
    (206, "frelay_with_dir"),
    (219, "mpls"),
    (220, "usb_linux_mmapped"),
    (226, "ipnet"),
    (227, "can_socketcan"),
    (228, "ipv4"),
    (229, "ipv6"),
    (230, "ieee802_15_4_nofcs"),
    (231, "dbus"),
    (239, "nflog"),
    (240, "netanalyzer"),
    (241, "netanalyzer_transparent"),
    (242, "ipoib"),
    (249, "usbpcap"),
    (252, "wireshark_upper_pdu"),
    (253, "netlink"),
    (258, "pktap"),
    (264, "iso_14443"),
    (266, "usb_darwin"),
    (270, "loratap"),
    (271, "vsock"),
    (274, "ethernet_mpacket"),
    (276, "linux_sll2"),
    (281, "dsa_tag_brcm"),
    (282, "dsa_tag_brcm_prepend"),
    (284, "dsa_tag_dsa"),
    (285, "dsa_tag_edsa"),
];

/// The name of a link type in records: `LINKTYPE_LINUX_SLL2` is `linux_sll2`. A link type without a name here is
/// `linktype_` and its number.
pub fn link_name(link: u16) -> Cow<'static, str> {
    let known = NAMES.binary_search_by_key(&link, |&(number, _)| number).ok().and_then(|i| NAMES.get(i));
    match known {
        Some(&(_, name)) => Cow::Borrowed(name),
        None => Cow::Owned(format!("linktype_{link}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_types_are_named() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0), "for the binary search");
        for (link, name) in [(0, "null"), (1, "ethernet"), (9, "ppp"), (101, "raw"), (108, "loop")] {
            assert_eq!(link_name(link), name);
        }
        assert_eq!(link_name(113), "linux_sll");
        assert_eq!(link_name(276), "linux_sll2");
        assert_eq!(link_name(147), "linktype_147");
        assert_eq!(link_name(u16::MAX), "linktype_65535");
    }
}
