//! What is asked of the kept log: of every route that the contract names several questions at each moment, by several callers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Kept;
use super::parameters::{GRAPHQL, RARER, needed};
use crate::server::{Result, items};
use strandline_syntax::percent_encode;

/// Where questions are added.
pub(super) const FILE: &str = "tests/it/kept_log/parameters.rs";

/// So many pages of a list are read.
pub(super) const PAGES: usize = 3;

/// So many of the rarer questions of a route are asked at a moment: the others have their turn at the next.
const TURNS: usize = 2;

/// Before this offset the log is compacted.
const COMPACTED: u64 = 60;

/// A route that is asked.
pub(super) struct Route {
    /// As in the contract.
    pub(super) path: String,
    /// Names of its query parameters.
    pub(super) parameters: BTreeSet<String>,
    pub(super) takes_moment: bool,
}

/// What is sent.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) target: String,
    /// Who asks: one of the tokens in `config.yaml`.
    pub(super) caller: &'static str,
    /// What is posted; null for a GET.
    pub(super) body: Value,
}

impl Question {
    /// What tells it from others.
    pub(super) fn name(&self) -> String {
        match &self.body {
            Value::Null => self.target.clone(),
            body => format!("{} {body}", self.target),
        }
    }

    /// Whether it gives a parameter.
    pub(super) fn gives(&self, parameter: &str) -> bool {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        // Pages are followed by their tokens.
        let given = query.split('&').filter_map(|pair| pair.split('=').next());
        parameter == "continue" || given.into_iter().any(|name| name == parameter)
    }
}

