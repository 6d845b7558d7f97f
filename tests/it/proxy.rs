//! Clusters behind a proxy, as a company's network has them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Result, Server, items};

/// A host that no name server knows: only the proxy leads there.
const HOST: &str = "cluster.invalid:8080";

/// A proxy that tunnels to one address under a name; counts the tunnels.
async fn proxy(to: String) -> Result<(String, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (address, tunnels) = (listener.local_addr()?, Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&tunnels);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (to, counted) = (to.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                let mut client = BufReader::new(client);
                let mut head = Vec::new();
                loop {
                    let mut line = String::new();
                    client.read_line(&mut line).await?;
                    if line.trim().is_empty() {
                        break;
                    }
                    head.push(line);
                }
                let asked = head.first().cloned().unwrap_or_default();
                if !asked.starts_with(&format!("CONNECT {HOST} ")) {
                    return client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await;
                }
                counted.fetch_add(1, Ordering::Relaxed);
                let mut server = TcpStream::connect(&to).await?;
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                copy_bidirectional(&mut client, &mut server).await.map(|_| ())
            });
        }
    });
    Ok((format!("http://{address}"), tunnels))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_recorded_through_the_proxy_that_its_kubeconfig_names() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cluster = ApiServer::start("far", builtin_kinds()).await?;
    cluster.apply(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop"}}),
    );
    let (proxy, tunnels) = proxy(cluster.url().trim_start_matches("http://").to_owned()).await?;
    let (url, there) = (cluster.url(), format!("http://{HOST}\n    proxy-url: {proxy}"));
    let kubeconfig = cluster.kubeconfig().replace(&url, &there);
    assert!(kubeconfig.contains("proxy-url"), "{kubeconfig}");
    std::fs::write(folder.path().join("far.kubeconfig"), kubeconfig)?;
    let config = "clusters: [{name: far, kubeconfig: far.kubeconfig}]\n\
                  environments: [{project: shop/web, name: production, cluster: far, namespace: shop}]\n";
    let server = Server::start(folder.path(), config).await?;
    let resources = "/environments/shop.web.production/resources";
    server.until(resources, |list| items(list).any(|item| item["name"] == "web-0")).await?;
    assert!(tunnels.load(Ordering::Relaxed) > 0);
    server.stop().await
}
