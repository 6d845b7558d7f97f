//! What is declared: projects, agents and deployments, and what stopped environments left behind.

use serde_json::Value;

use super::answers::{listing, parameters, reference, typed};
use super::args::{LeftBehindArgs, OutputFormat};
use super::client::Client;
use super::error::CliError;
use super::output::{document, write};
use super::stderr::note;
use super::table::Cell;
use super::views::Listed;
use crate::format::{age, clock_time, visible};
use strandline_model::{AgentId, DeploymentStatus, EnvironmentId, Health, Timestamp, label_pairs};
use strandline_protocol::{Agent, Answer, Deployment, LeftBehind, LeftNamespace, Project, ProjectGroup};
use strandline_syntax::percent_encode;

impl Listed for ProjectGroup {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["NAME", "PROJECTS", "ENVIRONMENTS"], &[]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        let count = |count: u64| Cell::text(count.to_string());
        vec![Cell::text(&self.id), count(self.projects), count(self.environments)]
    }

    fn name(&self) -> String {
        format!("group/{}", self.id)
    }
}

impl Listed for Project {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["NAME", "ID", "BRANCH"], &["DECLARED-BY", "LABELS"]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        vec![
            Cell::text(&self.id),
            Cell::text(self.number.map(|number| number.to_string()).unwrap_or_default()),
            Cell::text(&self.default_branch),
            Cell::text(self.source.as_str()),
            Cell::text(label_pairs(&self.labels).join(",")),
        ]
    }

    fn name(&self) -> String {
        format!("project/{}", self.id)
    }
}

impl Listed for Agent {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["NAME", "CLUSTER", "ENVIRONMENTS", "CONFIGURATION"], &["DECLARED-BY", "ID", "PROBLEM", "SERVES"]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        let serves: Vec<_> = self.environments.iter().map(EnvironmentId::as_str).collect();
        // Only members of its project learn that it is not; others see no more than that it works.
        let standing = match self.problem.is_empty() {
            true => Cell::text("valid"),
            false => Cell::Standing(Some(Health::Degraded), "invalid, previous in use".into()),
        };
        vec![
            Cell::text(self.id.to_string()),
            Cell::text(&self.cluster),
            Cell::text(serves.len().to_string()),
            standing,
            Cell::text(self.source.as_str()),
            Cell::text(self.number.map(|number| number.to_string()).unwrap_or_default()),
            Cell::text(&self.problem),
            Cell::text(serves.join(",")),
        ]
    }

    fn name(&self) -> String {
        format!("agent/{}", self.id)
    }

    fn warnings(&self) -> Vec<String> {
        let leads_nowhere = self.cluster.is_empty().then(|| {
            format!(
                "agent {} has no cluster, so its deployments are not matched to resources: set `clusters` in the entry of \
                 its project under `agents` in the configuration",
                self.id
            )
        });
        let of_file =
            self.warnings.iter().map(|warning| format!("configuration file of agent {}: {warning}", self.id));
        leads_nowhere.into_iter().chain(of_file).collect()
    }
}

impl Listed for Deployment {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["ID", "ENVIRONMENT", "STATUS", "REF", "SHA", "AGENT", "NAMESPACE", "AGE"],
        &["PROJECT", "JOB", "USER", "AUTHORIZED", "FINISHED"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let spec = &self.spec;
        let agent = spec.agent.as_ref();
        let asked = spec.authorization.as_ref();
        let authorised = match asked {
            Some(asked) if asked.allowed => "yes".to_owned(),
            Some(asked) => format!("no: {}", asked.reason),
            None => String::new(),
        };
        vec![
            Cell::text(spec.id.to_string()),
            Cell::text(spec.environment.as_str()),
            Cell::Standing(standing(spec.status), spec.status.as_str().to_owned()),
            Cell::text(&spec.reference),
            Cell::text(spec.sha.chars().take(8).collect::<String>()),
            Cell::text(agent.map(|agent| agent.agent.to_string()).unwrap_or_default()),
            Cell::text(agent.map_or("", |agent| agent.kubernetes_namespace.as_str())),
            Cell::text(age(spec.created_at.unwrap_or(self.observed_at), now)),
            Cell::text(&spec.project),
            Cell::text(spec.job.as_ref().map_or("", |job| job.name.as_str())),
            Cell::text(&spec.user),
            Cell::text(authorised),
            Cell::text(spec.finished_at.map(clock_time).unwrap_or_default()),
        ]
    }

