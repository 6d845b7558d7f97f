//! The process that appends until it is ended: this test binary again, in one test of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use strandline_clock::SystemClock;
use strandline_log::{Appender, Batch, Begin, Epoch, LogWriter, Observation, Observed, Phase};
use strandline_model::{Kind, Offset, ResourceVersion, Uid, WatchKey};
use strandline_object::digest::Digest;

use crate::server::Result;

/// Where the process appends, how many batches, and after which; without it the test does nothing.
const DIRECTORY: &str = "STRANDLINE_APPEND_TO";
const BATCHES: &str = "STRANDLINE_APPEND_BATCHES";
const AFTER: &str = "STRANDLINE_APPEND_AFTER";
/// Where it is set the process lets go of what is old while it appends.
const LETS_GO: &str = "STRANDLINE_APPEND_LETS_GO";

/// Objects whose versions follow on each other.
pub(super) const OBJECTS: u64 = 40;

fn pods() -> WatchKey {
    WatchKey { cluster: "one".into(), kind: Kind::new("", "Pod"), namespace: String::new() }
}

fn pod(name: String, version: u64, body: String) -> Observed {
    Observed::Applied(Observation {
        namespace: "shop".into(),
        uid: Uid::new(format!("uid-of-{name}")),
        name,
        resource_version: ResourceVersion::new(version.to_string()),
        digest: Digest(version.to_be_bytes().repeat(2).try_into().unwrap_or_default()),
        body,
        changed_by: None,
    })
}

/// Versions of lasting objects, numbered without a gap, and one object that comes and is gone with the next batch.
fn batch_of(number: u64, first: u64, epoch: Epoch) -> Batch {
    let text = "what all versions of all objects share, more or less; ".repeat(12);
    let size = 1 + number % 7;
    let last = first + size - 1;
    let body = |n: u64| format!("{{\"n\":{n},\"batch\":{number},\"last\":{last},\"text\":\"{text}\"}}");
    let mut observed: Vec<Observed> =
        (first..=last).map(|n| pod(format!("lasting-{}", n % OBJECTS), n, body(n))).collect();
    observed.push(pod(format!("short-{number}"), last, format!("{{\"text\":\"{text}\"}}")));
    observed.push(Observed::Deleted {
        namespace: "shop".into(),
        name: format!("short-{}", number - 1),
        uid: Uid::new(format!("uid-of-short-{}", number - 1)),
        resource_version: ResourceVersion::new(last.to_string()),
    });
    let cursor = Some(ResourceVersion::new(last.to_string()));
    Batch { watch: pods(), epoch, phase: Phase::UpToDate, observed, cursor }
}

/// What a line of the process says: `acked <batch> <last number> <head>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acked {
    pub(super) batch: u64,
    pub(super) last: u64,
    pub(super) head: u64,
}

impl Acked {
    fn line(self) -> String {
        format!("acked {} {} {}", self.batch, self.last, self.head)
    }

    fn read(line: &str) -> Option<Self> {
        let mut numbers = line.strip_prefix("acked ")?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Acked { batch: next()?, last: next()?, head: next()? })
    }
}

/// The process: goes on after the last batch that is there, until it is ended or has appended as many as it should.
#[test]
#[ignore = "a process that other tests start"]
fn appends_until_it_is_ended() -> Result<()> {
    let Ok(directory) = std::env::var(DIRECTORY) else { return Ok(()) };
    let batches: u64 = std::env::var(BATCHES)?.parse()?;
    let (directory, before) =
        (Path::new(&directory), Acked::read(&std::env::var(AFTER)?).unwrap_or_default());
    let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock))?;
    let writer = std::thread::spawn(move || writer.run());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let appended = runtime.block_on(append(&appender, before, batches));
    drop(appender);
    let written = writer.join().map_err(|_| "the writer panicked")?;
    if let Err(error) = written {
        eprintln!("the writer ended: {error}");
        std::process::exit(3);
    }
    appended
}

async fn append(appender: &Appender, before: Acked, batches: u64) -> Result<()> {
    let session = appender.begin(Begin::new(&pods(), false)).await?;
    let (mut first, lets_go) = (before.last + 1, std::env::var(LETS_GO).is_ok());
    for number in before.batch + 1..=before.batch + batches {
        let batch = batch_of(number, first, session.epoch);
        first += batch.observed.len() as u64 - 2;
        let appended = appender.append(batch).await?;
        let mut out = std::io::stdout().lock();
        let acked = Acked { batch: number, last: first - 1, head: appended.head.get() };
        writeln!(out, "\n{}", acked.line())?;
        out.flush()?;
        drop(out);
        if lets_go && number % 3 == 0 {
            let_go(appender, appended.head).await?;
        }
    }
    Ok(())
}

/// Lets go of a part of what is old, and of Pods sooner.
async fn let_go(appender: &Appender, head: Offset) -> Result<()> {
    let before = |changes: u64| Offset::new(head.get().saturating_sub(changes));
    appender.compact(before(900)).await?;
    appender.raise_floors(vec![("Pod".parse()?, before(300))]).await?;
    appender.sweep(70).await?;
    appender.thin(70).await?;
    appender.shrink(5).await?;
    Ok(())
}

/// Starts this binary as the process, through another command if there is one.
pub(super) fn process(directory: &Path, after: Acked, batches: u64, through: &[&str]) -> Result<Child> {
    Ok(command(directory, after, batches, through)?.spawn()?)
}

/// The same, letting go of what is old while it appends.
pub(super) fn process_that_lets_go(directory: &Path, after: Acked, batches: u64) -> Result<Child> {
    Ok(command(directory, after, batches, &[])?.env(LETS_GO, "1").spawn()?)
}

fn command(directory: &Path, after: Acked, batches: u64, through: &[&str]) -> Result<Command> {
    let own = std::env::current_exe()?.display().to_string();
    let whole = [
        "--exact",
        "storage::process::appends_until_it_is_ended",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ];
    let mut words = through.iter().copied().chain([own.as_str()]).chain(whole);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).env(DIRECTORY, directory).env(BATCHES, batches.to_string());
    command.env(AFTER, after.line());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Reads what the process says to its end; tells the last that was acknowledged.
pub(super) fn listen(child: &mut Child) -> Result<Acked> {
    let out = child.stdout.take().ok_or("no output")?;
    let mut acked = Acked::default();
    for line in BufReader::new(out).lines() {
        // Only a whole line was said.
        acked = Acked::read(&line?).unwrap_or(acked);
    }
    Ok(acked)
}
