//! Keeps looking at the checkouts of agents' configuration files.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use super::detached;
use crate::catalog::{AgentFolderConfig, FolderReader, FoundAgent, UnreadableFolder, withdraw_folders};
use strandline_log::Appender;

/// How often the checkouts are looked at. Files may come by mounts that report no changes, so they are read.
const LOOK: Duration = Duration::from_secs(2);

/// How long reading may take until it is said, and how often it is said again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a look found.
type Found = Result<Vec<FoundAgent>, UnreadableFolder>;

/// Declares what the checkouts say, again whenever it changes, until `stop`.
pub(super) async fn follow(folders: Vec<AgentFolderConfig>, appender: Appender, stop: CancellationToken) {
    let readers = FolderReader::of(folders);
    let following = async {
        if let Err(error) = withdraw_folders(&readers, &appender).await {
            tracing::error!(%error, "deleting the agents of removed checkouts failed; they stay declared");
        }
        // Each by itself: a filesystem that hangs keeps what others say from nobody.
        join_all(readers.iter().map(|reader| follow_one(reader.clone(), &appender, FolderReader::read)))
            .await;
    };
    stop.run_until_cancelled(following).await;
    // Where there is no checkout nothing is left to do until the end.
    stop.cancelled().await;
}

/// Follows the checkouts of one project.
async fn follow_one(mut reader: FolderReader, appender: &Appender, read: fn(&FolderReader) -> Found) {
    loop {
        match on_own_thread(reader.clone(), read).await {
            Some(found) => {
                if let Err(error) = reader.declare(found, appender).await {
                    tracing::error!(project = reader.project(), %error, "declaring the agents of this project failed; retrying");
                }
            }
            None => tracing::error!(
                project = reader.project(),
                "reading the agents' configuration failed; retrying"
            ),
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Reads, and reports a filesystem that hangs.
async fn on_own_thread(reader: FolderReader, read: fn(&FolderReader) -> Found) -> Option<Found> {
    let project = reader.project().to_owned();
    let mut reading = detached::on_own_thread("agents-files", move || read(&reader));
    let mut late = interval_at(Instant::now() + PATIENCE, PATIENCE);
    loop {
        tokio::select! {
            found = &mut reading => return found,
            _ = late.tick() => tracing::error!(
                project,
                "reading the agents' configuration hangs; the last one read stays in effect: check the filesystem"
            ),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use strandline_clock::testing::ManualClock;
    use strandline_log::Catalog;
    use strandline_model::{CatalogKind, Source};
    use strandline_query::testing::record;

    /// A filesystem that never answers for one of two projects.
    fn read_or_hang(reader: &FolderReader) -> Found {
        if reader.project() == "shop/hangs" {
            loop {
                std::thread::park();
            }
        }
        reader.read()
    }

    #[test]
    fn without_a_checkout_it_waits_for_the_end() {
        let data = tempfile::tempdir().unwrap();
        record(data.path(), Arc::new(ManualClock::default()), |appender| async move {
            let stop = CancellationToken::new();
            let mut following = std::pin::pin!(follow(Vec::new(), appender.clone(), stop.clone()));
            // What it withdraws at first, which is nothing, has been asked for and answered before all of these are.
            let asked_after = async {
                for _ in 0..10 {
                    let nothing = |_: &mut Catalog<'_, '_>| Ok((Vec::new(), ()));
                    appender.decide(Source::Folder, nothing).await.unwrap();
                }
            };
            tokio::select! {
                biased;
                () = &mut following => panic!("it ends by itself"),
                () = asked_after => {}
            }
            stop.cancel();
            following.await;
        });
    }

    #[test]
    fn a_checkout_that_hangs_holds_up_neither_another_nor_the_end() {
        let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let agent = root.path().join(".gitlab/agents/one");
        std::fs::create_dir_all(&agent).unwrap();
        std::fs::write(agent.join("config.yaml"), "").unwrap();
        let checkout = |project: &str, path: &Path| AgentFolderConfig {
            project: project.to_owned(),
            path: path.to_owned(),
            clusters: Default::default(),
        };
        let folders = vec![checkout("shop/hangs", root.path()), checkout("shop/reads", root.path())];
        record(data.path(), Arc::new(ManualClock::default()), |appender| async move {
            let readers = FolderReader::of(folders);
            let following =
                join_all(readers.into_iter().map(|reader| follow_one(reader, &appender, read_or_hang)));
            let declared = async {
                let names =
                    |catalog: &mut Catalog<'_, '_>| Ok((Vec::new(), catalog.names(CatalogKind::Agent)?));
                loop {
                    let names = appender.decide(Source::Folder, names).await.unwrap().1;
                    if names == ["shop/reads:one"] {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            };
            // Nobody waits for the one that hangs, neither the other nor this end.
            tokio::select! {
                _ = following => panic!("it follows without end"),
                () = declared => {}
            }
        });
    }
}