    fn name(&self) -> String {
        format!("deployment/{}", self.spec.id)
    }

    /// Why the job may not use the agent that it asked for.
    fn warnings(&self) -> Vec<String> {
        let asked = self.spec.authorization.iter().filter(|asked| !asked.allowed);
        asked
            .map(|asked| format!("agent {} does not authorize this job: {}", asked.agent, asked.message))
            .collect()
    }
}

/// The health whose colour a status has.
const fn standing(status: DeploymentStatus) -> Option<Health> {
    match status {
        DeploymentStatus::Success => Some(Health::Healthy),
        DeploymentStatus::Failed => Some(Health::Degraded),
        DeploymentStatus::Running => Some(Health::Progressing),
        DeploymentStatus::Blocked => Some(Health::Suspended),
        DeploymentStatus::Created | DeploymentStatus::Canceled | DeploymentStatus::Skipped => None,
    }
}

impl Listed for LeftNamespace {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["CLUSTER", "NAMESPACE", "RESOURCES", "SHARED", "CLEANUP COMMAND"], &[]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        vec![
            Cell::text(&self.cluster),
            Cell::text(&self.namespace),
            Cell::text(self.resources.to_string()),
            Cell::text(if self.shared { "yes" } else { "no" }),
            Cell::text(&self.kubectl),
        ]
    }

    fn name(&self) -> String {
        format!("{}/{}", self.cluster, self.namespace)
    }
}

/// Reports what a stopped environment left in its clusters.
pub(super) async fn left_behind(args: &LeftBehindArgs) -> Result<(), CliError> {
    let what = format!("listing resources left behind by environment {}", args.environment);
    let path = format!("/api/v1/environments/{}/left-behind", percent_encode(args.environment.as_str()));
    let value: Value = Client::reading(&args.server)?.get(&what, &path, &parameters(&args.server)).await?;
    if let Some(text) = document(&args.output, &value) {
        return write(&text?);
    }
    let answer: Answer<LeftBehind> = typed(&what, value)?;
    let now = reference(&args.server, &answer.metadata);
    if args.output.output != OutputFormat::Name {
        note!("{}", summary(&args.environment, &answer.value, now));
    }
    match answer.value.namespaces.as_slice() {
        [] => Ok(()),
        left => write(&listing(left, &args.output, now)),
    }
}

/// What is left, in a line.
fn summary(environment: &EnvironmentId, left: &LeftBehind, now: Timestamp) -> String {
    let id = visible(environment.as_str());
    match (left.stopped_at, left.resources) {
        (None, _) => format!("{id} is not stopped; only stopped environments leave resources behind."),
        (Some(at), 0) => format!("{id} was stopped {} ago; no resources are left.", age(at, now)),
        (Some(at), 1) => format!("{id} was stopped {} ago; 1 resource is left.", age(at, now)),
        (Some(at), many) => {
            format!("{id} was stopped {} ago; {many} resources are left.", age(at, now))
        }
    }
}

