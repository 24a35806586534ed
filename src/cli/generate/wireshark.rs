//! What makes Wireshark and tshark show findings: a plugin in Lua, and an extcap program in the language of the shell.

use crate::protocols::{Ask, Id};

/// The plugin: fields, expert information and marked bytes, made of the comments of `--annotate`.
pub const PLUGIN: &str = include_str!("findings.lua");

/// The extcap program, with the protocols that `ask` knows.
pub fn extcap() -> String {
    let first =
        Ask { answered: 0, silences: 0, all: false, random: 0, server: None, first: &[], latest: &[] };
    let asked = Id::ALL.iter().filter(|id| id.ask(&first).is_some()).map(|id| id.info());
    let values: Vec<_> = asked
        .map(|info| format!("value {{arg=1}}{{value={}}}{{display={}}}", info.name, info.title))
        .collect();
    include_str!("extcap.sh")
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@PROTOCOLS@", &values.join("\n"))
}
