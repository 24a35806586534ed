//! From a frame to its datagram: each layer whole, cut and damaged, and compared with etherparse.

mod craft;
mod frames;
mod ip;
mod metadata;
mod oracle;
mod tunnels;
