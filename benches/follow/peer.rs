//! gitops-engine, the peer, in a process of its own: `benches/peers/build` builds it and says where it is.

use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::cluster::Cluster;
use crate::common::process::Process;
use crate::common::system::Memory;
use crate::stretch::Stretch;

/// Where the programs of peers are.
const PLACE: &str = "STRANDLINE_PEERS";

/// What the peer takes for the same as we do.
pub(crate) struct Peer {
    pub(crate) listed: Stretch,
    pub(crate) followed: Stretch,
    /// Once all is listed and followed.
    pub(crate) memory: Memory,
}

impl Peer {
    /// Has the peer list all objects of a cluster, and follow some updates; none where it is not built.
    pub(crate) fn measure(cluster: &mut Cluster, objects: usize, updates: usize) -> Result<Option<Self>> {
        let Some(folder) = std::env::var_os(PLACE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
        else {
            println!("gitops-engine did not run: {PLACE} names no folder; benches/peers/build makes one");
            return Ok(None);
        };
        let mut command = Command::new(folder.join("gitops-engine"));
        // On one processor, which is what the mark is about: with more, Go collects garbage on those that are idle, as if it
        // cost nothing.
        command.arg(&cluster.url).env("GOMAXPROCS", "1");
        let (mut process, started) = (Process::of(&mut command)?, Stretch::begin(cluster, None)?);
        let held = number(&process.answer()?, "listed")?;
        if held != objects {
            return Err(format!("gitops-engine holds {held} objects of {objects}").into());
        }
        let listed = started.end(cluster, &process.pid(), objects)?;
        let started = Stretch::begin(cluster, Some(&process.pid()))?;
        let changed = cluster.update(updates)?;
        process.say(&changed.to_string())?;
        number(&process.answer()?, "followed")?;
        let followed = started.end(cluster, &process.pid(), changed)?;
        let memory = Memory::of(&process.pid())?;
        Ok(Some(Peer { listed, followed, memory }))
    }
}

/// The number after a word.
fn number(line: &str, word: &str) -> Result<usize> {
    let number = line.strip_prefix(word).ok_or_else(|| format!("gitops-engine said {line:?}"))?;
    Ok(number.trim().parse()?)
}
