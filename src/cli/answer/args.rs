//! The arguments of `qdissect answer`.

use crate::answer::Settings;
use crate::cli::value_parsers::{self, timeout};
use crate::protocols::Id;
use clap::Args;
use std::path::PathBuf;

/// `qdissect answer`
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The protocol that the server answers in, by its name or one that people use, such as `source` or `minecraft`
    #[arg(value_name = "PROTO", value_parser = value_parsers::NAMED)]
    pub proto: (Id, Option<u16>),
    /// Where it listens, on loopback if not given; without a port the protocol's own, if it has one, else a free one
    #[arg(long, value_name = "ADDR[:PORT]")]
    pub listen: Option<String>,
    /// The rule that its answers break, as the first example of the rule does which a server can play
    #[arg(long, value_name = "RULE", value_parser = value_parsers::EVERY_RULE, hide_possible_values = true, conflicts_with = "from")]
    pub fault: Option<String>,
    /// Print the faults that it can play, and answer nothing
    #[arg(long, conflicts_with_all = ["fault", "from", "listen"])]
    pub list: bool,
    /// Answer as the first server in this capture that answers in the protocol
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Name of the server
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Its map
    #[arg(long, value_name = "TEXT")]
    pub map: Option<String>,
    /// Its game, or kind of game
    #[arg(long, value_name = "TEXT")]
    pub game: Option<String>,
    /// Its version
    #[arg(long, value_name = "TEXT")]
    pub game_version: Option<String>,
    /// Players now; where a protocol lists them, they are called Player 1, Player 2, ...
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(..=MAX_PLAYERS))]
    pub players: u32,
    /// Players at most
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub max_players: u32,
    /// How many of its answers are lost, at random
    #[arg(long, value_name = "N%", default_value = "0%", hide_default_value = true, value_parser = percent)]
    pub loss: u8,
    /// How long each answer waits before it is sent
    #[arg(long, value_name = "DUR", value_parser = timeout)]
    pub delay: Option<i64>,
    /// Stop after N datagrams
    #[arg(short = 'c', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Do not say where it answers, and how often it has
    #[arg(short = 'q')]
    pub quiet: bool,
    /// Keep all rights of the user
    #[arg(long)]
    pub no_sandbox: bool,
}

/// Largest number of players: an answer that lists them must fit into a datagram.
const MAX_PLAYERS: i64 = 1_000;

impl AnswerArgs {
    /// What the server says of itself.
    pub fn settings(&self, port: u16) -> Settings {
        let plain = Settings::default();
        let or = |given: &Option<String>, plain: String| given.clone().unwrap_or(plain);
        Settings {
            name: or(&self.name, plain.name),
            map: or(&self.map, plain.map),
            game: or(&self.game, plain.game),
            version: or(&self.game_version, plain.version),
            players: self.players,
            max_players: self.max_players,
            port,
        }
    }
}

/// Parses a percentage.
fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|percent| *percent <= 100)
        .ok_or_else(|| format!("\"{text}\" is not a percentage such as 10%."))
}
