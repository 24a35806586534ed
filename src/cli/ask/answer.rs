//! The answer of a server in one line: name, game, map, players, and how long it took.

use crate::cli::hex::play;
use crate::net::OwnedFrame;
use crate::pipeline::Options;
use crate::protocols::{Id, Level};
use crate::report::format::duration;
use crate::report::server_text::ServerText;
use crate::report::summary::Summary;
use crate::text::escape::quoted;

/// The line, and below it what would make broken answers fit; `None` where nothing was answered.
pub fn line(id: Id, frames: &[OwnedFrame], options: &Options) -> Option<String> {
    let mut summary = Summary::default();
    let options = Options { min_confidence: Level::Low, ..options.clone() };
    play(("", frames, true), options, &mut summary).ok()?;
    let server = summary.servers().find(|server| server.id == id && server.answered + server.late > 0)?;
    let facts = &server.facts;
    let mut parts = vec![];
    let mut add = |what: &str, text: &Option<ServerText>| {
        let text = text.as_ref().map(|text| text.text().into_owned()).filter(|text| !text.is_empty());
        parts.extend(text.map(|text| format!("{what}{}", quoted(&text))));
    };
    add("", &facts.server_name);
    add("game ", &facts.game);
    add("map ", &facts.map);
    parts.extend(facts.players.map(|(players, most)| format!("{players}/{most} players")));
    if parts.is_empty() {
        parts.push("it answers".to_owned());
    }
    parts.extend(server.times.mean().map(duration));
    let line = format!("{} {}: {}", id.info().name, server.endpoint, parts.join(", "));
    let all = summary.agreements.all();
    let help =
        all.iter().find(|explained| explained.by_server).map(|explained| format!("\n  help: {explained}"));
    Some(line + &help.unwrap_or_default())
}
