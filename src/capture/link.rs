//! Names of link types.

use std::borrow::Cow;

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
    fn names() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0), "searched by halving");
        for (link, name) in [(0, "null"), (1, "ethernet"), (9, "ppp"), (101, "raw"), (108, "loop")] {
            assert_eq!(link_name(link), name);
        }
        assert_eq!(link_name(113), "linux_sll");
        assert_eq!(link_name(276), "linux_sll2");
        assert_eq!(link_name(147), "linktype_147");
        assert_eq!(link_name(u16::MAX), "linktype_65535");
    }
}
