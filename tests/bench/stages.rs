//! Measures every stage and its floor with divan. This is a separate program: if the other benchmark called the stages as well,
//! the compiler might inline less of what that one measures.

mod capture;
mod datagrams;
mod foreign;
mod frames;
// The other benchmark uses the rest.
#[allow(dead_code)]
mod generate;
mod hostile;
mod random;
mod samples;
mod stage_decode;
mod stage_pair;
mod stage_parse;
mod stage_read;
mod stage_write;
mod walk;

fn main() {
    divan::main();
}
