//! Which difference a request asks for; read alike by REST and pages.

use super::state::AppState;
use crate::http::params::{AT, CHILDREN, FROM, IGNORE, INCLUDE, MAP, ParameterReader, TO, WITH};
use crate::http::problem::Problem;
use strandline_model::{At, EnvironmentId};
use strandline_object_diff::{Between, Class, Lens, NameMapping, PathRule};
use strandline_protocol::EnvironmentDiff;
use strandline_query::{CompareEnvironments, DiffEnvironment, DiffResource, PageRequest, ResourceRef, Scope};

/// Rules that one question may have.
const RULES_MAX: usize = 100;

/// What is asked of an environment.
#[derive(Clone, Debug)]
pub enum EnvironmentQuestion {
    /// What differs between two times.
    Times(DiffEnvironment),
    /// What differs from another environment.
    Environments(CompareEnvironments),
}

impl EnvironmentQuestion {
    /// Reads the question; what the configuration ignores is ignored too.
    pub fn read(
        read: &mut ParameterReader<'_>,
        state: &AppState,
        environment: EnvironmentId,
        page: PageRequest,
    ) -> (At, Self) {
        let (from, to) = (read.moment(FROM), later(read));
        let (with, children) = (read.text(WITH), read.flag(CHILDREN));
        let mapping: Vec<NameMapping> = read.words(MAP);
        let between = if with.is_some() { Between::Environments } else { Between::Versions };
        let lens =
            lens(read, between, &[Class::Metadata]).ignoring(state.presentation.ignored.iter().cloned());
        let Some(with) = with else {
            if !mapping.is_empty() {
                read.refuse(MAP, format!("is valid only together with `{}`", WITH.name));
            }
            let question = DiffEnvironment { environment, from, lens, children, page };
            return (to, EnvironmentQuestion::Times(question));
        };
        if from.is_some() {
            read.refuse(
                FROM,
                format!("two environments are compared at the same time; set only `{}`", AT.name),
            );
        }
        let with = EnvironmentId::new(with);
        let show_renamed = mapping.contains(&NameMapping::None);
        let pairs = mapping.into_iter().filter_map(|mapping| match mapping {
            NameMapping::None => None,
            NameMapping::Pair(pair) => Some(pair),
        });
        let names = pairs.collect();
        let question = CompareEnvironments { environment, with, lens, names, show_renamed, children, page };
        (to, EnvironmentQuestion::Environments(question))
    }

    /// Asks it.
    ///
    /// # Errors
    /// Those of the question.
    pub async fn ask(self, state: &AppState, scope: &Scope, at: At) -> Result<EnvironmentDiff, Problem> {
        Ok(match self {
            EnvironmentQuestion::Times(question) => state.queries.ask(scope, at, question).await?,
            EnvironmentQuestion::Environments(question) => state.queries.ask(scope, at, question).await?,
        })
    }
}

/// Between which moments a resource is compared, and what is told; what the configuration ignores is ignored too.
pub fn of_one(read: &mut ParameterReader<'_>, state: &AppState, resource: ResourceRef) -> (At, DiffResource) {
    let (from, to) = (read.moment(FROM), later(read));
    let lens = lens(read, Between::Versions, &[Class::Metadata, Class::Status]);
    let lens = lens.ignoring(state.presentation.ignored.iter().cloned());
    (to, DiffResource { resource, from, lens })
}

/// The later moment, which has two names.
fn later(read: &mut ParameterReader<'_>) -> At {
    let (to, at) = (read.moment(TO), read.moment(AT));
    if to.is_some() && at.is_some() {
        read.refuse(AT, format!("has the same meaning as `{}`; set only one of them", TO.name));
    }
    to.or(at).unwrap_or(At::Now)
}

fn lens(read: &mut ParameterReader<'_>, between: Between, default: &[Class]) -> Lens {
    let include: Vec<Class> = read.words(INCLUDE);
    let lens = Lens::new(between, if include.is_empty() { default } else { &include });
    lens.ignoring(rules(read))
}

fn rules(read: &mut ParameterReader<'_>) -> Vec<PathRule> {
    let written = read.all(IGNORE);
    if written.len() > RULES_MAX {
        read.refuse(IGNORE, format!("is limited to {RULES_MAX} values"));
        return Vec::new();
    }
    let mut rules = Vec::new();
    for text in written {
        match text.parse() {
            Ok(rule) => rules.push(rule),
            Err(detail) => read.refuse(IGNORE, detail),
        }
    }
    rules
}
