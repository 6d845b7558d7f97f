//! How much room the disk of the data directory has, until when it lasts, and when it was last backed up.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::retention::{Numbers, Sizes};
use crate::backup::LastBackup;
use crate::service::metric_writer::{MetricWriter, signed};
use strandline_sqlite::free_bytes;

/// How often the disk is measured.
const EVERY: Duration = Duration::from_secs(30);

/// How far back growth is looked at.
const WINDOW: Duration = Duration::from_secs(3600);

/// Growth seen for less long than this says little: a first list of a cluster would fill every disk.
const WINDOW_MIN: Duration = Duration::from_secs(600);

/// The disk when it was last measured; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    free: Option<u64>,
    growth: Growth,
    backup: Option<LastBackup>,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain numbers, each of which is whole at any time.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures until it is asked to end.
    pub(super) async fn follow(self, data: PathBuf, files: Numbers, stopping: CancellationToken) {
        let started = Instant::now();
        let measure = async {
            loop {
                let (disk, data, files) = (self.clone(), data.clone(), files.clone());
                // A disk that hangs must not hold up anything else.
                let measured = move || disk.measure(&data, &files, started.elapsed());
                if tokio::task::spawn_blocking(measured).await.is_err() {
                    return;
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        stopping.run_until_cancelled(measure).await;
    }

    fn measure(&self, data: &Path, files: &Numbers, at: Duration) {
        // A number that cannot be had is not reported; a folder that is gone is for who watches the files to report.
        let (free, sizes) = (free_bytes(data).ok(), Sizes::of(data).ok());
        if let Some(sizes) = &sizes {
            files.measured(sizes);
        }
        let backup = LastBackup::read(data);
        let mut state = self.lock();
        // A backup is not undone by the folder being away, in which it is noted.
        if free.is_some() {
            state.backup = backup;
        }
        state.free = free;
        if let Some(sizes) = sizes {
            state.growth.add(at, sizes.total);
        }
    }

    /// Writes the numbers.
    pub(super) fn encode(&self, out: &mut MetricWriter<'_, '_>) -> fmt::Result {
        let state = self.lock();
        let none: &[(&str, &str)] = &[];
        let help = "Free bytes on the disk of the data directory";
        out.gauges("data_disk_free_bytes", help, state.free.map(|free| (none, signed(free))))?;
        let full = state.free.and_then(|free| state.growth.seconds_until(free));
        let help = "Seconds until that disk is full at the data directory's growth in the last hour; absent while it \
                    does not grow, or if the growth is not known yet";
        out.gauges("data_disk_full_in_seconds", help, full.map(|seconds| (none, signed(seconds))))?;
        let made = state.backup.map_or(0, |backup| backup.made_at.as_micros() / 1_000_000);
        let help = "Time of the last successful backup of the data directory, in seconds since 1970; 0 where there is none";
        out.gauges("backup_last_success_timestamp_seconds", help, [(none, made)])?;
        let help = "Newest offset in the last successful backup";
        out.gauges("backup_last_offset", help, state.backup.map(|backup| (none, backup.head.as_i64())))
    }
}

/// How large the data directory was in the last hour.
#[derive(Debug, Default)]
struct Growth {
    samples: VecDeque<(Duration, u64)>,
}

impl Growth {
    fn add(&mut self, at: Duration, bytes: u64) {
        self.samples.push_back((at, bytes));
        while self.samples.front().is_some_and(|(first, _)| at.saturating_sub(*first) > WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Seconds until this many bytes more are used; none while that is not known or never.
    fn seconds_until(&self, free: u64) -> Option<u64> {
        let ((first, before), (last, now)) = (self.samples.front()?, self.samples.back()?);
        let span = last.saturating_sub(*first);
        let grown = now.checked_sub(*before).filter(|grown| *grown > 0)?;
        if span < WINDOW_MIN {
            return None;
        }
        let seconds = u128::from(free) * u128::from(span.as_secs()) / u128::from(grown);
        Some(u64::try_from(seconds).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn growth(samples: &[(u64, u64)]) -> Growth {
        let mut growth = Growth::default();
        for (seconds, bytes) in samples {
            growth.add(Duration::from_secs(*seconds), *bytes);
        }
        growth
    }

    #[test]
    fn the_last_backup_is_known_while_the_folder_is_away_and_forgotten_with_its_note() {
        let folder = tempfile::tempdir().unwrap();
        let (data, away) = (folder.path().join("data"), folder.path().join("away"));
        std::fs::create_dir(&data).unwrap();
        let made = LastBackup {
            made_at: strandline_model::Timestamp::from_micros(1_700_000_000_000_000),
            head: strandline_model::Offset::ZERO,
        };
        made.write(&data).unwrap();
        let (disk, files) = (Disk::default(), Numbers::default());
        let measured = || {
            disk.measure(&data, &files, Duration::ZERO);
            disk.lock().backup
        };
        assert_eq!(measured(), Some(made));
        std::fs::rename(&data, &away).unwrap();
        assert_eq!(measured(), Some(made), "the folder is away");
        std::fs::create_dir(&data).unwrap();
        assert_eq!(measured(), None, "a folder without a note");
    }

    #[test]
    fn a_disk_is_forecast_to_be_full_by_the_growth_of_the_last_hour() {
        for (samples, expected, why) in [
            (&[(0, 100), (1000, 200)][..], Some(5000), "500 bytes at a byte each ten seconds"),
            (&[(0, 0), (4000, 400), (7600, 760)], Some(5000), "what was before the last hour does not count"),
            (&[(0, 100), (599, 200)], None, "ten minutes are not over"),
            (&[(0, 100), (1000, 100)], None, "it does not grow"),
            (&[(0, 100), (1000, 50)], None, "it shrinks"),
            (&[(0, 100)], None, "it was measured once"),
            (&[], None, "it was never measured"),
        ] {
            assert_eq!(growth(samples).seconds_until(500), expected, "{why}");
        }
        assert_eq!(growth(&[(0, 1), (3600, 2)]).seconds_until(u64::MAX), Some(u64::MAX));
        assert_eq!(growth(&[(0, 1), (3600, 2)]).seconds_until(0), Some(0));
    }

    #[test]
    fn the_disk_is_measured_with_the_files_on_it() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("log.db"), [0; 7]).expect("a file");
        let (disk, files) = (Disk::default(), Numbers::default());
        disk.measure(folder.path(), &files, Duration::ZERO);
        let state = disk.lock();
        assert!(state.free.is_some());
        assert_eq!(state.growth.samples, [(Duration::ZERO, 7)]);
    }
}
