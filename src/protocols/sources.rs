//! Published sources that describe several protocols.

use crate::rule::Cite;

/// The address of GameSpy's library for servers.
pub(super) const QR2_SDK: &str = "https://github.com/nitrocaster/GameSpy";

/// A part of that library.
pub(super) const fn qr2_sdk(section: &'static str) -> Cite {
    Cite { doc: "GameSpy QR2 SDK", section, url: QR2_SDK }
}

/// A part of node-gamedig, whose clients speak most of these protocols.
pub(super) const fn gamedig(section: &'static str) -> Cite {
    Cite { doc: "node-gamedig", section, url: "https://github.com/gamedig/node-gamedig" }
}
