//! Decisions about jobs, held against seed 004 and GitLab's rules.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod entries;
mod hostile;
mod seed;

use super::{AgentConfig, Decision, Job, JobEnvironment, Reason, decide, read_agent_config};

/// The project of the agents in these tests.
const OWNER: &str = "ops/agents";

fn config(yaml: &str) -> AgentConfig {
    read_agent_config(yaml).unwrap().config
}

/// A job of a project on a branch, deploying to an environment unless its name is empty.
fn job(project: &str, branch: &str, environment: &str) -> Job {
    Job {
        project: project.into(),
        environment: (!environment.is_empty()).then(|| JobEnvironment::named(environment)),
        ref_name: Some(branch.into()),
        default_branch: Some("main".into()),
        ..Job::default()
    }
}

fn ask(yaml: &str, job: &Job) -> Decision {
    decide(&config(yaml), OWNER, job)
}

/// Reason, rule and namespace.
fn short(decision: &Decision) -> (Reason, Option<usize>, Option<&str>) {
    assert_eq!(
        decision.allowed,
        matches!(
            decision.reason,
            Reason::OwnProject | Reason::NoRules | Reason::RuleMatched | Reason::NoMatchAllowed
        )
    );
    (decision.reason, decision.rule, decision.namespace.as_deref())
}
