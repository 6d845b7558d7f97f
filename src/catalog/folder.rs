//! Agents' configuration files in checkouts, laid out as GitLab has them: `.gitlab/agents/<name>/config.yaml`.
//!
//! A checkout is looked at every few seconds. A file that can no longer be used does not undo what it said before: the
//! last good one holds on, and what is wrong with the new one is declared beside it. Since a checkout is not brought up
//! to date at one time, what it says counts once two looks have found the same. Each project is read by itself, so
//! that whoever writes the files of one holds up no other.
//!
//! Why: docs/decisions/0027-agents-files-come-from-checkouts.md.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::FileType;

use super::checkout::Folder;
use super::error::CatalogError;
use strandline_gitlab::{MAX_CONFIG_BYTES, known_agent_config};
use strandline_log::{AppendError, Appender, Catalog, CatalogChange, LogError, Standing};
use strandline_model::{AgentId, AgentSpec, CatalogFact, CatalogKind, Source};
use strandline_syntax::is_dns_label;

/// The most names in the folder of a project's agents.
const NAMES_MAX: usize = 10_000;

/// The most that the files of a project's agents may have together, in bytes.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How many agents are declared in one transaction of the log.
const AGENTS_AT_ONCE: usize = 128;

/// The file of an agent, in the folder of its name.
const FILE: &str = "config.yaml";

/// A checkout with the configuration files of a project's agents, laid out as GitLab has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolderConfig {
    /// Full path of the project.
    pub project: String,
    /// The checkout; `.gitlab/agents/<name>/config.yaml` is below it.
    pub path: PathBuf,
    /// To which cluster each agent connects, by the agent's name; another agent leads to none.
    pub clusters: BTreeMap<String, String>,
}

/// What an agent's file said when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    /// The agent.
    pub id: AgentId,
    /// The cluster to which the configuration leads it; empty for none.
    pub cluster: String,
    /// The text of a file that can be used, or what is wrong with it.
    pub content: Result<String, String>,
}

/// A checkout that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the agents' files in {} cannot be read: {source}", path.display())]
pub struct UnreadableFolder {
    path: PathBuf,
    source: io::Error,
}

/// Reads the checkouts of one project again and again.
#[derive(Clone, Debug)]
pub struct FolderReader {
    project: String,
    folders: Vec<AgentFolderConfig>,
    /// What was declared.
    last: Option<Vec<FoundAgent>>,
    /// What the look before found.
    seen: Option<Vec<FoundAgent>>,
    /// Whether the look before could not read a checkout, so that each trouble is reported once.
    unreadable: bool,
}

impl FolderReader {
    /// A reader for each project that has checkouts.
    pub fn of(folders: Vec<AgentFolderConfig>) -> Vec<Self> {
        let mut projects: BTreeMap<String, Vec<AgentFolderConfig>> = BTreeMap::new();
        for folder in folders {
            projects.entry(folder.project.clone()).or_default().push(folder);
        }
        let reader =
            |(project, folders)| FolderReader { project, folders, last: None, seen: None, unreadable: false };
        projects.into_iter().map(reader).collect()
    }

    /// The project.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Reads the files of all its agents, which takes as long as the filesystem does.
    ///
    /// # Errors
    /// When a checkout cannot be read; then nothing is known of any of them.
    pub fn read(&self) -> Result<Vec<FoundAgent>, UnreadableFolder> {
        let (mut found, mut left) = (BTreeMap::new(), BYTES_MAX);
        for folder in &self.folders {
            let unreadable = |source| UnreadableFolder { path: folder.path.clone(), source };
            for agent in agents(folder, &mut left).map_err(unreadable)? {
                found.entry(agent.id.to_string()).or_insert(agent);
            }
        }
        Ok(found.into_values().collect())
    }

