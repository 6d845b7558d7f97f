//! The lines that people read about a cluster: one for each state, a reminder a minute, and one when it is over.

use std::collections::BTreeMap;

use tokio::time::{Duration, Instant};

use crate::limits::Limits;
use crate::stats::WatchStatus;
use strandline_model::{CoverageState, Kind, WatchKey, reason};

/// How long a state lasts before it is logged again.
const REMINDER: Duration = Duration::from_secs(60);

/// How many kinds a line names.
const KINDS_NAMED: usize = 3;

/// The longest explanation that a line repeats.
const WHY_CHARS: usize = 300;

/// What was written about one cluster.
pub(super) struct Report {
    cluster: String,
    /// How long kinds that are not watched for one reason are gathered into one line.
    settle: Duration,
    /// How long a kind may need to be reached again after its cluster was away.
    recovery: Duration,
    connected: bool,
    unverified: bool,
    outage: Option<Outage>,
    kinds: BTreeMap<&'static str, KindGaps>,
}

/// The cluster does not answer.
struct Outage {
    reason: &'static str,
    since: Instant,
    written: Instant,
    attempts: u32,
}

/// Kinds that are not watched for the same reason.
struct KindGaps {
    since: Instant,
    written: Option<Instant>,
}

impl Report {
    pub(super) fn new(cluster: &str, limits: &Limits) -> Self {
        Report {
            cluster: cluster.to_owned(),
            settle: limits.patience,
            recovery: limits.patience + limits.backoff_most,
            connected: false,
            unverified: false,
            outage: None,
            kinds: BTreeMap::new(),
        }
    }

    /// An attempt to ask the cluster for its kinds failed.
    pub(super) fn attempt_failed(&mut self, reason: &'static str, why: &str) {
        self.not_answering(reason, why);
        if let Some(outage) = &mut self.outage {
            outage.attempts += 1;
        }
    }

    /// The cluster gives no answer, or none that is of use.
    pub(super) fn not_answering(&mut self, reason: &'static str, why: &str) {
        let (now, cluster) = (Instant::now(), &self.cluster);
        match &mut self.outage {
            Some(outage) if outage.reason == reason => {
                if now.duration_since(outage.written) >= REMINDER {
                    outage.written = now;
                    let (lasted, attempts) = (lasted(outage.since, now), outage.attempts + 1);
                    tracing::warn!(
                        "cluster {cluster}: {} for {lasted} ({attempts} attempts): {}",
                        words(reason),
                        plain(why)
                    );
                }
            }
            outage => {
                tracing::warn!("cluster {cluster}: {}: {}; retrying", words(reason), plain(why));
                let attempts = outage.as_ref().map_or(0, |outage| outage.attempts);
                let since = outage.as_ref().map_or(now, |outage| outage.since);
                *outage = Some(Outage { reason, since, written: now, attempts });
            }
        }
    }

    /// Discovery succeeded.
    pub(super) fn answered(&mut self) {
        let cluster = &self.cluster;
        if let Some(outage) = self.outage.take() {
            let lasted = lasted(outage.since, Instant::now());
            tracing::info!(
                "cluster {cluster}: reached again after {lasted} ({} failed attempts)",
                outage.attempts
            );
        } else if !self.connected {
            tracing::info!("cluster {cluster}: connected");
        }
        self.connected = true;
    }

    /// Warns once where the server's certificate is not verified.
    pub(super) fn unverified(&mut self, unverified: bool) {
        if unverified && !self.unverified {
            tracing::warn!(
                "cluster {}: the server's certificate is not verified, because its kubeconfig has \
                 insecure-skip-tls-verify; set the certificate authority instead",
                self.cluster
            );
        }
        self.unverified |= unverified;
    }

    /// Logs what changed in the states of the watches.
    pub(super) fn look(&mut self, statuses: &[(WatchKey, WatchStatus)]) {
        let (now, cluster) = (Instant::now(), &self.cluster);
        let mut gaps: BTreeMap<&'static str, Vec<&Kind>> = BTreeMap::new();
        for (watch, status) in statuses {
            let ordinary = matches!(status.reason, reason::RESTARTED | reason::LISTING | reason::LATE);
            // While the cluster is away, so are all its kinds: one line is enough.
            let away = self.outage.is_some() && status.reason != reason::FORBIDDEN;
            if status.state == Some(CoverageState::Gap) && !watch.is_discovery() && !ordinary && !away {
                gaps.entry(status.reason).or_default().push(&watch.kind);
            }
        }
        for (reason, kinds) in &mut gaps {
            kinds.dedup();
            let gap = self.kinds.entry(reason).or_insert(KindGaps { since: now, written: None });
            let settle = if *reason == reason::UNREACHABLE { self.recovery } else { self.settle };
            let due = match gap.written {
                None => now.duration_since(gap.since) >= settle,
                Some(written) => now.duration_since(written) >= REMINDER,
            };
            if due {
                let lasting = gap.written.map(|_| format!(" for {}", lasted(gap.since, now)));
                gap.written = Some(now);
                tracing::warn!(
                    "cluster {cluster}: {} not watched{}, {}: {}; {}",
                    count(kinds.len()),
                    lasting.unwrap_or_default(),
                    words(reason),
                    names(kinds),
                    advice(reason)
                );
            }
        }
        let away = self.outage.is_some();
        self.kinds.retain(|reason, gap| {
            let over = !gaps.contains_key(reason) && !away;
            if over && gap.written.is_some() {
                let lasted = lasted(gap.since, now);
                tracing::info!("cluster {cluster}: no kind is {} any more, after {lasted}", words(reason));
            }
            !over
        });
    }

    /// Kinds that are no longer watched.
    pub(super) fn retired(&self, watches: &[WatchKey]) {
        if !watches.is_empty() {
            let mut kinds: Vec<&Kind> = watches.iter().map(|watch| &watch.kind).collect();
            kinds.dedup();
            tracing::info!(
                "cluster {}: {} no longer watched: {}",
                self.cluster,
                count(kinds.len()),
                names(&kinds)
            );
        }
    }
}

fn count(kinds: usize) -> String {
    if kinds == 1 { "1 kind".to_owned() } else { format!("{kinds} kinds") }
}

/// The first few kinds by name, and how many more there are.
fn names(kinds: &[&Kind]) -> String {
    let named: Vec<String> = kinds.iter().take(KINDS_NAMED).map(ToString::to_string).collect();
    match kinds.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A reason in words for people.
fn words(reason: &str) -> String {
    match reason {
        reason::CREDENTIALS => "credentials cannot be read".to_owned(),
        reason => reason.replace('_', " "),
    }
}

fn advice(reason: &str) -> &'static str {
    match reason {
        reason::FORBIDDEN => "grant list and watch on them; `strandline doctor` prints the role",
        reason::UNAUTHORIZED => "renew the credentials",
        reason::CREDENTIALS => "correct the credentials file named in the configuration",
        _ => "`strandline coverage --state gap` shows the cause",
    }
}

/// The message of a cluster, in one line.
fn plain(why: &str) -> String {
    why.chars().take(WHY_CHARS).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

fn lasted(since: Instant, now: Instant) -> String {
    let seconds = now.duration_since(since).as_secs();
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    }
}
