//! What an overview shows of the environments of one page.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, named_params};

use crate::environments::{self, Found};
use crate::error::Result;
use crate::graph::{self, Cause};
use crate::moment::Moment;
use crate::overview::fold::Chosen;
use crate::overview::last_change;
use crate::scope::ResolvedScope;
use crate::series::{self, HealthSeries};
use crate::spans::Span;
use crate::{resources, stretch::holds};
use strandline_log::LogReader;
use strandline_model::Health;
use strandline_protocol::{
    Deployment, EnvironmentAccess, EnvironmentCause, EnvironmentSummary, EnvironmentVersion, StripPart,
};
use strandline_sqlite::column::{Json, VIEW};

/// The most tags that a version names.
const TAGS_MAX: usize = 3;

/// The most images of an environment that are looked at.
const IMAGES_MAX: i64 = 200;

/// What is shown of these environments, in their order.
pub(super) fn summaries(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    span: Span,
    chosen: Vec<Chosen>,
) -> Result<Vec<EnvironmentSummary>> {
    let numbers: Vec<i64> = chosen.iter().map(|one| one.number).collect();
    let found = environments::with_numbers(view, moment, scope, &numbers)?;
    let mut found: HashMap<i64, Found> = found.into_iter().map(|one| (one.number, one)).collect();
    let compacted = log.compacted()?.offset;
    let (mut items, mut causes) = (Vec::new(), Vec::new());
    let mut budget = EnvironmentSummary::CAUSES;
    for Chosen { number, keys } in chosen {
        let Some(Found { environment, .. }) = found.remove(&number) else { continue };
        let readable = environment.access == EnvironmentAccess::Granted;
        let (mut version, mut last_change, mut strip, mut cause) = (None, None, Vec::new(), None);
        if readable {
            last_change = last_change::last_change(view, moment, scope, compacted, number)?;
            version = self::version(view, moment, number, &environment.project)?;
            let series = series::series_of_environment(view, log, moment, scope, number, span)?;
            strip = parts(&series, span);
            let held = environment.health.counts.total();
            if let Some(left) = budget.checked_sub(held) {
                let known = environment.health.last_known.or(environment.health.state);
                cause = match known.filter(|known| *known > Health::Suspended) {
                    Some(_) => graph::cause(view, moment.offset, number, known)?,
                    None => None,
                };
                budget = if cause.is_some() { left } else { budget };
            }
        }
        causes.push(cause);
        let clusters: BTreeSet<String> =
            environment.targets.into_iter().map(|target| target.cluster).collect();
        items.push(EnvironmentSummary {
            id: environment.id,
            project: environment.project,
            name: environment.name,
            tier: environment.tier,
            region: environment.region,
            clusters: clusters.into_iter().collect(),
            keys,
            access: environment.access,
            health: environment.health.state,
            last_known: environment.health.last_known,
            since: environment.health.since,
            resources: environment.health.counts,
            version,
            last_deployment: newest_deployment(view, moment, number)?,
            last_change,
            cause: None,
            strip,
        });
    }
    name_causes(view, moment, &mut items, &causes)?;
    Ok(items)
}

/// Says what the resources are that are the causes.
fn name_causes(
    view: &Connection,
    moment: &Moment,
    items: &mut [EnvironmentSummary],
    causes: &[Option<Cause>],
) -> Result<()> {
    let numbers: Vec<i64> = causes.iter().flatten().map(|cause| cause.resource).collect();
    let held = resources::with_numbers(view, moment.offset, &numbers)?;
    let held: HashMap<i64, _> = held.into_iter().map(|held| (held.id.0, held.resource)).collect();
    for (item, cause) in items.iter_mut().zip(causes) {
        let Some(cause) = cause else { continue };
        item.cause = held.get(&cause.resource).map(|resource| EnvironmentCause {
            id: resource.id.clone(),
            key: resource.key.clone(),
            health: resource.health,
            reason: resource.reason.clone(),
            message: resource.message.clone(),
            since: resource.health_since,
            alike: cause.alike,
            of: cause.of,
            roots: cause.roots,
        });
    }
    Ok(())
}

/// The health over a span, from what holds at its beginning on; the newest parts where there are too many.
fn parts(series: &HealthSeries, span: Span) -> Vec<StripPart> {
    let begun = series.marks.partition_point(|mark| mark.time <= span.since).saturating_sub(1);
    let first = begun.max(series.marks.len().saturating_sub(EnvironmentSummary::STRIP));
    let marks = series.marks.get(first..).unwrap_or_default();
    marks.iter().map(|mark| StripPart { from: mark.time, health: mark.health }).collect()
}

/// The newest deployment to an environment, however it ended.
fn newest_deployment(view: &Connection, moment: &Moment, environment: i64) -> Result<Option<Deployment>> {
    let sql = "SELECT d.spec, d.observed_at FROM deployment d INDEXED BY deployment_by_environment
        WHERE d.environment_id = :environment AND d.from_offset <= :at AND d.to_offset > :at
        ORDER BY d.id DESC LIMIT 1";
    let params = named_params! { ":environment": environment, ":at": moment.offset.as_i64() };
    let found = view.prepare_cached(sql)?.query_row(params, |row| {
        let Json(spec) = VIEW.get(row, "deployment.spec")?;
        Ok(Deployment { spec, observed_at: row.get("observed_at")? })
    });
    Ok(found.optional()?)
}