    /// Declares what a look found where that has changed since it was declared, and not since the look before. While a
    /// checkout cannot be read, nothing is concluded.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn declare(
        &mut self,
        found: Result<Vec<FoundAgent>, UnreadableFolder>,
        appender: &Appender,
    ) -> Result<(), CatalogError> {
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                if !std::mem::replace(&mut self.unreadable, true) {
                    tracing::error!(
                        project = self.project,
                        "{error}; their last valid configuration stays in effect"
                    );
                }
                return Ok(());
            }
        };
        self.unreadable = false;
        let settled = self.last.is_none() || self.seen.as_ref() == Some(&found);
        self.seen = Some(found.clone());
        if !settled || self.last.as_ref() == Some(&found) {
            return Ok(());
        }
        match declare(&self.project, &found, appender).await {
            Ok(()) => self.last = Some(found),
            // The next look says it again.
            Err(error @ (AppendError::Busy | AppendError::Contended)) => {
                tracing::debug!(%error, "configuration from checkouts is not applied yet");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Withdraws the agents of checkouts that are no longer in the configuration.
///
/// # Errors
/// When the log cannot be written.
pub async fn withdraw_folders(readers: &[FolderReader], appender: &Appender) -> Result<(), CatalogError> {
    let kept: BTreeSet<String> = readers.iter().map(|reader| reader.project.clone()).collect();
    withdraw(appender, move |name| project_of(name).is_none_or(|project| !kept.contains(&project))).await?;
    Ok(())
}

fn project_of(agent: &str) -> Option<String> {
    agent.parse::<AgentId>().ok().map(|id| id.project().to_owned())
}

/// Declares what follows from what the files of a project say: every agent that has one, and none that had one before. A
/// few agents at a time, so that nothing else waits for the writer until all are written.
async fn declare(project: &str, found: &[FoundAgent], appender: &Appender) -> Result<(), AppendError> {
    let all: BTreeSet<String> = found.iter().map(|found| found.id.to_string()).collect();
    let project = project.to_owned();
    let is_gone = move |name: &str| !all.contains(name) && project_of(name).is_some_and(|of| of == project);
    withdraw(appender, is_gone).await?;
    for some in found.chunks(AGENTS_AT_ONCE) {
        let some = some.to_vec();
        appender.decide(Source::Folder, move |catalog| Ok((changes(catalog, &some)?, ()))).await?;
    }
    Ok(())
}

/// Withdraws those agents of checkouts that are gone.
async fn withdraw(
    appender: &Appender,
    is_gone: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> Result<(), AppendError> {
    let is_gone = Arc::new(is_gone);
    loop {
        let is_gone = Arc::clone(&is_gone);
        let some = move |catalog: &mut Catalog<'_, '_>| {
            let ours = catalog.names_of(CatalogKind::Agent, Source::Folder)?;
            let mut changes = Vec::new();
            for name in ours.into_iter().filter(|name| is_gone(name)).take(AGENTS_AT_ONCE) {
                catalog.get(CatalogKind::Agent, &name)?;
                changes.push(CatalogChange::Withdraw(CatalogKind::Agent, name));
            }
            let rest = changes.len() == AGENTS_AT_ONCE;
            Ok((changes, rest))
        };
        if !appender.decide(Source::Folder, some).await?.1 {
            return Ok(());
        }
    }
}

/// The agents of a checkout, in order of their names; `left` is how much their files may still have together.
fn agents(folder: &AgentFolderConfig, left: &mut usize) -> io::Result<Vec<FoundAgent>> {
    let agents = Folder::root(&folder.path)?.folder(".gitlab")?.folder("agents")?;
    let mut names = agents.names(NAMES_MAX)?;
    names.retain(|name| is_dns_label(name));
    names.sort_unstable();
    let mut found = Vec::new();
    for name in names {
        let Some(text) = text_of(&agents, &name).transpose() else { continue };
        let path = folder.path.join(".gitlab/agents").join(&name).join(FILE);
        let content =
            text.map_err(|error| format!("{} cannot be read: {error}", path.display())).and_then(|text| {
                *left = left.checked_sub(text.len()).ok_or_else(|| {
                    format!(
                        "cannot read {}: the files of all agents exceed {BYTES_MAX} bytes",
                        path.display()
                    )
                })?;
                match known_agent_config(&text) {
                    Ok(_) => Ok(text),
                    Err(error) => {
                        let line = |mistake| format!("{}:{mistake}", path.display());
                        Err(error.mistakes.iter().map(line).collect::<Vec<_>>().join("\n"))
                    }
                }
            });
        let cluster = folder.clusters.get(&name).cloned().unwrap_or_default();
        found.push(FoundAgent { id: AgentId::new(folder.project.as_str(), name), cluster, content });
    }
    Ok(found)
}

/// The text of an agent's file; none where there is no agent of the name.
fn text_of(agents: &Folder, name: &str) -> io::Result<Option<String>> {
    match agents.kind(name)? {
        // A file beside the agents' folders is none.
        None | Some(FileType::RegularFile) => return Ok(None),
        Some(_) => {}
    }
    let agent = agents.folder(name)?;
    match agent.kind(FILE)? {
        None => Ok(None),
        // What is there and cannot be looked at is not gone.
        Some(_) => agent.text(FILE, MAX_CONFIG_BYTES as u64).map(Some),
    }
}

/// What follows from what some of the files say.
fn changes(catalog: &mut Catalog<'_, '_>, found: &[FoundAgent]) -> Result<Vec<CatalogChange>, LogError> {
    let mut changes = Vec::new();
    for found in found {
        let standing = catalog.get(CatalogKind::Agent, &found.id.to_string())?;
        if let Some(other) = standing.as_ref().filter(|standing| standing.source != Source::Folder) {
            tracing::warn!(agent = %found.id, source = %other.source, "the agent is declared elsewhere; ignoring its file");
            continue;
        }
        let before = match standing {
            Some(Standing { fact: CatalogFact::Agent(spec), .. }) => Some(*spec),
            _ => None,
        };
        if found.cluster.is_empty() && before.as_ref().is_none_or(|before| !before.cluster.is_empty()) {
            tracing::warn!(
                agent = %found.id,
                "the agent has no cluster: set it in `clusters` of its project's entry under `agents`"
            );
        }
        let before = before.unwrap_or_else(|| AgentSpec::new(found.id.clone()));
        changes.push(CatalogChange::Declare(CatalogFact::Agent(Box::new(after(before, found)))));
    }
    Ok(changes)
}

/// An agent after its file was read: a file that cannot be used leaves what the one before it said.
fn after(before: AgentSpec, found: &FoundAgent) -> AgentSpec {
    let (configuration, problem) = match &found.content {
        Ok(text) => {
            if before.configuration != *text {
                warn_of(&found.id, text);
            }
            (text.clone(), String::new())
        }
        Err(problem) => {
            if before.problem != *problem {
                tracing::error!(agent = %found.id, problem, "the agent's configuration is invalid; the last valid one stays in effect");
            }
            (before.configuration.clone(), problem.clone())
        }
    };
    AgentSpec { cluster: found.cluster.clone(), configuration, problem, ..before }
}

/// Logs what is odd about a file that can be used.
fn warn_of(agent: &AgentId, text: &str) {
    for warning in known_agent_config(text).iter().flat_map(|read| &read.warnings) {
        tracing::warn!(%agent, "the agent's {FILE}, {}", warning.with_hint());
    }
}

#[cfg(test)]
mod tests;
