//! The store of a control plane: copied, set back to a copy, and compacted.

use std::fs;
use std::path::Path;

use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::{ControlPlane, ETCD, Result};

impl ControlPlane {
    /// Copies the store as it is; the API server is away meanwhile.
    pub(crate) async fn copy_store(&mut self, name: &str) -> Result<()> {
        self.stop_api_server().await?;
        self.stop_store().await?;
        copy_folder(&self.dir.path().join("etcd"), &self.dir.path().join(name))?;
        self.start_store()?;
        self.start_api_server().await
    }

    /// Puts a copy of the store into its place, as after a disaster; the API server is away meanwhile.
    pub(crate) async fn restore_store(&mut self, name: &str) -> Result<()> {
        self.stop_api_server().await?;
        self.stop_store().await?;
        let store = self.dir.path().join("etcd");
        fs::remove_dir_all(&store)?;
        copy_folder(&self.dir.path().join(name), &store)?;
        self.start_store()?;
        self.start_api_server().await
    }

    /// Lets the store forget every revision but the newest, and the API server what it kept of them.
    pub(crate) async fn compact_store(&mut self) -> Result<()> {
        let status = self.ask_store("maintenance/status", "{}").await?;
        let revision = status["header"]["revision"].as_str().ok_or("the store tells no revision")?.to_owned();
        self.ask_store("kv/compaction", &format!("{{\"revision\": \"{revision}\", \"physical\": true}}"))
            .await?;
        self.stop_api_server().await?;
        self.start_api_server().await
    }

    /// Asks etcd through its JSON gateway.
    async fn ask_store(&self, path: &str, body: &str) -> Result<serde_json::Value> {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<bytes::Bytes>>();
        let uri = format!("http://127.0.0.1:{}/v3/{path}", self.etcd_port);
        let request = http::Request::post(uri).body(Full::from(body.to_owned()))?;
        let answer = client.request(request).await?.into_body().collect().await?.to_bytes();
        Ok(serde_json::from_slice(&answer)?)
    }

    async fn stop_store(&mut self) -> Result<()> {
        match self.processes.iter().position(|process| process.name == ETCD) {
            Some(index) => self.processes.remove(index).stop().await,
            None => Err("etcd is not running".into()),
        }
    }

    fn start_store(&mut self) -> Result<()> {
        let store = self.spawn(ETCD, self.etcd_args())?;
        self.processes.insert(0, store);
        Ok(())
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => _ = fs::copy(entry.path(), target)?,
        }
    }
    Ok(())
}