/// The images that roots of an environment are to run or, where these name none, all that it holds: a resource of an
/// operator may own the workloads.
macro_rules! select_images {
    ($which:literal) => {
        concat!(
            "SELECT i.repository, i.tag, i.digest, count(*) FROM membership m
                CROSS JOIN image_use u INDEXED BY image_use_by_resource
                    ON u.resource_id = m.resource_id AND u.to_offset > :at AND u.from_offset <= :at
                JOIN image i ON i.id = u.image_id
            WHERE m.environment_id = :environment AND ",
            holds!("membership" m, environment_id = ":environment"),
            $which,
            " GROUP BY i.repository, i.tag, i.digest ORDER BY 4 DESC, 1, 2, 3 LIMIT :limit"
        )
    };
}

/// The version of an environment; none where it runs nothing.
fn version(
    view: &Connection,
    moment: &Moment,
    environment: i64,
    project: &str,
) -> Result<Option<EnvironmentVersion>> {
    for sql in [select_images!(" AND m.owner_id IS NULL"), select_images!("")] {
        let mut statement = view.prepare_cached(sql)?;
        let params = named_params! {
            ":environment": environment, ":at": moment.offset.as_i64(), ":limit": IMAGES_MAX,
        };
        let rows = statement.query_map(params, |row| {
            let (tag, digest): (String, String) = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, if tag.is_empty() { digest } else { tag }, row.get(3)?))
        })?;
        let uses = rows.collect::<rusqlite::Result<Vec<Use>>>()?;
        if !uses.is_empty() {
            return Ok(main_image(&uses, project));
        }
    }
    Ok(None)
}

/// An image as repository and tag, and how many workloads name it.
type Use = (String, String, i64);

/// The tags of the repository that is named like the project or else of the one that most workloads name.
fn main_image(uses: &[Use], project: &str) -> Option<EnvironmentVersion> {
    let mut repositories: BTreeMap<&str, i64> = BTreeMap::new();
    for (repository, _, workloads) in uses {
        *repositories.entry(repository).or_default() += workloads;
    }
    let (main, _) = repositories
        .iter()
        .max_by_key(|(name, workloads)| (likeness(name, project), **workloads, std::cmp::Reverse(**name)))?;
    let mut tags: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, tag, workloads) in uses.iter().filter(|(repository, ..)| repository == main) {
        *tags.entry(tag).or_default() += workloads;
    }
    let mut tags: Vec<_> = tags.into_iter().collect();
    tags.sort_by_key(|(tag, workloads)| (std::cmp::Reverse(*workloads), *tag));
    Some(EnvironmentVersion {
        repository: (*main).to_owned(),
        tags: tags.into_iter().take(TAGS_MAX).map(|(tag, _)| tag.to_owned()).collect(),
        others: repositories.len() as u64 - 1,
    })
}

/// How much the path of a repository is like that of a project: GitLab's registry has the images of a project below its
/// path, and many name an image like the project.
fn likeness(repository: &str, project: &str) -> u8 {
    let (repository, project) = (format!("{}/", repository.to_lowercase()), project.to_lowercase());
    let named = project.rsplit('/').next().unwrap_or_default();
    if repository.ends_with(&format!("/{project}/")) {
        3
    } else if repository.contains(&format!("/{project}/")) {
        2
    } else {
        u8::from(repository.ends_with(&format!("/{named}/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main(uses: &[(&str, &str, i64)]) -> Option<(String, Vec<String>, u64)> {
        let uses: Vec<Use> =
            uses.iter().map(|(name, tag, count)| ((*name).into(), (*tag).into(), *count)).collect();
        main_image(&uses, "Shop/web").map(|version| (version.repository, version.tags, version.others))
    }

    fn expected(name: &str, tags: &[&str], others: u64) -> Option<(String, Vec<String>, u64)> {
        Some((name.into(), tags.iter().map(|tag| (*tag).to_owned()).collect(), others))
    }

    #[test]
    fn the_image_named_like_the_project_is_the_main_one() {
        assert_eq!(main(&[]), None);
        assert_eq!(
            main(&[("docker.io/library/redis", "7", 9), ("docker.io/library/nginx", "1", 2)]),
            expected("docker.io/library/redis", &["7"], 1)
        );
        assert_eq!(
            main(&[("docker.io/envoy", "7", 9), ("r.example.com/web", "2", 1)]),
            expected("r.example.com/web", &["2"], 1)
        );
        assert_eq!(
            main(&[("r.example.com/x/web", "7", 9), ("r.example.com/shop/web/api", "2", 1)]),
            expected("r.example.com/shop/web/api", &["2"], 1)
        );
        assert_eq!(
            main(&[("r.example.com/shop/web/api", "7", 9), ("r.example.com/shop/web", "2", 1)]),
            expected("r.example.com/shop/web", &["2"], 1)
        );
        assert_eq!(main(&[("r.example.com/webbing", "1", 1)]), expected("r.example.com/webbing", &["1"], 0));
    }

    #[test]
    fn of_several_tags_that_of_most_workloads_comes_first() {
        let name = "r.example.com/shop/web";
        assert_eq!(
            main(&[(name, "d", 1), (name, "a", 1), (name, "c", 3), (name, "b", 2)]),
            expected(name, &["c", "b", "a"], 0)
        );
    }
}
