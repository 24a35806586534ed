//! What several groups of tests need: conversations to play, captures to read, ways to run the program.

pub mod captures;
pub mod ci;
pub mod feed;
pub mod format;
pub mod frames;
pub mod hold;
#[cfg(unix)] // the capture programs are made of shell
pub mod live;
pub mod packed;
pub mod play;
pub mod records;
pub mod run;
pub mod said;
pub mod sources;
pub mod tshark;
pub mod written;
