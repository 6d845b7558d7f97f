//! The data directory or a file of it removed or replaced under the writer.

use std::fs;

use super::*;

/// The writer of a log in a folder that can be moved away.
struct InUse {
    dir: tempfile::TempDir,
    log: Running,
    health: WriterHealth,
    head: strandline_sqlite::Watermark,
    epoch: Epoch,
}

impl InUse {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("lock"), "1").unwrap();
        let (writer, appender) = LogWriter::open(&data, Arc::new(SystemClock)).unwrap();
        let (health, head) = (writer.health(), writer.head());
        let log = Running { appender, thread: std::thread::spawn(move || writer.run()) };
        let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
        let used = InUse { dir, log, health, head, epoch };
        used.append(1).await.unwrap();
        used
    }

    fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    async fn append(&self, n: u64) -> std::result::Result<Appended, AppendError> {
        let list = vec![pod("a", "1", n, &format!("{{\"n\":{n}}}"))];
        self.log.appender.append(batch(self.epoch, Phase::Watch, list, &n.to_string())).await
    }

    /// Nothing is acknowledged from now on, and the writer ends with an error that names the path.
    async fn assert_refuses(self, path: &str) -> tempfile::TempDir {
        let head = self.head.get();
        for n in 2..4 {
            let refused = self.append(n).await.unwrap_err();
            assert!(
                matches!(&refused, AppendError::ReadOnly(why) if why.contains(path)),
                "{path}: {refused}"
            );
        }
        assert_eq!(self.head.get(), head, "{path}: nothing counts as recorded");
        let problem = self.health.problem().unwrap();
        assert_eq!(problem.reason, strandline_model::reason::LOST);
        assert!(problem.message.contains(path) && problem.message.contains("stop the server"), "{problem:?}");
        drop(self.log.appender);
        let ended = self.log.thread.join().unwrap().unwrap_err();
        assert!(
            matches!(&ended, LogError::Displaced(displaced) if displaced.path.ends_with(path)),
            "{ended}"
        );
        self.dir
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_once_a_file_of_the_log_is_gone_or_another_is_in_its_place() {
    for name in ["log.db", "log.db-wal", "lock"] {
        let used = InUse::new().await;
        fs::remove_file(used.data().join(name)).unwrap();
        used.assert_refuses(name).await;
        let used = InUse::new().await;
        fs::rename(used.data().join(name), used.data().join("former")).unwrap();
        fs::copy(used.data().join("former"), used.data().join(name)).unwrap();
        used.assert_refuses(name).await;
    }
    let used = InUse::new().await;
    fs::remove_dir_all(used.data()).unwrap();
    used.assert_refuses("data").await;
}

#[tokio::test]
async fn what_is_put_in_the_place_of_a_folder_in_use_is_left_alone_and_the_folder_can_be_put_back() {
    let used = InUse::new().await;
    let (data, moved) = (used.data(), used.dir.path().join("moved"));
    fs::rename(&data, &moved).unwrap();
    fs::create_dir(&data).unwrap();
    let files = ["log.db", "log.db-wal", "log.head", "lock"];
    for name in files {
        fs::write(data.join(name), "another").unwrap();
    }
    let dir = used.assert_refuses("data").await;
    for name in files {
        assert_eq!(fs::read_to_string(data.join(name)).unwrap(), "another", "{name}");
    }
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&moved, &data).unwrap();
    let log = start(&data);
    log.stop();
    let told = told(&data);
    assert_eq!(told[0], "+a {\"n\":1}", "what was acknowledged is there: {told:?}");
    drop(dir);
}

#[tokio::test]
async fn what_the_program_itself_does_to_its_files_is_no_alarm() {
    let used = InUse::new().await;
    for n in 2..200 {
        used.append(n).await.unwrap();
        match n % 40 {
            10 => drop(LogReader::open(&used.data()).unwrap().head().unwrap()),
            20 => {
                used.log.appender.compact(Offset::new(n - 5)).await.unwrap();
                used.log.appender.sweep(100).await.unwrap();
            }
            30 => drop(used.log.appender.shrink(100).await.unwrap()),
            39 => {
                let into = used.dir.path().join(format!("copy-{n}"));
                fs::create_dir(&into).unwrap();
                copy(&used.data(), &into).unwrap();
            }
            _ => {}
        }
        assert_eq!(used.health.check_files(), None);
    }
    used.log.stop();
}
