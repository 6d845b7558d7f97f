//! What a service needs before it starts: an address and who may ask.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::error::ServiceError;
use crate::http::auth::AccessConfig;
use crate::http::{Authenticator, Load, LoadLimits};
use strandline_clock::Clock;

/// Counts and limits what is under way. Every connection is a file, and half of those that may be open are for clusters and
/// the data directory.
pub(super) fn load() -> Load {
    let usual = LoadLimits::default();
    let files = rlimit::Resource::NOFILE.get_soft().unwrap_or(u64::MAX);
    let half = usize::try_from(files / 2).unwrap_or(usize::MAX).saturating_sub(usual.reserve);
    let connections = usual.connections.min(half.max(2));
    Load::new(LoadLimits { connections, connections_each: connections / 2, ..usual })
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
