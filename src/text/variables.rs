//! Names of variables that servers of many games tell, such as `sv_maxclients`: words that say nothing of who runs a server.

/// Names without a prefix of [`PREFIXES`], in lower case.
const NAMES: &[&str] = &[
    "allowedbuild",
    "anticheat",
    "auth",
    "balanceteams",
    "basic",
    "bots",
    "botskill",
    "build",
    "capturelimit",
    "challenge",
    "challengeresponse",
    "changelevels",
    "cheats",
    "class",
    "clients",
    "connect",
    "coop",
    "country",
    "currentwave",
    "day",
    "deathmatch",
    "deaths",
    "deaths_",
    "decalfrequency",
    "dedicated",
    "details",
    "difficulty",
    "disconnect",
    "dmflags",
    "echo",
    "edgefriction",
    "endtimedelay",
    "extensions",
    "final",
    "finalwave",
    "forcerespawn",
    "fraglimit",
    "frags",
    "frags_",
    "friendlyfire",
    "full",
    "game",
    "game_id",
    "gamebuild",
    "gamedate",
    "gamedir",
    "gamemode",
    "gamename",
    "gamespeed",
    "gamestate",
    "gamestats",
    "gametype",
    "gamevariant",
    "gamever",
    "gameversion",
    "getchallenge",
    "getinfo",
    "getservers",
    "getserversext",
    "getserversextresponse",
    "getserversresponse",
    "getstatus",
    "goalscore",
    "goalteamscore",
    "gravity",
    "hash",
    "heartbeat",
    "hostip",
    "hostname",
    "hostport",
    "id",
    "identify",
    "info",
    "inforesponse",
    "initialwave",
    "island",
    "kills",
    "lagcomp",
    "language",
    "listenserver",
    "location",
    "map",
    "maplist",
    "mapname",
    "maptitle",
    "mapvoting",
    "maxclients",
    "maxplayers",
    "maxspectators",
    "maxteams",
    "message",
    "minnetver",
    "minplayers",
    "mission",
    "mod",
    "mode",
    "mods",
    "motd",
    "mutator",
    "mutators",
    "name",
    "netver",
    "nextlevel",
    "numplayers",
    "numspectators",
    "numteams",
    "numwaves",
    "official",
    "os",
    "password",
    "pausable",
    "ping",
    "ping_",
    "platform",
    "player",
    "player_",
    "players",
    "plugins",
    "port",
    "print",
    "protocol",
    "pure",
    "queryid",
    "rcon",
    "revision",
    "rules",
    "score",
    "score_",
    "secure",
    "seed",
    "servermode",
    "serverversion",
    "shortversion",
    "skill",
    "skill_",
    "source engine query",
    "speed",
    "splitnum",
    "status",
    "statusresponse",
    "steamengineversion",
    "stv_name",
    "stv_port",
    "team",
    "team_",
    "teams",
    "time",
    "timeleft",
    "timelimit",
    "translocator",
    "url",
    "ver",
    "version",
    "weaponstay",
    "weather",
    "website",
    "whitelist",
    "world",
    "worldtime",
];

/// What stands before the first `_` of names of variables.
const PREFIXES: &[&str] = &[
    "amx",
    "bf2",
    "bm",
    "bot",
    "cg",
    "cl",
    "com",
    "csgo",
    "desc",
    "description",
    "dod",
    "fof",
    "fs",
    "g",
    "gc",
    "hostage",
    "host",
    "item",
    "l4d",
    "l4d2",
    "match",
    "mem",
    "mp",
    "nav",
    "net",
    "ngsecret",
    "phys",
    "r",
    "scr",
    "si",
    "sk",
    "sm",
    "sv",
    "tf",
    "tf2items",
    "tv",
    "tutor",
    "ui",
    "weapon",
];
/// Longest name.
const LONGEST: usize = 64;

/// Whether a text is such a name, in letters of any case, perhaps with a number behind it.
pub fn is_known(text: &[u8]) -> bool {
    let Some(text) = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST) else {
        return false;
    };
    let text = text.trim_start_matches(['*', '.', '_']).to_ascii_lowercase();
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_prefixed = || {
        text.chars().all(is_part)
            && text
                .split_once('_')
                .is_some_and(|(prefix, rest)| !rest.is_empty() && PREFIXES.contains(&prefix))
    };
    let is_named = |name: &str| NAMES.binary_search(&name).is_ok();
    name.is_empty() && text.len() < 6 || text.len() < 3 || is_named(name) || is_named(&text) || is_prefixed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn names_of_variables_are_known_and_values_are_not() {
        for name in
            ["hostname", "sv_maxclients", "MapName", "player_12", "*version", ".gamedir", "bf2_os", "p1", ""]
        {
            assert!(is_known(name.as_bytes()), "{name}");
        }
        for value in [
            "hunter2222",
            "Private lobby of Bob",
            "bob@example.org",
            "198.51.100.77",
            "Alice",
            "sv_ my key",
            "76561198000000000",
        ] {
            assert!(!is_known(value.as_bytes()), "{value}");
        }
    }
}
