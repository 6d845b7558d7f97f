//! `strandline probe` against servers that are ready, not ready, and gone.

use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::{Result, Server, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_passes_where_the_server_is_ready() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters: [{{name: one, url: '{}'}}]\naccess: {{tokens: [{{name: a, everything: true, hash: 'sha256:{}'}}]}}\n",
        simulated.url(),
        "0".repeat(64)
    );
    let server = Server::start(folder.path(), &config).await?;
    let url = server.url().to_owned();
    let probe = async |more: &[&str]| run(&[&["probe", "--server", &url], more].concat(), &[]).await;
    // A probe has no token, and needs none.
    assert!(probe(&[]).await?.contains("readyz check passed"));
    assert!(probe(&["--live"]).await.is_ok());

    // Without its log nothing is recorded, and it is alive.
    std::fs::rename(server.data(), folder.path().join("elsewhere"))?;
    let failed = loop {
        if let Err(error) = probe(&[]).await {
            break error.to_string();
        }
    };
    assert!(failed.contains("status 503") && failed.contains("[-]log"), "{failed}");
    assert!(probe(&["--live"]).await.is_ok());

    let _ = server.stop().await;
    let failed = probe(&["--live"]).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(failed.contains("cannot connect"), "{failed}");
    Ok(())
}
