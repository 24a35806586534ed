//! Rules that belong to no protocol: about what a capture leaves out, and about what any answer may show.

use crate::rule::{Cite, Example, Step, Step::*, rules};

/// No standard prescribes how a capture begins and ends; this document describes it.
const CAPTURE: Cite = Cite {
    doc: "pcapng",
    section: "Section Header Block: a capture begins at any time",
    url: "https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/",
};

/// A query of Sky Co-op and its answer.
const SKQ: Step = C("feffffff");
const SKR: Step =
    S("93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01");

rules! {
    /// The capture holds only the first bytes of the datagram: its snap length is too small, or a mirror port cuts
    /// frames. What is there is decoded; what is missing is nobody's fault. Capture with `-s 0` to see everything.
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
    /// IP cut the datagram into fragments, and the first one is there, but not all others: the network lost them, or
    /// the capture, whose filter by port (`udp port 27015`) takes first fragments only. What is there is decoded. Reported at the last
    /// fragment; after two seconds, at the first.
    GEN_002 = "GEN-002" Note "incomplete: other fragments are missing" {
        cite: Cite { doc: "RFC 791", section: "3.2: fragmentation and reassembly", url: "https://www.rfc-editor.org/rfc/rfc791" },
        side: Path,
        examples: [Example::on(7777, &[
            C("00 00000000"),
            S("00 80902348"),
            C("01 80902348 0001 01"),
            // Raw IPv4 with the flag that more follows: 16 of 29 bytes of the answer.
            Frame(101, 44, "4500002c00012000 40110000 c000020a c6336407 1e619c4100250000 \
                            01 80902348 0001 00 00 0012 0000000e 00"),
        ])],
    }
    /// The bytes were changed on the way, or by who made the capture. The datagram is read and paired all the
    /// same, with less confidence. Not said where most datagrams of a capture are so: then the network card
    /// computes checksums after the capture.
    GEN_003 = "GEN-003" Warning "UDP checksum is wrong" {
        cite: Cite { doc: "RFC 768", section: "Checksum", url: "https://www.rfc-editor.org/rfc/rfc768" },
        side: Path,
        examples: [Example::on(7777, &[
            // A poll and its answer twice, with right checksums but for the last.
            Frame(101, 41, "450000290000000040118e7fc6336407c000020a 9c411e6100155c46 d5f60001efcdab896745230101"),
            Frame(101, 72, "450000480000000040118e60c000020ac6336407 1e619c4100341209 d5f60101efcdab8967452301037a960500 \
                            000000000000000004001100010100030500020100030046616201"),
            Frame(101, 41, "450000290000000040118e7fc6336407c000020a 9c411e6100157fe4 d5f60001020000000000000001"),
            Frame(101, 72, "450000480000000040118e60c000020ac6336407 1e619c41003434a6 d5f601010200000000000000037a960500 \
                            000000000000000004001100010100030500020100030046616201"),
        ])],
    }
    /// The host or a router sent the query back: nothing listens there, or a firewall forbids it. The record of
    /// the exchange says why.
    GEN_004 = "GEN-004" Note "request was refused" {
        cite: Cite { doc: "RFC 792", section: "Destination Unreachable Message", url: "https://www.rfc-editor.org/rfc/rfc792" },
        side: Path,
        examples: [Example::on(7777, &[
            C("d5f6 00 01 efcdab8967452301 01"),
            Frame(101, 69, "450000450000000040018e73c000020ac6336407 030345af00000000 \
                            450000290000000040118e7fc6336407c000020a9c411e6100150000d5f60001efcdab896745230101"),
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
    /// The client asked another address or port. It is paired all the same where token or cookie prove that it is the
    /// answer; or where the client has asked nobody else in this protocol, and the answer comes inside the window from
    /// another port of the asked address, or from the same port of another address, as from a host with several addresses.
    /// Clients with a connected socket do not receive it.
    GEN_006 = "GEN-006" Warning "answer comes from another endpoint than was asked" {
        cite: Cite { doc: "RFC 8085", section: "5.1: using UDP ports", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        examples: [
            Example::on(7777, &[
                C("d5f6 00 01 efcdab8967452301 01"),
                // From port 30000 of the same host.
                Frame(101, 72, "450000480000000040118e60c000020ac6336407 75309c4100340000 d5f60101efcdab8967452301037a960500 \
                            000000000000000004001100010100030500020100030046616201"),
            ]),
            // From another address of the host, with the same port.
            Example::on(27015, &[
                C("ffffffff 54 'Source Engine Query' 00"),
                Frame(101, 55, "4500003700000000 40110000 c000020b c6336407 69879c4100230000 ffffffff 49114100620063006400f000010800646c00013100808769"),
            ]),
        ],
    }
    /// A mirrored port, or a capture of several interfaces, shows it again. Copies are known by the identification of
    /// their IP packet, by where they were captured, or because the same packet, equal to the byte, follows at once: within
    /// 50 µs, with nothing but its copies between, four times at most. Clients do ask the same again, but not as fast. Copies
    /// are reported, but not paired or checked.
    GEN_008 = "GEN-008" Note "capture holds the datagram twice" {
        cite: Cite { doc: "RFC 6864", section: "4: identification of IPv4 datagrams", url: "https://www.rfc-editor.org/rfc/rfc6864" },
        side: Capture,
        examples: [Example::on(7777, &[
            // A poll with the identification 0x1234.
            Frame(101, 41, "4500002912340000 40110000 c6336407 c000020a 9c411e6100150000 d5f60001efcdab896745230101"),
            Copy,
            S("d5f60101efcdab8967452301037a960500 000000000000000004001100010100030500020100030046616201"),
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
    /// At least three datagrams asked it something, retransmissions among them, the last one at least two seconds after
    /// the first, and none was answered; those that an ICMP error refused count, and those do not whose time was not over
    /// when the capture ended. One lost datagram proves nothing, this does: the server is down, or cannot be reached. Said
    /// at the end, once, of the last of them, where a capture is judged as a whole; there the missing answers are its symptoms.
    /// Requests that another endpoint has answered instead (GEN-006) do not count as answered while the unanswered ones
    /// outnumber them. Where the capture holds no answer of anybody, it may lack one direction: then nothing is wrong with the server.
    /// Nor is it down where the same endpoint answers another protocol, which is then named.
    GEN_009 = "GEN-009" Error "server answered none of its requests" {
        cite: Cite { doc: "RFC 8085", section: "3.3: reliability of UDP", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        lenient: Warning,
        examples: [
            Example::on(7777, &[
                C("d5f6 00 01 0100000000000000 01"),
                Wait(1_500),
                C("d5f6 00 01 0200000000000000 01"),
                Wait(1_500),
                C("d5f6 00 01 0300000000000000 01"),
            ]),
            // One request with two retransmissions.
            Example::on(7777, &[
                C("d5f6 00 01 efcdab8967452301 01"),
                Wait(1_500),
                C("d5f6 00 01 efcdab8967452301 01"),
                Wait(1_500),
                C("d5f6 00 01 efcdab8967452301 01"),
            ]),
        ],
    }
    /// The asked server sent bytes to the asking socket inside the answer window, and no protocol claims them, while
    /// exactly one request waited for an answer. Clients drop them, or fail on them. The datagram is told as `unknown`, and
    /// the exchange counts as answered by it, so that later answers belong to their own requests; a real answer that still
    /// comes inside the window takes the exchange. Not said where the two exchange other unknown datagrams: then it may be
    /// one of a game. `qdissect hex` shows what the bytes look like.
    GEN_010 = "GEN-010" Error "answer is no message" {
        cite: Cite { doc: "RFC 8085", section: "5.2: validating what is received", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        side: Server,
        examples: [
            Example::on(27015, &[C("ffffffff 54 'Source Engine Query' 00"), S("00*64")]),
            // A real answer comes behind it.
            Example::on(27015, &[
                C("ffffffff 54 'Source Engine Query' 00"),
                S("'too many requests'"),
                S("ffffffff 49114100620063006400f000010800646c00013100808769"),
            ]),
        ],
    }
    /// More than nine answers to one request, copies among them, until its late window ends. The parts of an answer, the
    /// lines of a console, lists without an end, and the answers of many hosts to a broadcast count as one each. A loop on the
    /// path, or a server that can be made to flood the address that it takes for its client.
    GEN_013 = "GEN-013" Warning "request is answered more than nine times" {
        cite: Cite { doc: "RFC 8085", section: "3.1, 6: UDP and amplification", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        side: Server,
        examples: [Example::on(26950, &[
            SKQ, SKR, SKR, SKR, SKR, SKR, SKR, SKR, SKR, SKR, SKR,
        ])],
    }
    /// At least three requests, retransmissions among them, carry a challenge that it has issued to their client, the last
    /// one at least two seconds after the first, and it answers none of them, or only by another challenge: players see no
    /// server, although it seems to run. Requests with an error of their own, those met by an answer with a fault, and those
    /// whose time was not over when the capture ended do not count. Said at the end, once, of the last of them, where
    /// a capture is judged as a whole; there the missing answers are its symptoms.
    GEN_011 = "GEN-011" Error "server gives challenges and answers nothing that carries one" {
        cite: Cite { doc: "RFC 8085", section: "3.3: reliability of UDP", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        lenient: Warning,
        examples: [Example::on(7777, &[
            C("00 00000000"),
            S("00 80902348"),
            C("01 80902348 0001 01"),
            Wait(1_500),
            C("00 00000000"),
            S("00 80902349"),
            C("01 80902349 0001 01"),
            Wait(1_500),
            C("00 00000000"),
            S("00 8090234a"),
            C("01 8090234a 0001 01"),
        ])],
    }
    /// Within a minute it got three challenges from one server on one socket, and asked again each time instead of sending
    /// one back: it will never be answered. Mostly it returns the challenge wrongly, with its bytes swapped or as text, which
    /// is then said. Or its address is forged, and the challenges never reach whoever asks. Not said where more than 20
    /// challenges within a second show that.
    GEN_012 = "GEN-012" Warning "client never uses its challenge" {
        cite: Cite { doc: "RFC 8085", section: "6: security considerations", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        side: Client,
        examples: [Example::on(27015, &[
            C("ffffffff 55 ffffffff"),
            S("ffffffff 41 4bf3c8a1"),
            C("ffffffff 55 a1c8f34b"),
            S("ffffffff 41 4bf3c8a2"),
            C("ffffffff 55 a2c8f34b"),
            S("ffffffff 41 4bf3c8a3"),
            C("ffffffff 55 a3c8f34b"),
        ])],
    }
    /// The answers are larger than their requests, and the address has returned no challenge of the server: whoever forges
    /// it floods it through the server. Answers count once for each exchange, to all ports of the address and from all ports
    /// of the server, in any second. Said once for each pair of addresses, of the 21st answer; `dump` and `live` say the
    /// numbers so far, the others those of the whole capture. A server limits how often it answers an address, or asks for a
    /// challenge first. Quake 3 has its own rule (Q3-SEC-002).
    GEN_014 = "GEN-014" Warning "more than 20 unproven answers within a second to one address" {
        cite: Cite { doc: "RFC 8085", section: "3.1, 6: UDP and amplification", url: "https://www.rfc-editor.org/rfc/rfc8085" },
        examples: [Example::on(26950, &[
            SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR,
            SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR, SKQ, SKR,
            SKQ, SKR,
        ])],
    }
    /// `ask --probe` sends the plain query after each test, and the server no longer answers it. Whatever a stranger sends,
    /// a server has to go on answering others.
    PRB_ALIVE = "PRB-ALIVE" Error "server stops answering after a test" {
        cite: Cite { doc: "RFC 1122", section: "1.2.2: be liberal in what you accept", url: "https://www.rfc-editor.org/rfc/rfc1122" },
        active: true,
        side: Server,
        examples: [],
    }
}
