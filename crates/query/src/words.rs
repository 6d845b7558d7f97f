//! The words of a question that fit nothing: why an answer is empty or lacks something, and what may have been meant.
//!
//! A word is held against what the caller sees at the moment of the question and nothing else, so that what is not there and
//! what is not for the caller look the same.

use std::collections::BTreeSet;

use rusqlite::{Connection, named_params};

use crate::error::{QueryError, Result};
use crate::filters::{DeploymentFilter, ImageFilter};
use crate::moment::Moment;
use crate::scope::{ResolvedScope, looked_at, seen_audiences};
use crate::{agents, groups, image_names};
use strandline_model::{EnvironmentFilter, GroupPath, Kind, KindName, Labels, Target};
use strandline_protocol::UnknownWord;
use strandline_sqlite::column::{Json, VIEW};
use strandline_syntax::diagnostics::closest;
use strandline_syntax::{Condition, Glob, Image, Requirement, familiar};

/// What a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Agent,
    Cluster,
    Environment,
    EnvironmentName,
    Group,
    Image,
    Kind,
    Label,
    Namespace,
    Project,
    Region,
}

impl Of {
    /// What people call it.
    const fn noun(self) -> &'static str {
        match self {
            Of::Agent => "agent",
            Of::Cluster => "cluster",
            Of::Environment | Of::EnvironmentName => "environment",
            Of::Group => "group",
            Of::Image => "image",
            Of::Kind => "kind",
            Of::Label => "label",
            Of::Namespace => "namespace",
            Of::Project => "project",
            Of::Region => "region",
        }
    }
}

/// A word of a question, and what it fits.
struct Word<'a> {
    parameter: &'static str,
    of: Of,
    text: String,
    /// Whether it stands for any number of names.
    is_pattern: bool,
    fits: Box<dyn Fn(&str) -> bool + 'a>,
}

/// The words of a question.
#[derive(Default)]
pub(super) struct Words<'a>(Vec<Word<'a>>);

impl<'a> Words<'a> {
    /// Those of a filter of environments.
    pub(super) fn of_environments(filter: &'a EnvironmentFilter) -> Self {
        Words::default()
            .names("region", Of::Region, &filter.regions)
            .names("cluster", Of::Cluster, &filter.clusters)
            .texts("agent", Of::Agent, filter.agents.iter().map(ToString::to_string))
            .globs("project", Of::Project, &filter.projects)
            .groups(&filter.groups)
            .globs("name", Of::EnvironmentName, &filter.names)
            .labels(filter.labels.requirements())
    }

    /// Those of a filter of deployments.
    pub(super) fn of_deployments(filter: &'a DeploymentFilter) -> Self {
        Words::of_environments(&filter.environments).globs("project", Of::Project, &filter.projects)
    }

    /// Those of a filter of images.
    pub(super) fn of_images(filter: &'a ImageFilter) -> Self {
        let images = filter.images.iter().fold(Words::default(), |words, pattern| {
            let fits = |known: &str| Image::parse(known).is_some_and(|image| pattern.matches(&image));
            words.word("image", Of::Image, pattern.to_string(), fits)
        });
        images.names("region", Of::Region, &filter.regions)
    }

    fn word(
        mut self,
        parameter: &'static str,
        of: Of,
        text: String,
        fits: impl Fn(&str) -> bool + 'a,
    ) -> Self {
        self.0.push(Word { parameter, of, text, is_pattern: false, fits: Box::new(fits) });
        self
    }

    fn texts(self, parameter: &'static str, of: Of, texts: impl Iterator<Item = String>) -> Self {
        texts.fold(self, |words, text| words.word(parameter, of, text.clone(), move |known| known == text))
    }

    /// Names as they are.
    pub(super) fn names(
        self,
        parameter: &'static str,
        of: Of,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        self.texts(parameter, of, names.into_iter().cloned())
    }

    /// A kind by whatever name clusters have for it, with the kinds that any of them serves under that name.
    pub(super) fn kind_name(self, kind: &'a KindName, served: Vec<Kind>) -> Self {
        let fits = move |known: &str| {
            let (bare, group) = known.split_once('.').unwrap_or((known, ""));
            let known = Kind::new(group, bare);
            kind.means(&known) || served.contains(&known)
        };
        self.word("kind", Of::Kind, kind.to_string(), fits)
    }

