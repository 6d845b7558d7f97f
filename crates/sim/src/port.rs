//! A port that is kept for whoever is to listen on it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

/// Connections that wait to be taken.
const WAITING_MAX: u32 = 1024;

/// A free port that nobody else gets while this is there, as somebody's connection might: not before a server listens, and not
/// between two of its starts.
///
/// It is bound to a socket that never listens. Whoever asks for this very port, in this process or another, may listen on it beside
/// that.
#[derive(Debug)]
pub struct Port(TcpSocket);

impl Port {
    /// One of the loopback.
    ///
    /// # Errors
    /// When the system has none.
    pub fn free() -> io::Result<Self> {
        Self::free_at(Ipv4Addr::LOCALHOST.into())
    }

    /// One of an address of version 4.
    ///
    /// # Errors
    /// When the system has none, or this is not its address.
    pub fn free_at(host: IpAddr) -> io::Result<Self> {
        bound(SocketAddr::from((host, 0))).map(Port)
    }

    /// Where it is.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Listens on it.
    pub(crate) fn listen(&self) -> io::Result<TcpListener> {
        bound(self.address()?)?.listen(WAITING_MAX)
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
