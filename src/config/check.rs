//! What the file says, checked and completed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_saphyr::{Location, Spanned};

use super::file::{DATA, Environment, File, LISTEN};
use super::settings::{ClusterConfig, Config};
use crate::app::Presentation;
use crate::http::auth::AccessConfig;
use strandline_model::{EnvironmentId, EnvironmentSettings, EnvironmentSpec, Tier};
use strandline_redact::has_login;
use strandline_syntax::diagnostics::Mistake;
use strandline_syntax::is_dns_label;

/// Checks the whole file; every mistake is reported, not only the first.
pub(super) fn check(file: File, origin: &Path) -> Result<Config, Vec<Mistake>> {
    let mut check = Check::new(&file, origin);
    let listen = check.listen(file.listen.as_ref());
    let (tls, origins) = (check.tls(file.tls.as_ref()), check.origins(&file));
    let mut clusters = check.clusters(&file);
    let (cluster_folders, of_folders) = check.cluster_folders(&file, &clusters);
    clusters.extend(of_folders);
    let hubs = check.hubs(&file);
    let (agents, agent_folders) = check.agents(&file, &clusters);
    let projects = check.projects(&file, &clusters);
    let environments = check.environments(&file, &clusters);
    let rules = check.rules(&file);
    let presentation =
        Presentation { views: check.views(&file), links: check.links(&file), ignored: check.diff(&file) };
    let access = check.who_may_ask(&file.access);
    let retention = check.retention(&file.retention);
    let consistency = check.consistency(&file.consistency);
    let redact = check.redact(&file);
    let metrics = check.metrics(&file.metrics);
    let traces = file.traces.as_ref().map(|traces| check.traces(traces));
    let limits = check.limits(&file.limits);
    let cache_size = check.cache_size(file.cache_size.as_ref());
    let quotas = check.quotas(&file.quotas);
    let data = check.path(file.data.as_deref().unwrap_or(DATA));
    check.done().map(|()| Config {
        listen,
        hosts: file.hosts,
        tls,
        origins,
        data,
        clusters,
        cluster_folders,
        hubs,
        projects,
        agents,
        agent_folders,
        environments,
        rules,
        access,
        presentation,
        retention,
        consistency,
        redact,
        quotas,
        limits,
        cache_size,
        metrics,
        traces,
    })
}

/// Checks who may ask, and nothing else.
pub(super) fn check_access(file: &File, origin: &Path) -> Result<AccessConfig, Vec<Mistake>> {
    let mut check = Check::new(file, origin);
    let access = check.who_may_ask(&file.access);
    check.done().map(|()| access)
}

pub(super) struct Check {
    /// The folder from which relative paths start.
    base: PathBuf,
    /// Whether there are agents, through which deployments can say where an environment is.
    pub(super) has_agents: bool,
    /// The clusters that are named under `clusters`.
    pub(super) own_clusters: HashSet<String>,
    /// Whether there are folders or hubs, whose clusters may come later.
    pub(super) finds_clusters: bool,
    pub(super) mistakes: Vec<Mistake>,
}

impl Check {
    fn new(file: &File, origin: &Path) -> Self {
        Check {
            base: origin.parent().unwrap_or(Path::new(".")).to_owned(),
            has_agents: !file.agents.is_empty(),
            own_clusters: file.clusters.iter().map(|cluster| cluster.name.value.clone()).collect(),
            finds_clusters: !file.cluster_folders.is_empty() || !file.hubs.is_empty(),
            mistakes: Vec::new(),
        }
    }

    /// That there was no mistake; else all of them, in the order of the file.
    fn done(mut self) -> Result<(), Vec<Mistake>> {
        self.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        if self.mistakes.is_empty() { Ok(()) } else { Err(self.mistakes) }
    }

    pub(super) fn report(
        &mut self,
        location: Location,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Mistake {
        self.mistakes.push(Mistake::at(location, code, message));
        let last = self.mistakes.len() - 1;
        &mut self.mistakes[last]
    }

    pub(super) fn path(&self, written: &str) -> PathBuf {
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        match written.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
            Some(path) => path,
            None => self.base.join(written),
        }
    }