    fn globs(self, parameter: &'static str, of: Of, globs: &'a [Glob]) -> Self {
        globs.iter().fold(self, |words, glob| {
            let fits = move |known: &str| {
                if of == Of::Project { glob.matches_path(known) } else { glob.matches(known) }
            };
            let mut words = words.word(parameter, of, glob.as_str().to_owned(), fits);
            if let Some(word) = words.0.last_mut() {
                word.is_pattern = glob.is_wild();
            }
            words
        })
    }

    fn groups(self, groups: &'a [GroupPath]) -> Self {
        groups.iter().fold(self, |words, group| {
            let path = group.folded();
            words.word("group", Of::Group, group.to_string(), move |known| known.to_lowercase() == path)
        })
    }

    /// Labels that have to be there; that one is not there, nobody need know.
    fn labels(self, requirements: impl Iterator<Item = &'a Requirement>) -> Self {
        requirements.fold(self, |words, Requirement { name, condition }| match condition {
            Condition::Exists => words
                .word("labels", Of::Label, name.clone(), move |known| known.split('=').next() == Some(name)),
            Condition::In(values) => {
                let text = values.iter().map(|value| format!("{name}={value}")).collect::<Vec<_>>().join(",");
                let fits = move |known: &str| {
                    known.split_once('=').is_some_and(|(key, value)| key == name && values.contains(value))
                };
                words.word("labels", Of::Label, text, fits)
            }
            Condition::NotIn(_) | Condition::Absent => words,
        })
    }

    /// The words that can fit nothing where something was found or not: with one that does not, nothing is, unless others
    /// of the same parameter stand beside it.
    fn in_doubt(self, found: bool) -> impl Iterator<Item = Word<'a>> {
        let parameters: Vec<_> = self.0.iter().map(|word| word.parameter).collect();
        // All labels have to be there.
        let several = move |word: &Word<'_>| {
            word.of != Of::Label
                && parameters.iter().filter(|parameter| **parameter == word.parameter).count() > 1
        };
        self.0.into_iter().filter(move |word| !found || several(word))
    }

    /// The words that fit nothing, of an answer in which something was found or nothing.
    pub(super) fn unknown(
        self,
        view: &Connection,
        moment: &Moment,
        scope: &ResolvedScope,
        found: bool,
    ) -> Result<Vec<UnknownWord>> {
        let (mut unknown, mut looked_up): (_, Vec<(Of, BTreeSet<String>)>) = (Vec::new(), Vec::new());
        for Word { parameter, of, text, is_pattern, fits } in self.in_doubt(found) {
            if !looked_up.iter().any(|(one, _)| *one == of) {
                looked_up.push((of, known(view, moment, scope, of)?));
            }
            let Some((_, known)) = looked_up.iter().find(|(one, _)| *one == of) else { continue };
            if !known.iter().any(|name| fits(name)) {
                let suggestion = match of {
                    Of::Image => near_image(&text, known),
                    _ => near(&text, known),
                };
                let message = told(of, &text, is_pattern, suggestion.as_deref());
                let (code, parameter) = (UnknownWord::CODE.to_owned(), parameter.to_owned());
                unknown.push(UnknownWord { code, parameter, value: text, suggestion, message });
            }
        }
        Ok(unknown)
    }
}

fn told(of: Of, text: &str, is_pattern: bool, suggestion: Option<&str>) -> String {
    let noun = of.noun();
    let none = match (of, is_pattern) {
        (_, true) => format!("no {noun} matches `{text}`"),
        (Of::EnvironmentName, _) => format!("no {noun} is named `{text}`"),
        _ => format!("no {noun} `{text}`"),
    };
    suggestion.map_or_else(|| none.clone(), |near| format!("{none}; did you mean `{near}`?"))
}

