//! Why an environment is in the state it is in: the way from its roots down to what is wrong.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::graph::forest::Forest;
use crate::graph::missing::missing;
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::resources::Held;
use crate::scope::ResolvedScope;
use crate::{environments, resources};
use serde::Serialize;
use strandline_model::{EnvironmentId, Health, Offset, attention};
use strandline_protocol::{Answer, MissingEnd, Why, WhyPath};

/// The paths from the roots of an environment that decide its health down to what is unhealthy.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainEnvironment {
    /// The environment.
    pub environment: EnvironmentId,
    /// The most paths in the answer.
    pub limit: usize,
}

impl ExplainEnvironment {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, limit: usize) -> Self {
        ExplainEnvironment { environment: environment.clone(), limit }
    }
}

impl Question for ExplainEnvironment {
    const NAME: &'static str = "environment_why";
    type Answer = Answer<Why>;

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        why(view, &moment, scope, &self.environment, self.limit)
    }
}

/// The most steps of one path that are told; what lies between them is only counted.
const STEPS_MAX: usize = 20;

/// The most missing ends told of one resource.
const MISSING_MAX: usize = 20;

/// The paths from the roots that make an environment what it is to the worst below each.
pub(crate) fn why(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
    limit: usize,
) -> Result<Answer<Why>> {
    let (number, environment) = environments::find(view, moment, scope, id)?;
    let forest = Forest::load(view, moment.offset, number)?;
    let known = environment.health.last_known.or(environment.health.state);
    let roots = culprits(&forest, known);
    let places: Vec<Vec<usize>> = roots.iter().take(limit).map(|&root| way(&forest, root)).collect();
    let numbers: Vec<i64> = places.iter().flatten().map(|&place| forest.members[place].id).collect();
    let held = resources::with_numbers(view, moment.offset, &numbers)?;
    let held: HashMap<i64, Held> = held.into_iter().map(|held| (held.id.0, held)).collect();
    let mut paths = Vec::new();
    for steps in places {
        let last = steps.last().map(|&place| forest.members[place].id);
        // What is out of a caller's sight is not missing, and whether it is there is not the caller's to know.
        let missing = match last.filter(|_| scope.is_everything()) {
            Some(number) => missing(view, moment.offset, &[number], MISSING_MAX)?,
            None => Vec::new(),
        };
        let missing = missing.into_iter().map(|(_, end)| end).collect();
        paths.push(path(&forest, &steps, &held, missing));
    }
    let value = Why { environment, roots: roots.len() as u64, paths };
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    Ok(Answer { value, metadata })
}

/// What of an environment counts and has a health, and these with what below each needs attention most: at
/// most so many, and how many roots are then left out.
pub(crate) fn sick(
    view: &Connection,
    at: Offset,
    environment: i64,
    health: Health,
    limit: usize,
) -> Result<(Vec<i64>, Vec<i64>, u64)> {
    let forest = Forest::load(view, at, environment)?;
    let roots = culprits(&forest, Some(health));
    let id = |place: usize| forest.members[place].id;
    let (mut told, mut shown) = (Vec::new(), 0);
    for &root in &roots {
        let steps = way(&forest, root);
        if !told.is_empty() && told.len() + steps.len() > limit {
            break;
        }
        told.extend(steps.into_iter().take(limit).map(id));
        shown += 1;
    }
    let left_out = (roots.len() - shown) as u64;
    Ok((roots.into_iter().map(id).collect(), told, left_out))
}

/// What makes an environment what it is, in short.
pub(crate) struct Cause {
    /// The view's number of what is worst below the worst root.
    pub(crate) resource: i64,
    /// How many members of its kind have its health, and how many there are.
    pub(crate) alike: u64,
    pub(crate) of: u64,
    /// How many roots have the environment's health.
    pub(crate) roots: u64,
}

/// What makes an environment what it is known to be; none where nothing is wrong.
pub(crate) fn cause(
    view: &Connection,
    at: Offset,
    environment: i64,
    known: Option<Health>,
) -> Result<Option<Cause>> {
    let forest = Forest::load(view, at, environment)?;
    let roots = culprits(&forest, known);
    let Some(worst) = roots.first().and_then(|&root| way(&forest, root).pop()) else { return Ok(None) };
    let worst = &forest.members[worst];
    // Kinds are numbered for each cluster, and an environment may be in several.
    let sql = r#"SELECT EXISTS (SELECT 1 FROM kind k JOIN kind o ON o.kind = k.kind AND o."group" = k."group"
        WHERE k.id = ?1 AND o.id = ?2)"#;
    let mut statement = view.prepare_cached(sql)?;
    let mut kinds = HashSet::new();
    for kind in forest.members.iter().map(|member| member.kind).collect::<HashSet<i64>>() {
        if statement.query_row([worst.kind, kind], |row| row.get(0))? {
            kinds.insert(kind);
        }
    }
    let of_kind = || forest.members.iter().filter(|member| kinds.contains(&member.kind));
    Ok(Some(Cause {
        resource: worst.id,
        alike: of_kind().filter(|member| member.health == worst.health).count() as u64,
        of: of_kind().count() as u64,
        roots: roots.len() as u64,
    }))
}

/// What counts and has the environment's health, those first below which something needs attention most; none where
/// nothing is wrong. What counts though it has an owner is left out where the way from its root leads to it anyway.
fn culprits(forest: &Forest, known: Option<Health>) -> Vec<usize> {
    let Some(wrong) = known.filter(|known| *known > Health::Suspended) else { return Vec::new() };
    let counts = |place: usize| {
        let member = &forest.members[place];
        member.counted && member.health == Some(wrong)
    };
    let (mut culprits, owned): (Vec<usize>, Vec<usize>) = (0..forest.members.len())
        .filter(|&place| counts(place))
        .partition(|&place| forest.members[place].owner.is_none());
    let mut ways: HashMap<usize, Vec<usize>> = HashMap::new();
    for place in owned {
        let root = forest.above(place)[0];
        let told = counts(root) && ways.entry(root).or_insert_with(|| descend(forest, root)).contains(&place);
        if !told {
            culprits.push(place);
        }
    }
    forest.sort(&mut culprits);
    culprits
}

/// From the root above a place down to it, and on to what is worst below.
fn way(forest: &Forest, place: usize) -> Vec<usize> {
    let mut steps = forest.above(place);
    steps.pop();
    steps.extend(descend(forest, place));
    steps
}

/// From a root down, each time to the child below which something needs attention most, as long as something does.
fn descend(forest: &Forest, root: usize) -> Vec<usize> {
    let mut steps = vec![root];
    let mut here = root;
    loop {
        let worst =
            forest.children(here).iter().min_by_key(|&&child| (attention(forest.worst[child]), child));
        match worst {
            Some(&child) if forest.worst[child] > Some(Health::Suspended) => {
                steps.push(child);
                here = child;
            }
            _ => return steps,
        }
    }
}

fn path(forest: &Forest, steps: &[usize], held: &HashMap<i64, Held>, missing: Vec<MissingEnd>) -> WhyPath {
    // Of a chain that is too long to be read, both ends tell most.
    let (first, last) = if steps.len() > STEPS_MAX {
        let half = STEPS_MAX / 2;
        (&steps[..half], &steps[steps.len() - half..])
    } else {
        (steps, &[][..])
    };
    let resource = |place: &usize| held.get(&forest.members[*place].id).map(|held| held.resource.clone());
    let told: Vec<_> = first.iter().chain(last).filter_map(resource).collect();
    let skipped = (steps.len() - first.len() - last.len()) as u64;
    WhyPath { steps: told, skipped, missing }
}