/// The agents through which an environment is reached, or would be.
pub(super) fn agents(environment: &strandline_protocol::Environment) -> String {
    let mut agents: Vec<&AgentId> =
        environment.targets.iter().filter_map(|target| target.agent.as_ref()).collect();
    if agents.is_empty() {
        let deployed = environment.last_deployment.iter().filter_map(|last| last.spec.agent.as_ref());
        agents.extend(
            deployed.map(|deployed| &deployed.agent).chain(&environment.settings.cluster_agent).take(1),
        );
    }
    agents.sort_unstable();
    agents.dedup();
    agents.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Paint;
    use crate::cli::views::table;
    use crate::format::tests::NOON;
    use strandline_model::{AgentDeployment, Authorization, DeploymentId, DeploymentSpec, Source};

    fn agent(id: &str) -> AgentId {
        id.parse().expect("an agent's name")
    }

    #[test]
    fn deployments_tell_where_they_went_and_why_they_did_not() {
        let deployed = AgentDeployment {
            agent: agent("ops/agents:prod"),
            kubernetes_namespace: "shop".into(),
            only_labelled: false,
        };
        let spec = DeploymentSpec {
            id: DeploymentId(512),
            environment: EnvironmentId::new("shop.web.production"),
            project: "shop/web".into(),
            status: DeploymentStatus::Success,
            reference: "main".into(),
            tag: false,
            sha: "8f3c1d2e4b5a69788796".into(),
            job: None,
            user: String::new(),
            created_at: None,
            finished_at: None,
            agent: Some(deployed),
            authorization: None,
        };
        let refused = Authorization {
            unverified: Vec::new(),
            agent: agent("ops/agents:prod"),
            allowed: false,
            rule: Some(2),
            entry: "project shop/web".into(),
            namespace: String::new(),
            roles: Value::Null,
            reason: "rule_never".into(),
            message: "rule 2 matched with `when: never`".into(),
        };
        let other = DeploymentSpec {
            id: DeploymentId(513),
            agent: None,
            authorization: Some(refused),
            ..spec.clone()
        };
        let observed_at = NOON.minus(std::time::Duration::from_secs(7200));
        let items = [spec, other].map(|spec| Deployment { spec, observed_at });
        assert_eq!(
            table(&items, false, NOON).render(Paint(false), true),
            "\
ID    ENVIRONMENT           STATUS    REF    SHA        AGENT             NAMESPACE   AGE
512   shop.web.production   success   main   8f3c1d2e   ops/agents:prod   shop        120m
513   shop.web.production   success   main   8f3c1d2e   <none>            <none>      120m
"
        );
        assert_eq!((items[0].warnings().len(), items[0].name()), (0, "deployment/512".to_owned()));
        let warning = "agent ops/agents:prod does not authorize this job: rule 2 matched with `when: never`";
        assert_eq!(items[1].warnings(), [warning]);
        assert!(table(&items, true, NOON).render(Paint(false), false).contains("no: rule_never"));
    }

    #[test]
    fn agents_whose_file_broke_go_on_with_the_one_before() {
        let sound = Agent {
            id: agent("ops/agents:prod"),
            name: "prod".into(),
            project: "ops/agents".into(),
            number: None,
            cluster: "eu-west".into(),
            environments: vec![EnvironmentId::new("a"), EnvironmentId::new("b")],
            problem: String::new(),
            warnings: vec!["3:1: unknown section; it is ignored".into()],
            configuration: None,
            source: Source::Folder,
        };
        let broken = Agent {
            problem: "3:5: unknown key".into(),
            warnings: Vec::new(),
            cluster: String::new(),
            ..sound.clone()
        };
        let warning = "configuration file of agent ops/agents:prod: 3:1: unknown section; it is ignored";
        assert_eq!((sound.warnings(), broken.warnings().len()), (vec![warning.to_owned()], 1));
        assert!(broken.warnings()[0].starts_with("agent ops/agents:prod has no cluster"));
        assert_eq!(
            table(&[sound, broken], true, NOON).render(Paint(false), true),
            "\
NAME              CLUSTER   ENVIRONMENTS   CONFIGURATION              DECLARED-BY   ID       PROBLEM            SERVES
ops/agents:prod   eu-west   2              valid                      folder        <none>   <none>             a,b
ops/agents:prod   <none>    2              invalid, previous in use   folder        <none>   3:5: unknown key   a,b
"
        );
    }

    #[test]
    fn what_is_left_is_told_in_a_line() {
        let id = EnvironmentId::new("shop.web.review");
        let left = |stopped: bool, resources| {
            let stopped_at = stopped.then(|| NOON.minus(std::time::Duration::from_secs(7200)));
            summary(&id, &LeftBehind { stopped_at, namespaces: Vec::new(), resources }, NOON)
        };
        assert_eq!(
            left(false, 0),
            "shop.web.review is not stopped; only stopped environments leave resources behind."
        );
        assert_eq!(left(true, 0), "shop.web.review was stopped 120m ago; no resources are left.");
        assert_eq!(left(true, 1), "shop.web.review was stopped 120m ago; 1 resource is left.");
        assert_eq!(left(true, 7), "shop.web.review was stopped 120m ago; 7 resources are left.");
    }
}
