//! Datagrams that examples and samples share, and conversations that keep the protocol.

use crate::rule::{Cite, Example, Step, Step::*};

/// The published document.
pub(super) const SPEC: &str = "https://docs.unity.com/en-us/multiplay-hosting/concepts/sqp";

pub(super) const fn unity(section: &'static str) -> Cite {
    Cite { doc: "Unity Server Query Protocol", section, url: SPEC }
}

pub(super) const fn go_svrquery(section: &'static str) -> Cite {
    Cite { doc: "go-svrquery", section, url: "https://github.com/Unity-Technologies/go-svrquery" }
}

/// A handshake (token 0x80902348), a query for ServerInfo, and its answer.
pub(super) const H1: Step = C("00 00000000");
pub(super) const H2: Step = S("00 80902348");
pub(super) const QI: Step = C("01 80902348 0001 01");
pub(super) const OK: Step = S("01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61");

/// Unity's C# implementation, of which no public address is known.
pub(super) const USQP: Cite =
    Cite { doc: "Unity.Ucg.Usqp", section: "protocol structs, test client", url: "" };

pub(super) const SAMPLES: &[Example] = &[
    Example::of(&[H1, H2, QI, OK]),
    // The published answer: 16 slots on "UE4 Dedicated Server".
    Example::of(&[
        H1,
        S("00 c07a6c3d"),
        C("01 c07a6c3d 0001 01"),
        S("01 c07a6c3d 0001 00 00 005b 00000057 0000 0010 \
           14 554534204465646963617465642053657276 6572 \
           2e 2f5363726970742f53686f6f74657247616d652e53686f6f74657247616d655f5465616d44656174684d61746368 \
           03 303031 08 4869676872697365 1e61"),
    ]),
    // All five chunks, asked with version 2.
    Example::of(&[
        H1,
        H2,
        C("01 80902348 0002 1f"),
        S("01 80902348 0001 00 00 0094 \
           00000016 0002 0010 045a6fc3a9 03637466 0137 0464757374 2328 \
           00000033 026863 00 01 036c696d 01 012c 0473656564 02 0001e240 026964 03 0000010000000000 \
                    036d6f64 04 046e6f6e65 0167 05 3f000000 \
           00000020 0002 02 046e616d65 04 0573636f7265 02 03416e6e 0000000c 03426f62 00000007 \
           0000000e 0002 01 0573636f7265 01 0003 0001 \
           00000009 02 42700000 3e800000"),
    ]),
    // An optional chunk is left out, an empty table ends after its count.
    Example::of(&[H1, H2, C("01 80902348 0001 14"), S("01 80902348 0001 00 00 0006 00000002 0000")]),
];
