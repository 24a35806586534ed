//! Rules that belong to no protocol: what a capture leaves out, and what every answer may show.

use crate::rule::{Cite, Example, Step::*, rules};

/// How a capture ends and begins is nobody's standard; this is where its place is described.
const CAPTURE: Cite = Cite {
    doc: "pcapng",
    section: "Section Header Block: a capture begins at any time",
    url: "https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/",
};

rules! {
    /// The capture holds only the first bytes of the datagram (its snap length is too small). What is
    /// there is decoded; what is missing is nobody's fault. Capture with `-s 0` to see everything.
    GEN_001 = "GEN-001" Note "datagram is cut short by the capture" {
        cite: Cite { doc: "pcapng", section: "Enhanced Packet Block, Captured Packet Length", url: "https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/" },
        side: Capture,
        examples: [Example::on(7777, &[
            C("00 00000000"),
            S("00 80902348"),
            C("01 80902348 0001 01"),
            // Raw IPv4: 57 bytes, of which 50 were captured.
            Frame(101, 57, "4500003900000000 40110000 c000020a c6336407 1e619c4100250000 \
                            01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 01"),
        ])],
    }
    /// Its first datagram, and this one, are less than five seconds after the capture's first frame, and none of
    /// its requests was seen: what a rule misses here may stand before the capture, so the rule is a note.
    GEN_005 = "GEN-005" Note "conversation may be older than the capture" {
        cite: CAPTURE,
        side: Capture,
        examples: [Example::at_start(&[
            S("01 80902348 0001 00 00 0012 0000000e 0001000801410162016301641e61"),
        ])],
    }
    /// Nothing proves that the client is who it seems to be, so a forged source address makes the server send
    /// more to a victim than the attacker spends. By how much stands in the rules of the protocol.
    GEN_007 = "GEN-007" Note "answer is larger than its request, without address validation" {
        cite: Cite { doc: "RFC 8085", section: "3.1, 6: UDP and amplification", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        per_server: true,
        ratio: true,
        examples: [Example::on(26950, &[
            C("feffffff"),
            S("93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01"),
        ])],
    }
}
