//! A server for static files that records the requested paths.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

/// The server; its thread ends with the tests.
pub struct Server {
    /// The address of the server.
    pub url: String,
    asked: Arc<Mutex<BTreeSet<String>>>,
}

impl Server {
    /// Starts a server for a directory.
    pub fn start(folder: &str) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(BTreeSet::new()));
        let (folder, seen) = (PathBuf::from(folder), asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, seen) = (folder.clone(), seen.clone());
                thread::spawn(move || answer(stream, &folder, &seen));
            }
        });
        Server { url, asked }
    }

    /// The requested paths, sorted and without duplicates.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").iter().cloned().collect()
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream, folder: &Path, asked: &Mutex<BTreeSet<String>>) {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    // Browsers open connections that they do not use.
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    while reader.read_line(&mut String::new()).is_ok_and(|length| length > 2) {}
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    let kind = match Path::new(name).extension().and_then(|it| it.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        _ => "text/css",
    };
    let (status, body) = match fs::read(folder.join(name)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", vec![]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    asked.lock().expect("no panic").insert(path);
    // Errors are ignored, because the browser may have closed the connection.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}
