//! A port that a program of a test is to listen on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

use crate::server::Result;

/// A free port that nobody else gets while this is there: not before the program listens, and not between two of its starts.
///
/// It is bound to a socket that never listens. Whoever asks for this very port may listen on it beside that.
pub(crate) struct Port(TcpSocket);

impl Port {
    /// One of the loopback.
    pub(crate) fn free() -> Result<Self> {
        Self::free_at(Ipv4Addr::LOCALHOST.into())
    }

    /// One of an address of version 4.
    pub(crate) fn free_at(host: IpAddr) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((host, 0)))?;
        Ok(Port(socket))
    }

    pub(crate) fn address(&self) -> Result<SocketAddr> {
        Ok(self.0.local_addr()?)
    }
}
