//! Reading and writing captures: each format whole, cut and damaged, and compared with pcap-parser.

mod compressed;
mod damage;
mod files;
mod info;
mod limits;
mod oracle;
mod packed;
mod pcap;
mod pcapng;
mod writer;