    /// The text of a file that holds a secret and nothing else.
    pub(super) fn secret(&mut self, file: &Spanned<String>) -> Option<String> {
        let why = match std::fs::read_to_string(self.path(&file.value)) {
            Ok(text) if !text.trim().is_empty() => return Some(text.trim().to_owned()),
            Ok(_) => "it is empty".to_owned(),
            Err(error) => error.to_string(),
        };
        let message = format!("cannot read `{}`: {why}", file.value);
        self.report(file.referenced, "unreadable", message);
        None
    }

    fn listen(&mut self, written: Option<&Spanned<String>>) -> std::net::SocketAddr {
        let text = written.map_or(LISTEN, |written| written.value.as_str());
        let location = written.map_or(Location::UNKNOWN, |written| written.referenced);
        text.parse().unwrap_or_else(|_| {
            self.report(
                location,
                "bad_address",
                format!("invalid address and port `{text}`; use one such as {LISTEN}"),
            );
            std::net::SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    pub(super) fn namespace(&mut self, namespace: &Spanned<String>) {
        if !is_dns_label(&namespace.value) {
            let message = format!("invalid namespace `{}`", namespace.value);
            self.report(namespace.referenced, "bad_name", message).hint =
                Some("use up to 63 lower-case letters, digits and `-`, not at either end".to_owned());
        }
    }

    fn environments(&mut self, file: &File, clusters: &[ClusterConfig]) -> Vec<EnvironmentSpec> {
        let mut lines: HashMap<String, u64> = HashMap::new();
        let mut specs = Vec::new();
        for environment in &file.environments {
            let at = environment.name.referenced;
            let spec = self.environment(environment, clusters);
            if let Some(line) = lines.insert(spec.id.to_string(), at.line()) {
                let message = format!("duplicate environment `{}`, first in line {line}", spec.id);
                self.report(at, "duplicate", message).hint = Some("give one of them another `id`".to_owned());
            }
            specs.push(spec);
        }
        specs
    }

    fn environment(&mut self, environment: &Environment, clusters: &[ClusterConfig]) -> EnvironmentSpec {
        let (project, name) = (&environment.project.value, &environment.name.value);
        for (what, written) in [("project", &environment.project), ("name", &environment.name)] {
            if written.value.trim().is_empty() {
                self.report(written.referenced, "bad_name", format!("the environment's `{what}` is empty"));
            }
        }
        if has_login(&environment.external_url) {
            let message =
                format!("the `external_url` of `{name}` contains credentials, which every reader would see");
            self.report(environment.name.referenced, "bad_address", message).hint =
                Some("remove the part before the @".to_owned());
        }
        let tier = self.tier(environment);
        EnvironmentSpec {
            id: self.id(environment),
            tier,
            region: environment.region.clone().unwrap_or_default(),
            labels: environment.metadata.labels.clone(),
            state: self.word(environment.state.as_ref(), "bad_state").unwrap_or_default(),
            settings: EnvironmentSettings {
                external_url: environment.external_url.clone(),
                dynamic: environment.dynamic,
                auto_stop_at: self.word(environment.auto_stop_at.as_ref(), "bad_time"),
                ..EnvironmentSettings::default()
            },
            targets: self.targets(environment, clusters),
            ..EnvironmentSpec::new(project, name)
        }
    }

    fn id(&mut self, environment: &Environment) -> EnvironmentId {
        let Some(id) = &environment.id else {
            return EnvironmentId::of(&environment.project.value, &environment.name.value);
        };
        if !EnvironmentId::new(id.value.as_str()).is_plain() {
            let message = format!("invalid environment id `{}`", id.value);
            self.report(id.referenced, "bad_name", message).hint =
                Some("use letters, digits, `-`, `_` and `.`".to_owned());
        }
        EnvironmentId::new(id.value.clone())
    }

    /// A text as a word of some list, if it is written.
    fn word<T: std::str::FromStr<Err = String>>(
        &mut self,
        written: Option<&Spanned<String>>,
        code: &'static str,
    ) -> Option<T> {
        let written = written?;
        let parsed = written.value.parse();
        parsed.map_err(|message: String| _ = self.report(written.referenced, code, message)).ok()
    }

    fn tier(&mut self, environment: &Environment) -> Tier {
        let Some(tier) = &environment.tier else { return Tier::guess(&environment.name.value) };
        tier.value.parse().unwrap_or_else(|message: String| {
            self.report(tier.referenced, "bad_tier", message);
            Tier::Other
        })
    }
}
