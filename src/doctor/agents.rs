//! Whether agents' files can be read, and lead to clusters.

use super::report::Check;
use crate::catalog::{AgentFolderConfig, FolderReader};
use strandline_gitlab::known_agent_config;
use strandline_syntax::diagnostics::Mistake;

/// Reads the files once, as the server does again and again.
pub(super) fn check(folders: &[AgentFolderConfig]) -> Vec<Check> {
    FolderReader::of(folders.to_vec()).iter().flat_map(of_project).collect()
}

fn of_project(reader: &FolderReader) -> Vec<Check> {
    let subject = format!("agents of {}", reader.project());
    let found = match reader.read() {
        Ok(found) => found,
        Err(error) => {
            return vec![Check::problem(&subject, error.to_string()).hint("check `path` under `agents`")];
        }
    };
    let mut checks = vec![Check::ok(&subject, format!("{} found", found.len()))];
    for agent in found {
        match &agent.content {
            Err(problem) => checks.push(
                Check::problem(&subject, problem)
                    .hint("until it is fixed, the last valid configuration stays in effect"),
            ),
            Ok(text) => checks.extend(warnings(text).iter().map(|warning| {
                let check =
                    Check::warning(&subject, format!("configuration file of {}: {warning}", agent.id));
                warning.hint.iter().fold(check, |check, hint| check.hint(hint))
            })),
        }
        if agent.cluster.is_empty() {
            let message = format!("{} has no cluster", agent.id);
            checks.push(Check::warning(&subject, message).hint("set its cluster under `clusters`"));
        }
    }
    checks
}

/// What is odd about a file that can be used.
fn warnings(text: &str) -> Vec<Mistake> {
    known_agent_config(text).map(|read| read.warnings.clone()).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn agents_without_a_cluster_and_files_that_cannot_be_used_are_told() {
        let checkout = tempfile::tempdir().unwrap();
        let folder = AgentFolderConfig {
            project: "ops/agents".to_owned(),
            path: checkout.path().to_owned(),
            clusters: [("one".to_owned(), "east".to_owned())].into(),
        };
        let told = || -> Vec<String> {
            check(std::slice::from_ref(&folder))
                .iter()
                .map(|c| format!("{} {}", c.result.as_str(), c.message))
                .collect()
        };
        assert!(told()[0].starts_with("problem the agents' files in "), "{:?}", told());
        for (name, text) in [("one", "future: {}\n"), ("two", "ci_access: {a: b}\n")] {
            let agent = checkout.path().join(".gitlab/agents").join(name);
            std::fs::create_dir_all(&agent).unwrap();
            std::fs::write(agent.join("config.yaml"), text).unwrap();
        }
        let told = told();
        assert_eq!((told.len(), told[0].as_str()), (4, "ok 2 found"), "{told:?}");
        assert_eq!(
            told[1],
            "warning configuration file of ops/agents:one: 1:1: unknown section; it is ignored"
        );
        assert!(told[2].starts_with("problem ") && told[2].ends_with(":1:13: unknown key"), "{told:?}");
        assert_eq!(told[3], "warning ops/agents:two has no cluster");
    }
}
