//! The bodies of the fuzz targets. `tests/it/robust.rs` runs them with the committed inputs. A body panics if an invariant is
//! violated.

pub mod answering;
pub mod capture;
pub mod decoder;
pub mod diagnosis;
pub mod filter;
pub mod input;
pub mod lean;
pub mod pairing;
pub mod pasted;
pub mod settings;
pub mod talk;
pub mod walk;
pub mod work;
pub mod writers;

use qdissect::protocols::Id;

/// The body of a target.
pub type Body = fn(&[u8]);

/// Every target that needs only its input, by name. `config` needs the command line: [`settings`].
pub const BODIES: &[(&str, Body)] = &[
    ("file", capture::file),
    ("pcapng", capture::pcapng),
    ("unpack", capture::unpack),
    ("walk", walk::walk),
    ("classifier", talk::classifier),
    ("lean", lean::lean),
    ("work", work::work),
    ("sqp", |bytes| decoder::decoder(Id::Sqp, bytes)),
    ("satisfactory", |bytes| decoder::decoder(Id::Satisfactory, bytes)),
    ("skycoop", |bytes| decoder::decoder(Id::Skycoop, bytes)),
    ("gqp", |bytes| decoder::decoder(Id::Gqp, bytes)),
    ("quake3", |bytes| decoder::decoder(Id::Quake3, bytes)),
    ("raknet", |bytes| decoder::decoder(Id::Raknet, bytes)),
    ("gamespy3", |bytes| decoder::decoder(Id::Gamespy3, bytes)),
    ("a2s", |bytes| decoder::decoder(Id::A2s, bytes)),
    ("gamespy1", |bytes| decoder::decoder(Id::Gamespy1, bytes)),
    ("gamespy2", |bytes| decoder::decoder(Id::Gamespy2, bytes)),
    ("ase", |bytes| decoder::decoder(Id::Ase, bytes)),
    ("unreal2", |bytes| decoder::decoder(Id::Unreal2, bytes)),
    ("samp", |bytes| decoder::decoder(Id::Samp, bytes)),
    ("titanfall", |bytes| decoder::decoder(Id::Titanfall, bytes)),
    ("mumble", |bytes| decoder::decoder(Id::Mumble, bytes)),
    ("teamspeak3", |bytes| decoder::decoder(Id::Teamspeak3, bytes)),
    ("teeworlds", |bytes| decoder::decoder(Id::Teeworlds, bytes)),
    ("armagetron", |bytes| decoder::decoder(Id::Armagetron, bytes)),
    ("mindustry", |bytes| decoder::decoder(Id::Mindustry, bytes)),
    ("doom3", |bytes| decoder::decoder(Id::Doom3, bytes)),
    ("openttd", |bytes| decoder::decoder(Id::Openttd, bytes)),
    ("masters", |bytes| decoder::decoder(Id::Masters, bytes)),
    ("answering", answering::answering),
    ("diagnosis", diagnosis::diagnosis),
    ("pairing", pairing::pairing),
    ("filter", filter::filter),
    ("pasted", pasted::pasted),
    ("writers", writers::writers),
];

/// Runs the body of that name.
pub fn run(name: &str, bytes: &[u8]) {
    let found = BODIES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("there is no target {name:?}")).1(bytes);
}