/// What of the names a word may have been meant to be.
fn near(text: &str, known: &BTreeSet<String>) -> Option<String> {
    let bare = text.trim_end_matches(['*', '/']);
    let rest = &text[bare.len()..];
    if !rest.is_empty() {
        // What a pattern begins with is rather what is above than what is in it.
        let above = known.iter().flat_map(|name| name.match_indices('/').map(|(end, _)| &name[..end]));
        let above: Vec<&str> = above.collect();
        if let Some(near) = closest(bare, &above) {
            return Some(format!("{near}{rest}"));
        }
    }
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let found = closest(bare, &names).or_else(|| {
        // What is written in full elsewhere, such as the project of an environment or the group of a kind.
        let part = |name: &&&str| name.split(['/', '.']).any(|part| part.eq_ignore_ascii_case(bare));
        names.iter().find(part).copied()
    });
    found.map(str::to_owned)
}

/// The same of images: by their names without what goes without saying, with a tag or without, or by the last part alone.
fn near_image(text: &str, known: &BTreeSet<String>) -> Option<String> {
    let images: Vec<Image> = known.iter().filter_map(|name| Image::parse(name)).collect();
    let repositories: BTreeSet<&str> = images.iter().map(|image| familiar(&image.repository)).collect();
    let tagged = images.iter().filter(|image| !image.tag.is_empty());
    let mut names: BTreeSet<String> =
        tagged.map(|image| format!("{}:{}", familiar(&image.repository), image.tag)).collect();
    names.extend(repositories.iter().map(|repository| (*repository).to_owned()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    closest(text, &names).map(str::to_owned).or_else(|| {
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let (name, _) = text.split_once([':', '@']).unwrap_or((text, ""));
        let parts: BTreeSet<String> = repositories.iter().map(|repository| last(repository)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = last(name);
        let part = parts.iter().copied().find(|part| *part == name).or_else(|| closest(&name, &parts));
        part.map(|part| format!("**/{part}"))
    })
}

/// With the name that may have been meant, where something is not there.
pub(super) fn suggested(
    error: QueryError,
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
) -> QueryError {
    let QueryError::NotFound { what, id, gone: None, moment: asked, near: None } = error else {
        return error;
    };
    let of = match what {
        "environment" => Some(Of::Environment),
        "project" => Some(Of::Project),
        "agent" => Some(Of::Agent),
        _ => None,
    };
    match of.map(|of| known(view, moment, scope, of)).transpose() {
        Ok(known) => {
            let near = known.and_then(|known| near(&id, &known));
            QueryError::NotFound { what, id, gone: None, moment: asked, near }
        }
        Err(error) => error,
    }
}

/// All names that the caller sees at the moment.
pub(super) fn known(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    of: Of,
) -> Result<BTreeSet<String>> {
    Ok(match of {
        Of::Project => groups::paths(view, moment, scope)?,
        Of::Group => {
            let paths = groups::paths(view, moment, scope)?;
            let above = |path: &String| {
                path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>()
            };
            paths.iter().flat_map(above).collect()
        }
        Of::Image => image_names::all(view, moment, scope)?,
        Of::Kind => looked_at_by(view, moment, scope, KINDS)?,
        Of::Cluster => {
            let mut clusters = clusters_looked_at(view, moment, scope)?;
            clusters.extend(of_environments(view, moment, scope, of)?);
            clusters
        }
        Of::Agent => {
            let mut agents = agents::ids(view, moment, scope)?;
            agents.extend(of_environments(view, moment, scope, of)?);
            agents
        }
        Of::Namespace => {
            let mut namespaces = of_environments(view, moment, scope, of)?;
            if scope.is_everything() {
                namespaces.extend(looked_at_by(view, moment, scope, NAMESPACES)?);
            }
            namespaces
        }
        Of::Environment | Of::EnvironmentName | Of::Label | Of::Region => {
            of_environments(view, moment, scope, of)?
        }
    })
}

const KINDS: &str = concat!(
    r#"SELECT DISTINCT k.kind || CASE k."group" WHEN '' THEN '' ELSE '.' || k."group" END
    FROM coverage g JOIN kind k ON k.id = g.kind_id JOIN cluster c ON c.id = g.cluster_id
    WHERE k.kind <> '' AND g.from_offset <= :at AND g.to_offset > :at AND "#,
    looked_at!(namespace)
);

const CLUSTERS: &str = concat!(
    "SELECT c.name FROM cluster c JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at
    WHERE ",
    looked_at!(cluster)
);

/// Namespaces that there are or were, whose names nobody keeps from who sees everything.
const NAMESPACES: &str = r#"SELECT r.name FROM kind k JOIN resource r ON r.kind_id = k.id
    WHERE k."group" = '' AND k.kind = 'Namespace' AND :at >= 0 AND :scope IS NULL"#;

/// Clusters that are declared and in which the caller may see something.
pub(super) fn clusters_looked_at(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
) -> Result<BTreeSet<String>> {
    looked_at_by(view, moment, scope, CLUSTERS)
}

fn looked_at_by(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    sql: &str,
) -> Result<BTreeSet<String>> {
    let at = moment.offset;
    let params = named_params! { ":at": at.as_i64(), ":scope": scope.with_places(view, at)? };
    let mut statement = view.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What the environments in sight are called, and name.
fn of_environments(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    of: Of,
) -> Result<BTreeSet<String>> {
    let sql = concat!(
        "SELECT e.name_id, e.name, e.region, e.targets, e.labels FROM ",
        seen_audiences!(),
        " seen CROSS JOIN environment_audience a INDEXED BY environment_audience_by_audience ON a.audience = seen.id
            AND a.from_offset <= :at AND a.to_offset > :at
        CROSS JOIN environment e ON e.id = a.environment_id AND e.from_offset =
            (SELECT max(from_offset) FROM environment WHERE id = a.environment_id AND from_offset <= :at)"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql() };
    let (mut rows, mut names) = (statement.query(params)?, BTreeSet::new());
    while let Some(row) = rows.next()? {
        match of {
            Of::Environment => names.extend([row.get::<_, String>(0)?]),
            Of::EnvironmentName => names.extend([row.get::<_, String>(1)?]),
            Of::Region => names.extend([row.get::<_, String>(2)?]),
            Of::Label => {
                let labels: Labels = VIEW.get_at::<Json<_>>(row, 4, "environment.labels")?.0;
                names.extend(labels.into_iter().map(|(name, value)| format!("{name}={value}")));
            }
            _ => {
                let targets: Vec<Target> = VIEW.get_at::<Json<_>>(row, 3, "environment.targets")?.0;
                let name = |target: Target| match of {
                    Of::Cluster => Some(target.cluster),
                    Of::Namespace => Some(target.namespace),
                    _ => target.agent.map(|agent| agent.to_string()),
                };
                names.extend(targets.into_iter().filter_map(name));
            }
        }
    }
    names.remove("");
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_meant_is_near() {
        let known =
            ["payments/api", "payments/ledger", "shop/web", "Deployment.apps", "us"].map(str::to_owned);
        let known = known.into_iter().collect();
        let cases = [
            ("paymens/**", Some("payments/**")),
            ("shop/wev*", Some("shop/web")),
            ("payment/ledger", Some("payments/ledger")),
            ("uss", Some("us")),
            ("web", Some("shop/web")),
            ("deployment", Some("Deployment.apps")),
            ("something else", None),
        ];
        for (text, expected) in cases {
            assert_eq!(near(text, &known).as_deref(), expected, "{text}");
        }
        let images = ["docker.io/library/nginx:1.27@sha256:9f8e", "registry.example.com/shop/web:2.1"];
        let images = images.map(str::to_owned).into_iter().collect();
        let cases = [
            ("ngnix", Some("nginx")),
            ("nginx:1.28", Some("nginx:1.27")),
            ("web", Some("**/web")),
            ("shop/wbe:3", Some("**/web")),
            ("**/web:9*", Some("**/web")),
            ("postgres", None),
        ];
        for (text, expected) in cases {
            assert_eq!(near_image(text, &images).as_deref(), expected, "{text}");
        }
        assert_eq!(told(Of::Region, "uss", false, Some("us")), "no region `uss`; did you mean `us`?");
        assert_eq!(told(Of::Project, "x/*", true, None), "no project matches `x/*`");
    }
}
