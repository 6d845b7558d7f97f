//! Agents' configuration files in folders, laid out as GitLab has them: `.gitlab/agents/<name>/config.yaml`.
//!
//! A folder is looked at every few seconds. A file that can no longer be used does not undo what it said before: the
//! last good one holds on, and what is wrong with the new one is declared beside it. Since a checkout is not brought up
//! to date in one moment, what a folder says counts once two looks have found the same.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{CatalogCode, CatalogError};
use crate::access::{MAX_CONFIG_BYTES, known_agent_config};
use crate::config::AgentFolderConfig;
use crate::log::{AppendError, Appender, Catalog, CatalogChange, LogError, Standing};
use crate::model::{AgentId, AgentSpec, CatalogFact, CatalogKind, Source, is_dns_label};

/// The most agents of one folder.
const AGENTS_MAX: usize = 10_000;

/// How many agents are declared in one transaction of the log.
const AGENTS_AT_ONCE: usize = 128;

/// What a file said when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    id: AgentId,
    cluster: String,
    /// The text of a file that can be used, or what is wrong with it.
    said: Result<String, String>,
}

/// Reads folders again and again.
#[derive(Debug, Default)]
pub struct FolderReader {
    folders: Vec<AgentFolderConfig>,
    /// What was declared.
    last: Option<Vec<Found>>,
    /// What the look before found.
    seen: Option<Vec<Found>>,
    /// Folders that could not be read, so that each trouble is told once.
    unreadable: BTreeSet<PathBuf>,
}

impl FolderReader {
    /// Of these folders.
    pub fn new(folders: Vec<AgentFolderConfig>) -> Self {
        FolderReader { folders, ..FolderReader::default() }
    }

    /// Reads all files, and declares what they say where that has changed since it was declared, and not since the look
    /// before. While a folder cannot be read, nothing is concluded from it.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn look(mut self, appender: &Appender) -> Result<Self, CatalogError> {
        let read = tokio::task::spawn_blocking(move || {
            let found = self.read();
            (self, found)
        });
        let Ok((mut reader, found)) = read.await else {
            return Err(CatalogError::new(CatalogCode::Failed, "reading the folders broke off"));
        };
        let Some(found) = found else { return Ok(reader) };
        let settled = reader.last.is_none() || reader.seen.as_ref() == Some(&found);
        reader.seen = Some(found.clone());
        if !settled || reader.last.as_ref() == Some(&found) {
            return Ok(reader);
        }
        match declare(appender, found.clone()).await {
            Ok(()) => reader.last = Some(found),
            // The next look says it again.
            Err(error @ (AppendError::Busy | AppendError::Contended)) => {
                tracing::debug!(%error, "what the folders say is not declared yet");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(reader)
    }

    /// What all files say; none while a folder cannot be read.
    fn read(&mut self) -> Option<Vec<Found>> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let path = folder.path.join(".gitlab").join("agents");
            match agents(&path) {
                Ok(names) => {
                    self.unreadable.remove(&path);
                    found.extend(names.iter().map(|name| read_one(folder, &path, name)));
                }
                Err(error) => {
                    if self.unreadable.insert(path.clone()) {
                        tracing::error!(folder = %path.display(), %error, "agents' configuration cannot be read; what it said last holds on");
                    }
                    return None;
                }
            }
        }
        Some(found)
    }
}

/// The names of the agents that have a folder, in order.
fn agents(path: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(path)?.take(AGENTS_MAX) {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // What is there and cannot be looked at is not gone.
        let absent = matches!(entry.path().join("config.yaml").try_exists(), Ok(false));
        if !absent && is_dns_label(&name) {
            names.insert(name);
        }
    }
    Ok(names)
}

fn read_one(folder: &AgentFolderConfig, agents: &Path, name: &str) -> Found {
    let path = agents.join(name).join("config.yaml");
    let said = match read_file(&path) {
        Ok(text) => match known_agent_config(&text) {
            Ok(_) => Ok(text),
            Err(error) => {
                let lines: Vec<String> =
                    error.mistakes.iter().map(|mistake| format!("{}:{mistake}", path.display())).collect();
                Err(lines.join("\n"))
            }
        },
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    };
    let cluster = folder.clusters.get(name).cloned().unwrap_or_default();
    Found { id: AgentId::new(folder.project.as_str(), name), cluster, said }
}

