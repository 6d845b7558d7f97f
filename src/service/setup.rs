//! What a service needs before it starts: an address and who may ask.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::error::ServiceError;
use crate::http::auth::AccessConfig;
use crate::http::{Authenticator, Load, LoadLimits};
use crate::service::options::ConnectionLimits;
use strandline_clock::Clock;

/// Files that are for clusters and the data directory, where the configuration asks for a number of connections.
const OTHER_FILES: usize = 1024;

/// Counts and limits what is under way. Every connection is a file. Where the configuration asks for no number of them, half of
/// the files that may be open are for clusters and the data directory.
///
/// # Errors
/// When the system allows fewer than the configuration asks for.
pub(super) fn load(config: ConnectionLimits) -> Result<Load, ServiceError> {
    limited(config, rlimit::Resource::NOFILE.get_soft().unwrap_or(u64::MAX)).map(Load::new)
}

/// The limits where so many files may be open.
fn limited(config: ConnectionLimits, files: u64) -> Result<LoadLimits, ServiceError> {
    let usual = LoadLimits::default();
    let connections = match config.connections {
        Some(connections) => {
            let needed = (connections + usual.reserve + OTHER_FILES) as u64;
            if needed > files {
                return Err(ServiceError::FewOpenFiles { connections, needed, files });
            }
            connections
        }
        None => {
            let half = usize::try_from(files / 2).unwrap_or(usize::MAX).saturating_sub(usual.reserve);
            usual.connections.min(half.max(2))
        }
    };
    let ConnectionLimits { streams, streams_each, .. } = config;
    Ok(LoadLimits { connections, connections_each: connections / 2, streams, streams_each, ..usual })
}

/// Listens at an address, and returns which one it is: of port 0 the system makes one that is free.
pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServiceError> {
    let failed = |source| ServiceError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Who may ask at this address; says what that means where others than this machine can reach it.
///
/// # Errors
/// When others could read everything without a token and nobody said that they may.
pub(super) fn access(
    address: SocketAddr,
    encrypted: bool,
    config: AccessConfig,
    clock: Arc<dyn Clock>,
) -> Result<Authenticator, ServiceError> {
    let (loopback, guarded) = (address.ip().is_loopback(), config.is_guarded());
    if !loopback && !guarded {
        if !config.allow_anonymous_read {
            return Err(ServiceError::OpenToOthers { address });
        }
        tracing::warn!(%address, "no token is configured: everyone who can reach this address can read everything");
    } else if !loopback && !encrypted {
        tracing::warn!(%address, "`tls` is not configured: requests and their tokens are unencrypted, unless a proxy in front of this address terminates TLS");
    }
    if !loopback && config.local.is_some() {
        tracing::warn!(%address, "`access.local` has no effect: other machines can reach this address");
    } else if guarded && config.local.is_some() {
        tracing::warn!(%address, "`access.local` is set: everyone who can reach this address, also through a proxy, needs no token");
    }
    Ok(Authenticator::new(config, loopback, clock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_as_many_as_asked_for_or_the_start_is_refused() {
        let of = |connections, files| {
            let config = ConnectionLimits { connections, ..ConnectionLimits::default() };
            limited(config, files).map(|limits| (limits.connections, limits.connections_each)).ok()
        };
        assert_eq!(of(None, u64::MAX), Some((1024, 512)));
        assert_eq!(of(None, 1024), Some((448, 224)), "fewer, where nothing was asked for");
        assert_eq!(of(None, 0), Some((2, 1)));
        assert_eq!(of(Some(6000), 20_000), Some((6000, 3000)));
        assert_eq!(of(Some(6000), 7088), Some((6000, 3000)));
        assert_eq!(of(Some(6000), 7087), None);
        let refused =
            limited(ConnectionLimits { connections: Some(6000), ..ConnectionLimits::default() }, 1024);
        let refused = refused.expect_err("too few files").to_string();
        assert!(refused.contains("7088") && refused.contains("1024"), "{refused}");
    }
}
