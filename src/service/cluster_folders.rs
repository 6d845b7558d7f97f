//! Looks at the folders of kubeconfigs, of which each file is a cluster.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::detached::on_own_thread;
use strandline_watch::KubeconfigFolder;

/// How long a look is waited for; one that takes longer goes on.
const WAIT: Duration = Duration::from_secs(2);

/// How long a look may take until it is reported, and how often it is reported again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the folders contain, or why not.
pub(super) type Found = Vec<Result<KubeconfigFolder, String>>;

/// The folders that are in effect.
pub(super) struct FolderLook {
    paths: Vec<PathBuf>,
    read: fn(&Path) -> Result<KubeconfigFolder, String>,
    /// A look that has not ended.
    reading: Option<Reading>,
}

struct Reading {
    found: Pin<Box<dyn Future<Output = Option<Found>> + Send>>,
    reported: Instant,
}

impl FolderLook {
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        FolderLook { paths, read, reading: None }
    }

    /// Looks at these from now on; whether they are others than before.
    pub(super) fn replace(&mut self, paths: Vec<PathBuf>) -> bool {
        if self.paths == paths {
            return false;
        }
        *self = FolderLook { read: self.read, ..FolderLook::new(paths) };
        true
    }

    /// Reads the folders; none while they do not answer. Then nothing else is read either until they do.
    pub(super) async fn look(&mut self) -> Option<Found> {
        if self.paths.is_empty() {
            return Some(Vec::new());
        }
        let (paths, read) = (self.paths.clone(), self.read);
        let reading = self.reading.get_or_insert_with(|| {
            let work = move || paths.iter().map(|path| read(path)).collect();
            let found = Box::pin(on_own_thread("cluster-folders", work));
            Reading { found, reported: Instant::now() }
        });
        match timeout(WAIT, &mut reading.found).await {
            Ok(found) => {
                self.reading = None;
                found
            }
            Err(_) => {
                if reading.reported.elapsed() >= PATIENCE {
                    reading.reported = Instant::now();
                    tracing::error!(
                        "reading `cluster_folders` hangs; the clusters and the configuration stay as they are, except for `access`: check the filesystem"
                    );
                }
                None
            }
        }
    }
}

fn read(folder: &Path) -> Result<KubeconfigFolder, String> {
    KubeconfigFolder::read(folder).map_err(|error| error.to_string())
}

/// Says which files, and objects of hubs, are no cluster.
pub(super) fn warn_of_ignored(ignored: &[String]) {
    for why in ignored {
        tracing::warn!("this is not a cluster of `cluster_folders` or `hubs`: {why}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static READS: AtomicUsize = AtomicUsize::new(0);

    fn hang(_: &Path) -> Result<KubeconfigFolder, String> {
        READS.fetch_add(1, Ordering::Relaxed);
        loop {
            std::thread::park();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_that_hangs_is_read_once_and_waited_for_no_longer_than_a_moment() {
        let mut look = FolderLook { read: hang, ..FolderLook::new(vec![PathBuf::from("/mnt")]) };
        for _ in 0..40 {
            assert_eq!(look.look().await, None);
        }
        assert!(READS.load(Ordering::Relaxed) <= 1, "it is begun anew");
        // Without it, or with another one, nothing is waited for.
        assert!(look.replace(Vec::new()) && !look.replace(Vec::new()));
        assert_eq!(look.look().await, Some(Vec::new()));
    }
}
