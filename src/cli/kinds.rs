//! `strandline kinds`: which kinds are watched, and why others are not.

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;

use super::answers::listing;
use super::args::KindsArgs;
use super::error::{CliError, Exit};
use super::output::{document, write};
use super::runtime::runtime;
use super::serve::load;
use super::stderr::note;
use super::table::Cell;
use super::views::Listed;
use crate::config::{ClusterConfig, Config};
use crate::format::visible;
use strandline_clock::{Clock, SystemClock};
use strandline_model::{Kind, Timestamp};
use strandline_watch::{DEFAULT_EXCLUDES, ExamineSettings, Exclude, KindList, ListedKind, Trouble};

/// Runs the command.
pub(super) fn run(args: &KindsArgs) -> Result<(), CliError> {
    let Some(path) = &args.config else {
        return print(&DEFAULT_EXCLUDES.map(DefaultRow::from), &[], args);
    };
    let config = load(path)?;
    let clusters = selected(&config, args.cluster.as_deref())?;
    let answers = runtime()?.block_on(join_all(clusters.into_iter().map(ask)));
    let (mut rows, mut failed, mut silent) = (Vec::new(), Vec::new(), 0);
    for (cluster, answer) in answers {
        match answer {
            Ok(list) => {
                let failure =
                    |group, message| Failed { cluster: cluster.to_owned(), group: Some(group), message };
                failed.extend(list.failed.into_iter().map(|failed| failure(failed.group, failed.message)));
                rows.extend(list.kinds.into_iter().map(|kind| KindRow::new(cluster, kind)));
            }
            Err(trouble) => {
                silent += 1;
                failed.push(Failed {
                    cluster: cluster.to_owned(),
                    group: None,
                    message: trouble.to_string(),
                });
            }
        }
    }
    print(&rows, &failed, args)?;
    if silent == 0 {
        return Ok(());
    }
    let why = format!("kinds of {silent} clusters could not be listed");
    Err(CliError::new("listing kinds", why).hint("run `strandline doctor` for details"))
}

/// The clusters of a configuration, or the one of that name.
pub(super) fn selected<'a>(
    config: &'a Config,
    name: Option<&str>,
) -> Result<Vec<&'a ClusterConfig>, CliError> {
    let Some(name) = name else { return Ok(config.clusters.iter().collect()) };
    if let Some(cluster) = config.clusters.iter().find(|cluster| cluster.name == name) {
        return Ok(vec![cluster]);
    }
    let names: Vec<&str> = config.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    Err(CliError::new("reading the configuration", format!("no cluster `{name}`"))
        .hint(format!("configured clusters: {}", names.join(", ")))
        .exit(Exit::NotFound))
}

/// Asks through one watcher after the other until one is answered, those of the whole cluster first.
async fn ask(cluster: &ClusterConfig) -> (&str, Result<KindList, Trouble>) {
    let settings = ExamineSettings::new(cluster.selection.clone());
    let mut watchers: Vec<_> = cluster.watchers.iter().collect();
    watchers.sort_by_key(|watcher| !watcher.is_whole());
    let whole = watchers.iter().any(|watcher| watcher.is_whole());
    let mut answer = Err(Trouble::NoWay("no watcher is configured".to_owned()));
    for watcher in watchers {
        answer = strandline_watch::kinds(&watcher.connect, &settings, whole).await;
        if answer.is_ok() {
            break;
        }
    }
    (&cluster.name, answer)
}

fn print<T: Listed + Serialize>(rows: &[T], failed: &[Failed], args: &KindsArgs) -> Result<(), CliError> {
    for failure in failed {
        let group = failure.group.as_ref().map(|group| format!(", group {group}")).unwrap_or_default();
        note!("warning: {}", visible(&format!("cluster {}{group}: {}", failure.cluster, failure.message)));
    }
    match document(&args.output, &json!({"items": rows, "metadata": {"failed": failed}})) {
        Some(text) => write(&text?),
        None => write(&listing(rows, &args.output, SystemClock.now())),
    }
}