/// One byte more than a file may have is enough to tell that it has too many.
fn read_file(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_CONFIG_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Declares what follows from what the files say: every agent that has one, and none that had one before. A few agents
/// at a time, so that nothing else waits for the writer until all are written.
async fn declare(appender: &Appender, found: Vec<Found>) -> Result<(), AppendError> {
    let all: BTreeSet<String> = found.iter().map(|found| found.id.to_string()).collect();
    let gone = move |catalog: &mut Catalog<'_, '_>| {
        let ours = catalog.names_of(CatalogKind::Agent, Source::Folder)?;
        let mut changes = Vec::new();
        for name in ours.into_iter().filter(|name| !all.contains(name)).take(AGENTS_AT_ONCE) {
            catalog.get(CatalogKind::Agent, &name)?;
            changes.push(CatalogChange::Withdraw(CatalogKind::Agent, name));
        }
        let rest = changes.len() == AGENTS_AT_ONCE;
        Ok((changes, rest))
    };
    let gone = Arc::new(gone);
    loop {
        let gone = Arc::clone(&gone);
        let (_, rest) = appender.decide(Source::Folder, move |catalog| gone(catalog)).await?;
        if !rest {
            break;
        }
    }
    for some in found.chunks(AGENTS_AT_ONCE) {
        let some = some.to_vec();
        appender.decide(Source::Folder, move |catalog| Ok((changes(catalog, &some)?, ()))).await?;
    }
    Ok(())
}

/// What follows from what some of the files say.
fn changes(catalog: &mut Catalog<'_, '_>, found: &[Found]) -> Result<Vec<CatalogChange>, LogError> {
    let mut changes = Vec::new();
    for found in found {
        let standing = catalog.get(CatalogKind::Agent, &found.id.to_string())?;
        if let Some(other) = standing.as_ref().filter(|standing| standing.source != Source::Folder) {
            tracing::warn!(agent = %found.id, source = %other.source, "the agent is declared elsewhere; its file is not read");
            continue;
        }
        let before = match standing {
            Some(Standing { fact: CatalogFact::Agent(spec), .. }) => *spec,
            _ => AgentSpec::new(found.id.clone()),
        };
        changes.push(CatalogChange::Declare(CatalogFact::Agent(Box::new(after(before, found)))));
    }
    Ok(changes)
}

/// An agent after its file was read: a file that cannot be used leaves what the one before it said.
fn after(before: AgentSpec, found: &Found) -> AgentSpec {
    let (configuration, problem) = match &found.said {
        Ok(text) => (text.clone(), String::new()),
        Err(problem) => {
            if before.problem != *problem {
                tracing::error!(agent = %found.id, problem, "the agent's configuration cannot be used; the last good one holds on");
            }
            (before.configuration.clone(), problem.clone())
        }
    };
    AgentSpec { cluster: found.cluster.clone(), configuration, problem, ..before }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::query::testing::{ManualClock, record};

    const GOOD: &str = "ci_access: {projects: [{id: shop/web}]}\n";

    /// The agents as they are declared.
    async fn declared(appender: &Appender) -> Vec<AgentSpec> {
        let read = |catalog: &mut Catalog<'_, '_>| {
            let mut agents = Vec::new();
            for name in catalog.names(CatalogKind::Agent)? {
                if let Some(Standing { fact: CatalogFact::Agent(spec), .. }) =
                    catalog.get(CatalogKind::Agent, &name)?
                {
                    agents.push(*spec);
                }
            }
            Ok((Vec::new(), agents))
        };
        appender.decide(Source::Api, read).await.unwrap().1
    }

    /// Lets a test change the file of the one agent of a folder, and look at it.
    fn with_folder<F: Future<Output = ()> + Send>(
        test: impl FnOnce(FolderReader, Appender, PathBuf) -> F + Send,
    ) {
        let (data, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = checkout.path().join(".gitlab/agents/one/config.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, GOOD).unwrap();
        let folder = AgentFolderConfig {
            project: "shop/agents".into(),
            path: checkout.path().to_owned(),
            clusters: [("one".to_owned(), "east".to_owned())].into(),
        };
        record(data.path(), Arc::new(ManualClock::default()), |appender| async move {
            test(FolderReader::new(vec![folder]), appender, file).await;
        });
    }

    #[test]
    fn a_file_that_cannot_be_used_leaves_what_was_said_before() {
        with_folder(|reader, appender, file| async move {
            let mut reader = reader.look(&appender).await.unwrap();
            let good = declared(&appender).await;
            assert_eq!(
                (good.len(), good[0].configuration.as_str(), good[0].cluster.as_str()),
                (1, GOOD, "east")
            );
            for wrong in ["ci_acess: {}", "a: [", "\u{0}", "ci_access: {projects: 1}"] {
                std::fs::write(&file, wrong).unwrap();
                reader = reader.look(&appender).await.unwrap().look(&appender).await.unwrap();
                let held = declared(&appender).await.remove(0);
                assert_eq!(held.configuration, GOOD, "{wrong}");
                assert!(held.problem.contains("config.yaml:1:"), "{wrong}: {}", held.problem);
            }
            // It is there and cannot be opened.
            std::fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink(&file, &file).unwrap();
            reader = reader.look(&appender).await.unwrap().look(&appender).await.unwrap();
            let held = declared(&appender).await.remove(0);
            assert_eq!(held.configuration, GOOD);
            assert!(held.problem.contains("config.yaml cannot be read"), "{}", held.problem);
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, GOOD).unwrap();
            reader.look(&appender).await.unwrap().look(&appender).await.unwrap();
            assert_eq!(declared(&appender).await, good);
        });
    }

    #[test]
    fn what_one_look_alone_finds_does_not_count() {
        with_folder(|reader, appender, file| async move {
            let reader = reader.look(&appender).await.unwrap();
            let good = declared(&appender).await;
            // As while a checkout is brought up to date.
            std::fs::remove_file(&file).unwrap();
            let reader = reader.look(&appender).await.unwrap();
            std::fs::write(&file, GOOD).unwrap();
            let reader = reader.look(&appender).await.unwrap().look(&appender).await.unwrap();
            assert_eq!(declared(&appender).await, good);
            std::fs::remove_file(&file).unwrap();
            let reader = reader.look(&appender).await.unwrap();
            assert_eq!(declared(&appender).await, good);
            reader.look(&appender).await.unwrap();
            assert_eq!(declared(&appender).await, []);
        });
    }
}
