//! A caller of the service over HTTP, who does nothing but ask and read.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The body of an answer, over a connection of its own.
pub(crate) fn asked(server: SocketAddr, path: &str) -> Vec<u8> {
    let mut caller = Caller::connect(server);
    caller.ask(path);
    caller.body
}

/// A caller with its connection.
pub(crate) struct Caller {
    stream: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Caller {
    /// Connects to a server.
    pub(crate) fn connect(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).expect("the server listens");
        stream.set_nodelay(true).expect("an option of the socket");
        Caller { stream: BufReader::with_capacity(64 * 1024, stream), line: String::new(), body: Vec::new() }
    }

    /// Sends a request and reads its answer, which has to be a good one.
    pub(crate) fn ask(&mut self, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).expect("it is sent");
        let (mut length, mut first) = (0, true);
        loop {
            self.line.clear();
            self.stream.read_line(&mut self.line).expect("a head");
            assert!(!first || self.line.starts_with("HTTP/1.1 200"), "{path}: {}", self.line);
            first = false;
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a number");
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("a body");
    }
}
