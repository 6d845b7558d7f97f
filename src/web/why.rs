//! Why an environment is in the state it is in, as paths of links.

use super::prose::Prose;
use super::shell::{Badge, Shell};
use super::tree::resource_href;
use crate::format::{Places, grouped, missing_end, preface, visible};
use strandline_protocol::{Environment, Resource, Why, WhyPath};

/// Paths that a page shows.
pub(super) const PATHS: usize = 5;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) place: Option<String>,
    pub(super) href: String,
    pub(super) badge: Badge,
    /// One word on why; empty for the last step, of which more is said.
    pub(super) reason: String,
    /// Steps left out before it, in words; empty for none.
    pub(super) skipped: String,
}

/// The way from a resource without an owner down to what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The class of what is wrong.
    pub(super) class: &'static str,
    pub(super) steps: Vec<Step>,
    /// What the last step says of itself.
    pub(super) reason: String,
    pub(super) message: String,
    /// What the last step lacks.
    pub(super) missing: Vec<String>,
}

/// What is said of why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) preface: Option<Prose>,
    pub(super) paths: Vec<Path>,
    /// Paths that are not shown, in words; empty for none.
    pub(super) further: String,
}

/// Whether there is something to explain about an environment.
pub(super) fn is_due(environment: &Environment) -> bool {
    environment.health.state.is_some_and(strandline_model::Health::needs_attention)
}

impl Section {
    /// What a page says; `blind` where not everything was being watched.
    pub(super) fn new(shell: &Shell, why: &Why, blind: bool) -> Self {
        let health = &why.environment.health;
        let places = Places::of_why(why);
        let further = why.roots.saturating_sub(why.paths.len() as u64);
        Section {
            heading: health.state.map_or_else(String::new, |state| format!("Why {state}")),
            preface: preface(why, blind).map(|words| Prose::new(&words)),
            paths: why.paths.iter().map(|one| path(shell, one, places)).collect(),
            further: if further > 0 { format!("{} more", grouped(further)) } else { String::new() },
        }
    }
}

fn path(shell: &Shell, path: &WhyPath, places: Places) -> Path {
    let shown = |text: &str| visible(text).into_owned();
    // What was left out lies in the middle.
    let cut = if path.skipped > 0 { path.steps.len() / 2 } else { usize::MAX };
    let step = |(number, resource): (usize, &Resource)| {
        let above = number.checked_sub(1).and_then(|above| path.steps.get(above)).map(|above| &above.key);
        Step {
            kind: shown(&resource.key.kind.kind),
            name: shown(&resource.key.name),
            place: places.say(&resource.key, above).map(|place| shown(&place)),
            href: resource_href(shell, &resource.id, &resource.key.cluster),
            badge: Badge::new(resource.health),
            reason: if number + 1 < path.steps.len() { shown(&resource.reason) } else { String::new() },
            skipped: if number == cut { steps(path.skipped) } else { String::new() },
        }
    };
    let last = path.steps.last();
    Path {
        class: Badge::new(path.steps.first().and_then(|first| first.health)).class,
        steps: path.steps.iter().enumerate().map(step).collect(),
        reason: last.map(|last| shown(&last.reason)).unwrap_or_default(),
        message: last.map(|last| shown(&last.message)).unwrap_or_default(),
        missing: path.missing.iter().map(|end| shown(&missing_end(end))).collect(),
    }
}

fn steps(number: u64) -> String {
    format!("… {} steps not shown", grouped(number))
}
