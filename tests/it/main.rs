//! Tests of the library and of the program from outside, with one file for each topic. Code that several of them share is in
//! `kit`.
#![allow(clippy::panic)] // tests fail that way

#[allow(dead_code)] // parts that only the benchmark uses
#[path = "../bench"]
mod bench {
    pub mod frames;
    pub mod judge;
    pub mod measure;
    pub mod random;
}
#[allow(dead_code)] // parts that only the fuzz targets use
#[path = "../fuzz/bodies/mod.rs"]
mod bodies;
mod kit;
#[path = "../fuzz/seeds.rs"]
mod seeds;

mod abuse;
mod ahead;
mod anonymised;
mod answer;
mod ask;
mod ask_broken;
mod ask_probe;
mod browse;
mod browser;
mod capture;
mod captures;
mod ci_formats;
mod cli;
mod collisions;
mod comforts;
mod config;
mod confined;
mod cookies;
mod cut;
mod default_form;
mod dependencies;
mod detail;
mod diagnosis;
mod dialects;
mod differ;
mod directions;
mod documents;
mod dropped;
mod early;
mod export;
mod faults;
mod filter;
mod follow;
mod forms;
mod game_queries;
mod game_rules;
mod game_traffic;
mod gate;
mod goes_on;
mod house;
mod inputs;
mod joined;
mod judged;
mod lengths;
mod library;
mod limits;
mod listings;
mod live;
mod live_loopback;
mod looked_at;
mod metrics;
mod mirrored;
mod net;
mod no_alloc;
mod odd_messages;
mod one_count;
mod other_answers;
mod page;
mod pairing;
mod parts;
mod passing;
mod pasted;
mod robust;
mod sarif;
mod save;
mod schema;
#[cfg(feature = "parquet")]
mod server;
mod shards;
mod sharing;
mod silence;
mod skipped;
mod stats;
mod stays_known;
mod swapped;
mod terminal;
mod tshark;
mod tui;
mod tunnels;
mod unclaimed;
mod values;
mod web;
mod whose_answer;
mod whose_silence;
mod wireshark;
mod work;