/// The routes of the contract that can be read, in its order, and the one where questions are posted.
pub(super) fn routes(contract: &Value) -> Vec<Route> {
    let named = |parameter: &Value| {
        let reference = parameter["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
        let parameter = reference.and_then(|name| contract.pointer(name)).unwrap_or(parameter);
        let in_query = parameter["in"] == "query";
        parameter["name"].as_str().filter(|_| in_query).map(str::to_owned)
    };
    let paths = contract["paths"].as_object().into_iter().flatten();
    let route = |(path, operations): (&String, &Value)| {
        let asks = path.ends_with("/graphql");
        let operation = operations.get(if asks { "post" } else { "get" })?;
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters: BTreeSet<_> = parameters.filter_map(named).collect();
        let takes_moment = asks || parameters.contains("at");
        Some(Route { path: path.clone(), parameters, takes_moment })
    };
    paths.filter_map(route).collect()
}

/// A resource that may be asked about.
#[derive(Clone)]
struct Thing {
    uid: String,
    cluster: String,
    kind: String,
}

/// What there is to ask about at an offset.
pub(super) struct Moment {
    offset: u64,
    number: usize,
    /// When the change there was observed.
    time: String,
    environments: Vec<String>,
    things: Vec<Thing>,
    projects: Vec<String>,
    agents: Vec<String>,
    /// Number and project.
    deployments: Vec<(String, String)>,
}

/// One of a list, another at each moment; a name of the log's where nothing is listed.
fn turn<T>(list: &[T], number: usize) -> Option<&T> {
    list.get(number.checked_rem(list.len())?)
}

impl Moment {
    /// Looks what there is at an offset, of which this is the number.
    pub(super) async fn find(kept: &Kept, offset: u64, number: usize) -> Result<Self> {
        let at = offset.max(COMPACTED);
        let list = async |path: &str| -> Result<Value> {
            let target = format!("/api/v1/{path}at={at}&limit=500");
            let question = Question { target, caller: "all", body: Value::Null };
            let (status, answer) = kept.send(&question, &question.target).await?;
            if status == 200 { Ok(answer) } else { Err(format!("{path}: {status} {answer}").into()) }
        };
        let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let texts = |answer: &Value, name: &str| items(answer).map(|item| text(item, name)).collect();
        let environments = list("environments?state=available,stopping,stopped&").await?;
        let thing = |item: &Value| Thing {
            uid: text(item, "id"),
            cluster: text(item, "cluster"),
            kind: text(item, "kind"),
        };
        let deployment = |item: &Value| (item["id"].to_string(), text(item, "project"));
        Ok(Moment {
            offset,
            number,
            time: environments["metadata"]["time"].as_str().unwrap_or_default().to_owned(),
            environments: texts(&environments, "id"),
            things: items(&list("resources?gone=any&").await?).map(thing).collect(),
            projects: texts(&list("projects?").await?, "path"),
            agents: texts(&list("agents?").await?, "id"),
            deployments: items(&list("deployments?").await?).map(deployment).collect(),
        })
    }

    /// The questions to a route: the plain one of each thing that has its turn, and some of those with parameters.
    pub(super) fn questions(&self, route: &Route) -> Vec<Question> {
        if route.path.ends_with("/graphql") {
            return self.graphql(&route.path);
        }
        let mut questions = Vec::new();
        let ask = |caller, path: &str, query: &str| {
            let given = query.split('&').any(|part| part.starts_with("at=") || part.starts_with("to="));
            let at = if route.takes_moment && !given { format!("at={}", self.offset) } else { String::new() };
            let parts: Vec<_> = [at.as_str(), query].into_iter().filter(|part| !part.is_empty()).collect();
            let query = parts.join("&");
            let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
            Question { target, caller, body: Value::Null }
        };
        let paths = self.paths(&route.path);
        let needed = needed(&route.path);
        questions.extend(paths.iter().map(|path| ask("all", path, needed)));
        let Some(first) = paths.first() else { return questions };
        for caller in ["writers", "payments"] {
            questions.extend(self.shares_turn(caller).then(|| ask(caller, first, needed)));
        }
        let rarer = self.rarer(&route.path);
        let count = if route.takes_moment { TURNS.min(rarer.len()) } else { rarer.len() };
        for turn in 0..count {
            let query = &rarer[(self.number * TURNS + turn) % rarer.len()];
            questions.push(ask("all", first, query));
        }
        questions
    }

    /// Whether a caller who does not see everything asks at this moment.
    fn shares_turn(&self, caller: &str) -> bool {
        self.number % 2 == usize::from(caller == "writers")
    }

    /// The paths of a route, with things that are there or were.
    fn paths(&self, route: &str) -> Vec<String> {
        let with = |parameter: &str, names: Vec<&str>| {
            let path = |name: &str| route.replace(parameter, &percent_encode(name));
            names.into_iter().map(path).collect()
        };
        if route.contains("environments/{id}") {
            let mut names: Vec<_> =
                (0..2).filter_map(|place| turn(&self.environments, self.number * 2 + place)).collect();
            // The story lets these fail.
            let failing = ["shop.web.review.fix-login", "labs.one.production", "payments.api.staging"]
                .map(str::to_owned);
            names.splice(0..0, turn(&failing, self.number));
            return with("{id}", names.into_iter().map(String::as_str).collect());
        }
        if route.contains("{uid}") {
            let of_kinds = ["Pod", "Deployment", "ReplicaSet", "Secret", "Widget"];
            let of_kind = |kind: &&str| {
                let things: Vec<_> = self.things.iter().filter(|thing| thing.kind == **kind).collect();
                turn(&things, self.number * 7).map(|thing| thing.uid.as_str())
            };
            let kinds = (0..2).filter_map(|place| turn(&of_kinds, self.number + place * 2));
            let any = turn(&self.things, self.number * 13).map(|thing| thing.uid.as_str());
            return with("{uid}", kinds.filter_map(of_kind).chain(any).collect());
        }
        let names =
            |list: &[String]| [turn(list, self.number).map_or("ops/agents:west".to_owned(), Clone::clone)];
        match route {
            path if path.contains("agents/{id}") => {
                with("{id}", names(&self.agents).iter().map(String::as_str).collect())
            }
            path if path.contains("{path}") => {
                with("{path}", names(&self.projects).iter().map(String::as_str).collect())
            }
            path if path.contains("deployments/{id}") => {
                with("{id}", vec![turn(&self.deployments, self.number).map_or("9001", |(id, _)| id)])
            }
            path if path.contains('{') => Vec::new(),
            path => vec![path.to_owned()],
        }
    }

    /// Parameters with which a route is asked when they have their turn.
    fn rarer(&self, route: &str) -> Vec<String> {
        let environment = turn(&self.environments, self.number * 3 + 1).map_or("", String::as_str);
        let thing = turn(&self.things, self.number * 13);
        let project = turn(&self.deployments, self.number).map_or("writers/blog", |(_, project)| project);
        let names = [
            ("{at}", self.offset.to_string()),
            ("{earlier}", self.offset.saturating_sub(250).max(COMPACTED).to_string()),
            ("{time}", percent_encode(&self.time)),
            ("{environment}", environment.to_owned()),
            ("{uid}", thing.map_or("blog-deployment", |thing| &thing.uid).to_owned()),
            ("{cluster}", thing.map_or("us-west", |thing| &thing.cluster).to_owned()),
            ("{project}", percent_encode(project)),
        ];
        let fill = |query: &&str| {
            names.iter().fold((*query).to_owned(), |query, (name, value)| query.replace(name, value))
        };
        let of_route = RARER.iter().find(|(path, _)| *path == route).map_or(&[][..], |(_, queries)| queries);
        of_route.iter().map(fill).collect()
    }

    fn graphql(&self, path: &str) -> Vec<Question> {
        let project = turn(&self.projects, self.number).map_or("payments/api", String::as_str);
        let projects = [project, "payments/api", "writers/blog"];
        let at = self.offset.to_string();
        let question = |(place, query): (usize, &&str)| Question {
            target: path.to_owned(),
            caller: turn(&["all", "writers", "payments"], self.number + place).unwrap_or(&"all"),
            body: json!({"query": query, "variables": {"path": projects[place], "at": at}}),
        };
        GRAPHQL.iter().enumerate().map(question).collect()
    }
}
