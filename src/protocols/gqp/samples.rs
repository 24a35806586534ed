//! Datagrams that examples and samples share, and conversations that keep the grammar.

use crate::rule::{Cite, Example, Step, Step::*};

/// The draft, as the wiki's archive has it.
pub(super) const SPEC: &str = "https://github.com/DarklightGames/unrealwiki";

pub(super) const fn draft(section: &'static str) -> Cite {
    Cite { doc: "GQP draft", section, url: SPEC }
}

/// `identify` and its answer.
pub(super) const IDQ: Step = C("6964656e74696679 04");
pub(super) const IDR: Step =
    S("3130 6964656e74696679 1e 12 67616d656e616d65 1f 7574 1e 12 67616d65766572 1f 343332 \
     1e 12 6e6574766572 1f 343332 04");

/// `echo` with the argument "hi".
pub(super) const EQ: Step = C("6563686f 1e 6869 04");

/// `auth` as "bob" with the password "pw", and the challenge string "xyz".
pub(super) const AQ: Step = C("61757468 1e 626f62 1f 7077 04");
pub(super) const AR: Step = S("3130 61757468 1e 11 78797a 04");

pub(super) const SAMPLES: &[Example] = &[
    Example::of(&[IDQ, IDR]),
    // Two commands in one message, two replies in one.
    Example::of(&[
        C("6563686f 1e 746869732074657874 1d 6563686f 1e 6d6f72652074657874 04"),
        S("3130 6563686f 1e 11 746869732074657874 1d 3130 6563686f 1e 11 6d6f72652074657874 04"),
    ]),
    // What a server announces as its extensions may be asked.
    Example::of(&[
        C("657874656e73696f6e73 04"),
        S("3130 657874656e73696f6e73 1e 13 706c6179657273 1f 72756c6573 04"),
        C("706c6179657273 04"),
        S("3130 706c6179657273 1e 14 726564 1f 416e6e 1f 426f62 1e 14 626c7565 1f 5a6f65 04"),
    ]),
    // A login: the string that auth gives goes back with challenge.
    Example::of(&[AQ, AR, C("6368616c6c656e6765 1e 78797a 04"), S("3130 6368616c6c656e6765 1e 06 04")]),
    // A command that the admin has disabled.
    Example::of(&[C("6563686f 04"), S("3330 6563686f 1e 06 04")]),
];
