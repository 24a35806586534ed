//! Servers on loopback.

use std::net::{SocketAddr, UdpSocket};
use std::thread;

/// Starts a server that runs until the tests end; returns its address. `answer` gives the datagrams that it sends back for a
/// request and its sender.
pub fn serve(mut answer: impl FnMut(&[u8], SocketAddr) -> Vec<Vec<u8>> + Send + 'static) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut space = [0; 2000];
        while let Ok((length, from)) = socket.recv_from(&mut space) {
            answer(&space[..length], from).iter().for_each(|datagram| _ = socket.send_to(datagram, from));
        }
    });
    address
}
