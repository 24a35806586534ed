//! A stand-in for dumpcap, compiled by .ci/windows: lists two interfaces, or writes the capture that FAKE_CAPTURE names to its standard
//! output, and then waits until it is stopped, if FAKE_WAIT is set.

use std::io::Write;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|it| it == "-D") {
        println!("1. \\Device\\NPF_{{1}}\t\tEthernet\t0\t10.0.0.1\tnetwork\t");
        println!("2. \\Device\\NPF_Loopback\t\tLoopback\t0\t127.0.0.1\tloopback\t");
        return;
    }
    if args.iter().any(|it| it == "nowhere") {
        eprintln!("dumpcap: There is no device named \"nowhere\".");
        std::process::exit(1);
    }
    let capture = std::fs::read(std::env::var("FAKE_CAPTURE").expect("FAKE_CAPTURE names a capture"))
        .expect("it can be read");
    eprintln!("Capturing on 'Ethernet'");
    let mut out = std::io::stdout().lock();
    for part in capture.chunks(1000) {
        out.write_all(part).and_then(|()| out.flush()).expect("somebody reads");
    }
    if std::env::var_os("FAKE_WAIT").is_some() {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    eprintln!(
        "Packets received/dropped on interface 'Ethernet': 22/7 (pcap:7/dumpcap:0/flushed:0/ps_ifdrop:0) (75.9%)"
    );
}
