//! Names that a server knows, for the shell that completes one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use serde_json::Value;

use crate::cli::args::AddressArgs;
use crate::cli::client::Client;
use crate::cli::query::Parameters;
use crate::cli::runtime::runtime;
use crate::format::visible;

/// How long somebody waits who pressed a key. What has not come by then is not offered.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most that is read of a list.
const MOST: u64 = 10_000;

/// What is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    Environments,
    /// Those that have environments, declared or not.
    EnvironmentProjects,
    Projects,
    Groups,
    Agents,
    Clusters,
    Regions,
}

impl Names {
    fn path(self) -> &'static str {
        match self {
            Names::Environments | Names::EnvironmentProjects => "/api/v1/environments",
            Names::Projects => "/api/v1/projects",
            Names::Groups => "/api/v1/groups",
            Names::Agents => "/api/v1/agents",
            Names::Clusters | Names::Regions => "/api/v1/clusters",
        }
    }

    /// The name of an item of the list, with what is said of it.
    fn read(self, item: &Value) -> Option<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (name, about) = match self {
            Names::Environments => (&item["id"], &item["health"]["state"]),
            Names::EnvironmentProjects => (&item["project"], &Value::Null),
            Names::Projects | Names::Groups | Names::Agents => (&item["id"], &Value::Null),
            Names::Clusters => (&item["id"], &item["region"]),
            Names::Regions => (&item["region"], &Value::Null),
        };
        Some((text(name), text(about))).filter(|(name, _)| !name.is_empty())
    }

    /// Those of the server's names that go on from what is typed. Where there is no answer there is nothing to offer: an
    /// error would be written into the line that is being typed.
    pub(super) fn beginning_with(self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let typed = typed.to_string_lossy();
        // As `-o name` prints it.
        let noun = if self == Names::Environments { "environment/" } else { "" };
        let (prefix, typed) = typed.strip_prefix(noun).map_or(("", &*typed), |rest| (noun, rest));
        let named = self.ask().unwrap_or_default().into_iter().filter(|(name, _)| name.starts_with(typed));
        // A name that could steer a terminal is not offered.
        named
            .filter(|(name, _)| visible(name) == *name)
            .map(|(name, about)| {
                let help = (!about.is_empty()).then(|| visible(&about).into_owned().into());
                CompletionCandidate::new(format!("{prefix}{name}")).help(help)
            })
            .collect()
    }

    fn ask(self) -> Option<BTreeMap<String, String>> {
        let words: Vec<OsString> = std::env::args_os().collect();
        let client = match option(&words, "--data") {
            Some(data) => Client::of_directory(Path::new(&data)),
            None => Client::of(&address(&words)).map(Client::unrenewed),
        };
        let client = client.ok()?;
        let asking = async {
            let listing = client.list("completing", self.path(), Parameters::new(), Some(MOST));
            tokio::time::timeout(PATIENCE, listing).await.ok()?.ok()
        };
        let answer = runtime().ok()?.block_on(asking)?;
        let items = answer["items"].as_array().into_iter().flatten();
        Some(items.filter_map(|item| self.read(item)).collect())
    }
}

/// The value of an option in the line that is being typed.
fn option(words: &[OsString], option: &str) -> Option<String> {
    let words = || words.iter().filter_map(|word| word.to_str());
    let attached = words().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
    attached.or_else(|| words().skip_while(|word| *word != option).nth(1)).map(str::to_owned)
}

/// Which server the line that is being typed asks, by its options.
fn address(words: &[OsString]) -> AddressArgs {
    let of = |name: &str| option(words, name);
    AddressArgs {
        server: of("--server"),
        context: of("--context"),
        ca_file: of("--ca-file").map(PathBuf::from),
        token: of("--token").and_then(|token| token.parse().ok()),
        token_file: of("--token-file").map(PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_typed_says_which_server_is_asked() {
        let of = |line: &str| address(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        let asked = of("-- strandline --server https://a.test tree --token-file t sh");
        assert_eq!((asked.server.as_deref(), asked.token_file), (Some("https://a.test"), Some("t".into())));
        assert_eq!(
            of("-- strandline tree --server=https://b.test sh").server.as_deref(),
            Some("https://b.test")
        );
        assert_eq!(of("-- strandline tree --server").token_file, None);
        let typed = ["strandline", "tree", "--data=/copy", "sh"].map(OsString::from);
        assert_eq!(option(&typed, "--data").as_deref(), Some("/copy"));
    }

    #[test]
    fn names_are_read_with_what_is_said_of_them() {
        // As the server lists it.
        let cluster = strandline_protocol::Cluster {
            id: "eu-1".to_owned(),
            region: "europe".to_owned(),
            watched: true,
            unwatched_since: None,
            kinds_watched: 7,
            gaps: Vec::new(),
        };
        let cluster = serde_json::to_value(cluster).unwrap_or_default();
        assert_eq!(Names::Clusters.read(&cluster), Some(("eu-1".to_owned(), "europe".to_owned())));
        assert_eq!(Names::Regions.read(&cluster), Some(("europe".to_owned(), String::new())));
        assert_eq!(Names::Regions.read(&serde_json::json!({"id": "eu-1", "region": ""})), None);
    }
}
