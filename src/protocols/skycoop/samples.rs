//! Datagrams that examples and samples share, and conversations that keep the protocol.

use crate::rule::{Cite, Example, Step, Step::*};

/// The published page.
pub(super) const SPEC: &str = "https://github.com/Filigrani/SkyCoop/wiki/Server-Query-Protocol";

pub(super) const fn wiki(section: &'static str) -> Cite {
    Cite { doc: "Sky Co-op wiki, Server Query Protocol", section, url: SPEC }
}

/// The published dedicated server.
pub(super) const fn server(file: &'static str) -> Cite {
    Cite {
        doc: "Sky Co-op dedicated server",
        section: file,
        url: "https://github.com/RED1cat/SkyCoopDedicatedServer",
    }
}

/// The mod itself, which holds the client.
pub(super) const fn client(file: &'static str) -> Cite {
    Cite { doc: "Sky Co-op mod", section: file, url: "https://github.com/Filigrani/SkyCoop" }
}

/// The query.
pub(super) const RQ: Step = C("feffffff");

/// A reply: "Camp", version 0.13.2, two of ten players, Ann and Bob.
pub(super) const OK: Step = S("93000000 08000000 430061006d007000 06000000 302e31332e32 02000000 0a000000 \
     7a000000 7b00270070006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f006200\
     27005d002c00270065007800700065007200690065006e006300650027003a0027005300740061006c006b0065007200\
     27002c00270070007600700027003a002700540072007500650027007d00");

/// RCON with the password "pw123" and the command "status".
pub(super) const RCON: Step = C("ffffffff 05000000 7077313233 0c000000 730074006100740075007300");

pub(super) const SAMPLES: &[Example] = &[
    Example::on(26950, &[RQ, OK]),
    // "Zoé 🏕", nobody there; asked again by another client.
    Example::of(&[
        RQ,
        S("93000000 0c000000 5a006f00e90020003cd8d5df 06000000 302e31332e32 00000000 0a000000 \
           66000000 7b00270070006c006100790065007200730027003a005b005d002c002700650078007000650072006900\
           65006e006300650027003a002700500069006c006700720069006d0027002c00270070007600700027003a002700\
           460061006c007300650027007d00"),
        Wait(700),
        C2("feffffff"),
        S2("93000000 0c000000 5a006f00e90020003cd8d5df 06000000 302e31332e32 00000000 0a000000 \
           66000000 7b00270070006c006100790065007200730027003a005b005d002c002700650078007000650072006900\
           65006e006300650027003a002700500069006c006700720069006d0027002c00270070007600700027003a002700\
           460061006c007300650027007d00"),
    ]),
    // The layout of before April 2023.
    Example::on(
        26950,
        &[
            RQ,
            S(
                "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01",
            ),
        ],
    ),
    // RCON beside the query, with its answer "ok".
    Example::on(26950, &[RQ, OK, RCON, S("82000000 04000000 6f006b00")]),
];
