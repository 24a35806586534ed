//! Every stage beside its floor, measured by divan. A program of its own: were the stages called in the other one as
//! well, the compiler might inline less of what that one measures.

mod capture;
mod datagrams;
mod foreign;
mod frames;
// The other program uses the rest.
#[allow(dead_code)]
mod generate;
mod hostile;
mod random;
mod samples;
mod stage_decode;
mod stage_pair;
mod stage_peel;
mod stage_read;
mod stage_write;
mod walk;

fn main() {
    divan::main();
}
