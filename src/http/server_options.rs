//! How the server treats its connections.

use std::time::Duration;

use super::compress::Compression;
use super::cors::Origins;
use super::host::Hosts;
use super::load::Load;
use super::requests::RequestStats;
use super::tls::Tls;

/// How the server treats its connections.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Under which names it answers.
    pub hosts: Hosts,
    /// TLS; none where connections are not encrypted here.
    pub tls: Option<Tls>,
    /// Pages of which other sites may read and write.
    pub origins: Origins,
    /// Limits how many answers are compressed at a time.
    pub compression: Compression,
    /// Counts what is answered.
    pub requests: RequestStats,
    /// Counts and limits what is under way.
    pub load: Load,
    /// How long a caller may take to send the head of a request, from its first byte; the first request of a connection, from
    /// when the connection began.
    pub header_timeout: Duration,
    /// How long a connection may be silent between two requests. Proxies in front send the next request on a connection that they
    /// kept, and take it for a failure when that is being closed, so this has to be longer than what they keep them for: a
    /// minute mostly, ten at Google.
    pub idle_timeout: Duration,
    /// How long a caller may take for each step of an answer that waits to be taken.
    pub taking_timeout: Duration,
    /// How long a connection without a place may last.
    pub reserve_timeout: Duration,
    /// Most headers in a request.
    pub headers_max: usize,
    /// How long requests under way may take once the end was asked for.
    pub drain: Duration,
}

impl ServerOptions {
    /// The usual limits for these names.
    pub fn new(hosts: Hosts) -> Self {
        ServerOptions {
            hosts,
            tls: None,
            origins: Origins::default(),
            compression: Compression::default(),
            requests: RequestStats::default(),
            load: Load::default(),
            header_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(650),
            taking_timeout: Duration::from_secs(10),
            reserve_timeout: Duration::from_secs(5),
            headers_max: 64,
            drain: Duration::from_secs(5),
        }
    }
}
