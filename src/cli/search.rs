//! `strandline search`: everything that has a name, by a part of it.

use super::answers::{is_filled, listing, parameters, print_answer, reference, typed};
use super::args::{OutputFormat, SearchArgs};
use super::client::Client;
use super::error::CliError;
use super::line;
use super::output::write;
use super::query::Add;
use super::stderr::note;
use super::table::Cell;
use super::views::Listed;
use crate::format::{age, deployment_time, revision};
use strandline_model::{At, Timestamp};
use strandline_protocol::{Answer, Hit, Hits, SearchMatch, SearchResults};

/// Searches, and prints what was found.
pub(super) async fn search(args: &SearchArgs) -> Result<(), CliError> {
    let text = args.words.join(" ");
    let what = format!("searching for {text}");
    let query = parameters(&args.server)
        .add_of("WORD", "q", &[text])
        .add_of("--type", "type", &args.r#type)
        .add_of("--limit", "limit", args.limit.as_slice());
    let value = Client::reading(&args.server)?.get(&what, "/api/v1/search", &query).await?;
    let found = value.as_object().is_some_and(|types| types.values().any(|hits| is_filled(&hits["items"])));
    print_answer(&what, &args.output, value, found, async |value| {
        let answer: Answer<SearchResults> = typed(&what, value)?;
        let now = reference(&args.server, &answer.metadata);
        if args.server.at.is_some_and(|at| at != At::Now) && args.output.output != OutputFormat::Name {
            note!("as of {}", line::moment(&answer.metadata));
        }
        let Found { rows, cut } = Found::of(&answer.value, now);
        if rows.is_empty() {
            note!("No matches found.");
            return Ok(());
        }
        write(&listing(&rows, &args.output, now))?;
        if !cut.is_empty() {
            note!("More {} match; --type with --limit shows up to 100 of a type", cut.join(", "));
        }
        Ok(())
    })
    .await
}

/// What was found, as rows.
#[derive(Default)]
struct Found {
    rows: Vec<Ranked>,
    /// Of what there is more.
    cut: Vec<&'static str>,
}

/// One of all that was found.
struct Row {
    of: &'static str,
    name: String,
    state: Cell,
    place: String,
    /// As `-o name` prints it.
    address: String,
}

/// A row with how near its name is.
struct Ranked(Row, SearchMatch);

impl Found {
    fn of(results: &SearchResults, now: Timestamp) -> Self {
        let mut found = Found::default();
        found.add("environments", results.environments.as_ref(), |one| Row {
            of: "environment",
            name: one.id.to_string(),
            state: Cell::Health(one.health.state),
            place: [one.tier.as_str(), &one.region].join(" ").trim().to_owned(),
            address: one.name(),
        });
        found.add("projects", results.projects.as_ref(), |one| Row {
            of: "project",
            name: one.id.clone(),
            state: Cell::text(""),
            place: String::new(),
            address: format!("project/{}", one.id),
        });
        found.add("clusters", results.clusters.as_ref(), |one| Row {
            of: "cluster",
            name: one.id.clone(),
            state: Cell::text(""),
            place: one.region.clone(),
            address: format!("cluster/{}", one.id),
        });
        found.add("resources", results.resources.as_ref(), |one| {
            let (resource, gone) = (&one.resource, one.gone.as_ref());
            let went = gone.map(|gone| gone.at.map(|at| format!("deleted {} ago", age(at, now))));
            Row {
                of: "resource",
                name: resource.key.kind_and_name(),
                state: match went {
                    Some(went) => Cell::text(went.unwrap_or_else(|| "deleted".to_owned())),
                    None => Cell::Health(resource.health),
                },
                place: [&resource.key.cluster, &resource.key.namespace]
                    .map(String::as_str)
                    .join(" ")
                    .trim()
                    .to_owned(),
                address: resource.name(),
            }
        });
        found.add("images", results.images.as_ref(), |one| Row {
            of: "image",
            name: one.short.clone(),
            state: Cell::text(if one.in_use { "in use" } else { "not in use" }),
            place: String::new(),
            address: format!("image/{}", one.id),
        });
        found.add("deployments", results.deployments.as_ref(), |one| {
            let spec = &one.spec;
            let by = if spec.user.is_empty() { String::new() } else { format!("by {}", spec.user) };
            let name = [format!("#{}", spec.id), revision(spec), by];
            Row {
                of: "deployment",
                name: name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
                state: Cell::text(format!("{} {} ago", spec.status, age(deployment_time(one), now))),
                place: spec.environment.to_string(),
                address: one.name(),
            }
        });
        found
    }

    fn add<T>(&mut self, of: &'static str, hits: Option<&Hits<T>>, row: impl Fn(&T) -> Row) {
        let Some(Hits { items, more }) = hits else { return };
        self.rows.extend(items.iter().map(|Hit { nearness, item }| Ranked(row(item), *nearness)));
        self.cut.extend(more.then_some(of));
    }
}

impl Listed for Ranked {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["TYPE", "NAME", "STATE", "WHERE"], &["MATCH", "ADDRESS"]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        let Ranked(row, nearness) = self;
        vec![
            Cell::text(row.of),
            Cell::text(&row.name),
            row.state.clone(),
            Cell::text(&row.place),
            Cell::text(nearness.as_str()),
            Cell::text(&row.address),
        ]
    }

    fn name(&self) -> String {
        self.0.address.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::Paint;
    use super::super::views::table;
    use super::*;
    use crate::format::tests::NOON;
    use strandline_protocol::{FoundCluster, FoundImage, FoundProject};

    #[test]
    fn what_was_found_is_one_table() {
        let hits = |item, more| Some(Hits { items: vec![Hit { nearness: SearchMatch::Word, item }], more });
        let image = FoundImage { id: "docker.io/library/web:1".into(), short: "web:1".into(), in_use: false };
        let results = SearchResults {
            query: "web".into(),
            projects: Some(Hits {
                items: vec![Hit {
                    nearness: SearchMatch::Exact,
                    item: FoundProject { id: "shop/web".into() },
                }],
                more: false,
            }),
            clusters: Some(Hits {
                items: vec![Hit {
                    nearness: SearchMatch::Prefix,
                    item: FoundCluster { id: "web-1\u{1b}".into(), region: "eu".into() },
                }],
                more: true,
            }),
            images: hits(image, true),
            ..SearchResults::default()
        };
        let Found { rows, cut } = Found::of(&results, NOON);
        assert_eq!(cut, ["clusters", "images"]);
        assert_eq!(
            table(&rows, true, NOON).render(Paint(false), true),
            "\
TYPE      NAME          STATE        WHERE    MATCH    ADDRESS
project   shop/web      <none>       <none>   exact    project/shop/web
cluster   web-1\\u{1b}   <none>       eu       prefix   cluster/web-1\\u{1b}
image     web:1         not in use   <none>   word     image/docker.io/library/web:1
"
        );
    }
}