/// What a cluster could not report.
#[derive(Debug, Serialize)]
struct Failed {
    cluster: String,
    /// Only this group; none for the whole cluster.
    group: Option<String>,
    message: String,
}

/// A kind of a cluster.
#[derive(Debug, Serialize)]
struct KindRow {
    cluster: String,
    #[serde(flatten)]
    kind: Kind,
    version: String,
    resource: String,
    namespaced: bool,
    watched: bool,
    /// Why it is not watched.
    reason: Option<String>,
}

impl KindRow {
    fn new(cluster: &str, listed: ListedKind) -> Self {
        let ListedKind { served, unfollowed } = listed;
        KindRow {
            cluster: cluster.to_owned(),
            kind: served.kind,
            version: served.version,
            resource: served.plural,
            namespaced: served.namespaced,
            watched: unfollowed.is_none(),
            reason: unfollowed.map(|why| why.to_string()),
        }
    }
}

impl Listed for KindRow {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["CLUSTER", "KIND", "VERSION", "SCOPE", "WATCHED", "REASON"], &["RESOURCE"]);

    fn cells(&self, _now: Timestamp) -> Vec<Cell> {
        vec![
            Cell::text(&self.cluster),
            Cell::text(self.kind.to_string()),
            Cell::text(&self.version),
            Cell::text(if self.namespaced { "Namespaced" } else { "Cluster" }),
            Cell::text(if self.watched { "yes" } else { "no" }),
            Cell::text(self.reason.as_deref().unwrap_or_default()),
            Cell::text(&self.resource),
        ]
    }

    fn name(&self) -> String {
        format!("kind/{}", self.kind)
    }
}

/// A kind, or a group of them, that is not followed unless asked for.
#[derive(Debug, Serialize)]
struct DefaultRow {
    group: &'static str,
    kind: &'static str,
    reason: &'static str,
}

impl From<Exclude> for DefaultRow {
    fn from(exclude: Exclude) -> Self {
        DefaultRow { group: exclude.group, kind: exclude.kind, reason: exclude.reason }
    }
}

impl Listed for DefaultRow {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (&["KIND", "REASON"], &[]);

    fn cells(&self, _now: Timestamp) -> Vec<Cell> {
        vec![Cell::text(Kind::new(self.group, self.kind).to_string()), Cell::text(self.reason)]
    }

    fn name(&self) -> String {
        format!("kind/{}", Kind::new(self.group, self.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Paint;
    use crate::cli::views::table;
    use strandline_watch::{ServedKind, Unfollowed};

    #[test]
    fn kinds_are_listed_as_kubectl_would() {
        let kind = |group: &str, kind: &str, plural: &str, namespaced, unfollowed| {
            let (kind, version, plural) = (Kind::new(group, kind), "v1".to_owned(), plural.to_owned());
            KindRow::new(
                "eu-1",
                ListedKind { served: ServedKind { kind, version, plural, namespaced }, unfollowed },
            )
        };
        let rows = [
            kind("", "Node", "nodes", false, None),
            kind("apps", "Deployment", "deployments", true, Some(Unfollowed::Excluded)),
        ];
        assert_eq!(
            table(&rows, true, SystemClock.now()).render(Paint(false), true),
            "\
CLUSTER   KIND              VERSION   SCOPE        WATCHED   REASON                          RESOURCE
eu-1      Node              v1        Cluster      yes       <none>                          nodes
eu-1      Deployment.apps   v1        Namespaced   no        excluded by the configuration   deployments
"
        );
        assert_eq!(rows[1].name(), "kind/Deployment.apps");
        let json = serde_json::to_value(&rows[1]).unwrap_or_default();
        assert_eq!((&json["group"], &json["watched"]), (&"apps".into(), &false.into()));
    }

    #[test]
    fn defaults_are_listed_with_their_reasons() {
        let text = table(&DEFAULT_EXCLUDES.map(DefaultRow::from), false, SystemClock.now());
        let text = text.render(Paint(false), false);
        assert!(text.starts_with("Lease.coordination.k8s.io   renewed every"), "{text}");
        assert_eq!(text.lines().count(), DEFAULT_EXCLUDES.len());
    }
}
