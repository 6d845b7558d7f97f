//! The data directory, or the view in it, removed or replaced under the running server.

use std::path::Path;
use std::time::Duration;

use crate::bad_input::{RESOURCES, cluster, config, wait_for_pod};
use crate::server::{Result, Server, get, items};

/// Waits until the server says that it is not ready, with these words.
pub(super) async fn until_unready(server: &Server, words: &str) -> Result<String> {
    for _ in 0..1200 {
        let (status, body) = get(&format!("{}/readyz", server.url())).await?;
        if status == 503 && body.contains(words) {
            return Ok(body);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("it was never unready with {words:?}: {}", server.output()).into())
}

/// Asks the server to end, which it does with an error that says what to do.
async fn assert_ends_with_an_error(server: Server, folder: &Path) -> Result<()> {
    let ended = server.stop().await.err().ok_or("it ended as if all were well")?;
    assert!(ended.to_string().contains("exit status: 1"), "{ended}");
    let output = std::fs::read_to_string(folder.join("output"))?;
    assert!(output.contains("restore the data directory"), "{output}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_moved_away_under_the_server_is_noticed_and_can_be_put_back() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let (data, moved) = (server.data(), folder.path().join("moved"));
    std::fs::rename(&data, &moved)?;
    until_unready(&server, "was removed while it was in use").await?;
    assert_eq!(items(&server.ask(RESOURCES).await?).count(), 1, "questions are still answered");
    assert!(!data.exists(), "nothing is made in its place");
    assert_ends_with_an_error(server, folder.path()).await?;
    std::fs::rename(&moved, &data)?;
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_removed_under_the_server_is_noticed() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    // The server may write the head beside the log while its folder is being removed.
    while std::fs::remove_dir_all(server.data()).is_err() && server.data().exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until_unready(&server, "while it was in use: nothing is recorded").await?;
    assert_ends_with_an_error(server, folder.path()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_is_removed_or_replaced_under_the_server_is_built_anew() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let view = server.data().join("view.db");
    for (times, replaced) in [(1, false), (2, true)] {
        std::fs::rename(&view, folder.path().join("former.db"))?;
        if replaced {
            std::fs::write(&view, "no view")?;
        }
        let built = |server: &Server| server.output().matches("the view was built from the log").count();
        for _ in 0..1200 {
            if built(&server) > times {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(built(&server) > times, "{}", server.output());
        wait_for_pod(&server).await?;
        assert_eq!(get(&format!("{}/readyz", server.url())).await?.0, 200);
    }
    server.stop().await
}
