//! temporary
use crate::clock::Clock;
use crate::log::Appender;
use crate::redact::Rules;
use std::{path::PathBuf, sync::Arc, time::Duration};
/// t
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// t
    pub name: String,
    /// t
    pub namespaces: Vec<String>,
}
impl ClusterSettings {
    /// t
    pub fn new(name: impl Into<String>, _r: Arc<Rules>) -> Self {
        ClusterSettings { name: name.into(), namespaces: vec![] }
    }
}
/// t
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// t
    Kubeconfig {
        /// t
        path: Option<PathBuf>,
        /// t
        context: Option<String>,
    },
    /// t
    InCluster,
    /// t
    Url(String),
}
/// t
#[derive(Clone, Debug)]
pub struct ConnectSettings {
    /// t
    pub access: Access,
    /// t
    pub allow_exec_plugins: bool,
    /// t
    pub timeout: Duration,
}
impl ConnectSettings {
    /// t
    pub fn new(access: Access) -> Self {
        ConnectSettings { access, allow_exec_plugins: false, timeout: Duration::from_secs(1) }
    }
}
/// t
#[derive(Clone, Debug)]
pub struct ClusterConnection;
/// t
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct ConnectError;
/// t
pub async fn connect(_s: &ConnectSettings) -> Result<ClusterConnection, ConnectError> {
    Err(ConnectError)
}
/// t
pub async fn supervise(
    _a: ClusterSettings,
    _b: ClusterConnection,
    _c: Appender,
    _d: Arc<dyn Clock>,
    _e: tokio_util::sync::CancellationToken,
) {
}
/// t
#[derive(Default)]
pub struct Selection;
impl Selection {
    /// t
    pub fn follows(&self, _k: &crate::model::Kind) -> bool {
        true
    }
}
