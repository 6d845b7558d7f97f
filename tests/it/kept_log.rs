//! A log that an earlier program recorded, with what was answered from it and what its view held: whoever changes the code without
//! meaning to change an answer learns here whether they did. `tests/kept-log/README.md` says how it came to be.

mod parameters;
mod questions;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::iter;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use strandline_testkit::golden;

use self::questions::{Moment, PAGES, Question, Route, routes};
use crate::server::{Result, Server};

const KEPT: &str = "tests/kept-log";

/// Its last change.
const HEAD: u64 = 1629;

/// How many moments are asked about.
const OFFSETS: u64 = 50;

/// Questions at a time.
const AT_A_TIME: usize = 4;

/// Where the answers are written besides, each as a file of its own, so that those of two commits can be compared with `diff -r`.
const ANSWERS: &str = "STRANDLINE_ANSWERS";

/// Texts that differ from process to process or from request to request, and words for people, whose meaning is in `code`.
const BLANKED: [&str; 5] = ["continue", "detail", "hint", "title", "trace_id"];

/// What tells of the process instead of the log, by routes of which only the status is compared.
const OF_THE_PROCESS: [&str; 10] = [
    "/api/v1/openapi.json",
    "/api/v1/rebuild",
    "/api/v1/relist",
    "/api/v1/tokens",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi.yaml",
    "/readyz",
    "/readyz/lists",
];

/// The route whose answer goes on for as long as somebody reads it.
const STREAM: &str = "/api/v1/watch";

/// Puts the kept log into a server's folder; tells the configuration.
pub(crate) fn unpack(folder: &Path) -> Result<String> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
    let data = folder.join("data");
    std::fs::create_dir(&data)?;
    let packed = std::fs::read(kept.join("log.db.zst"))?;
    std::fs::write(data.join("log.db"), zstd::decode_all(&packed[..])?)?;
    for name in ["log.head", "redaction.key"] {
        std::fs::copy(kept.join(name), data.join(name))?;
    }
    std::fs::copy(kept.join("relations.yaml"), folder.join("relations.yaml"))?;
    Ok(std::fs::read_to_string(kept.join("config.yaml"))?)
}

/// A server of the kept log that watches no cluster.
struct Kept {
    server: Server,
    client: Client<HttpConnector, Full<Bytes>>,
    answers: Option<PathBuf>,
}

/// An answer in the form in which it is compared.
struct Answered {
    status: u16,
    text: String,
}

impl Kept {
    async fn start(folder: &Path) -> Result<Self> {
        let config = unpack(folder)?;
        let server = Server::start(folder, &config).await?;
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Kept { server, client, answers: std::env::var_os(ANSWERS).map(PathBuf::from) })
    }

    async fn send(&self, question: &Question, target: &str) -> Result<(u16, Value)> {
        let request = http::Request::builder()
            .method(if question.body.is_null() { "GET" } else { "POST" })
            .uri(format!("{}{target}", self.server.url()))
            .header("authorization", format!("Bearer sl_kept_{}", question.caller))
            .header("content-type", "application/json");
        let body = if question.body.is_null() { String::new() } else { question.body.to_string() };
        let response = self.client.request(request.body(Full::from(body))?).await?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8(bytes.to_vec())?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// The answer to a question, and the pages after it.
    async fn ask(&self, question: &Question) -> Result<Vec<Answered>> {
        let (mut answers, mut target) = (Vec::new(), question.target.clone());
        while answers.len() < PAGES {
            let (status, mut answer) = self.send(question, &target).await?;
            let next = answer["metadata"]["continue"].as_str().map(str::to_owned);
            let process = OF_THE_PROCESS.iter().any(|path| question.target.split('?').next() == Some(*path));
            // Differences as text are words for people: the same differences are asked for as JSON and as patches.
            if process || answer.is_string() {
                answer = Value::Null;
            }
            blank(&mut answer);
            answers.push(Answered { status, text: serde_json::to_string_pretty(&answer)? });
            let Some(token) = next else { break };
            target = format!("{}&continue={token}", question.target);
        }
        Ok(answers)
    }

    /// The answers to all questions of a route as a line: how many there were of each status, and a digest over all of them.
    async fn line(&self, offset: u64, route: &Route, questions: &[Question]) -> Result<String> {
        let asked = iter(questions).map(|question| self.ask(question)).buffered(AT_A_TIME);
        let answers: Vec<_> = asked.collect().await;
        let (mut statuses, mut hasher) = (BTreeMap::<u16, usize>::new(), blake3::Hasher::new());
        for (question, pages) in questions.iter().zip(answers) {
            for (number, answer) in (1..).zip(pages?) {
                let name = format!("{} {} page {number}", question.caller, question.name());
                for part in [&name, &answer.status.to_string(), &answer.text] {
                    hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
                }
                *statuses.entry(answer.status).or_default() += 1;
                self.write(offset, &name, &answer)?;
            }
        }
        let statuses: Vec<_> = statuses.iter().map(|(status, count)| format!("{status}x{count}")).collect();
        let digest = hasher.finalize().to_hex();
        Ok(format!(
            "{offset} {} {} {}\n",
            route.path,
            statuses.join(" "),
            digest.get(..16).unwrap_or_default()
        ))
    }

    fn write(&self, offset: u64, name: &str, answer: &Answered) -> Result<()> {
        let Some(folder) = &self.answers else { return Ok(()) };
        let folder = folder.join(offset.to_string());
        std::fs::create_dir_all(&folder)?;
        let name = name.replace("/api/v1/", "").replace('/', "%2F");
        let (start, _) = name.split_at(name.floor_char_boundary(240));
        Ok(std::fs::write(folder.join(start), format!("{}\n{}\n", answer.status, answer.text))?)
    }
}

/// Empties the texts that are no part of what is compared.
fn blank(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match BLANKED.contains(&name.as_str()) && member.is_string() {
                    true => *member = json!("…"),
                    false => blank(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(blank),
        _ => {}
    }
}

/// Offsets from the first to the last, evenly.
fn offsets() -> impl Iterator<Item = u64> {
    (0..OFFSETS).map(|number| 1 + number * (HEAD - 1) / (OFFSETS - 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_from_a_log_of_an_earlier_program_as_that_did() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kept = Kept::start(folder.path()).await?;
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("api/openapi.yaml");
    let contract: Value = serde_saphyr::from_str(&std::fs::read_to_string(contract)?)?;
    let mut routes = routes(&contract);
    // A stream has no end to wait for; `watch` plays it.
    routes.retain(|route| route.path != STREAM);
    let (mut lines, mut unread) = (String::new(), BTreeSet::new());
    for route in &routes {
        // A zone changes what a text means as a time, and what a time is answered with is asked already. Lists are streamed
        // by what the stream alone takes.
        let of_streams = |name: &str| {
            ["watch", "from", "timeout"].contains(&name) && route.parameters.iter().any(|one| one == "watch")
        };
        let parameters = route.parameters.iter().filter(|name| *name != "tz" && !of_streams(name));
        unread.extend(parameters.map(|parameter| (route.path.clone(), parameter.clone())));
    }
    for (number, offset) in offsets().enumerate() {
        let moment = Moment::find(&kept, offset, number).await?;
        for route in routes.iter().filter(|route| route.takes_moment || number == 0) {
            let questions = moment.questions(route);
            assert!(
                !questions.is_empty(),
                "{}: no question is asked; add some in {}",
                route.path,
                questions::FILE
            );
            unread.retain(|(path, parameter)| {
                *path != route.path || !questions.iter().any(|question| question.gives(parameter))
            });
            lines.push_str(&kept.line(offset, route, &questions).await?);
        }
    }
    assert!(
        unread.is_empty(),
        "no question gives these parameters; add some in {}: {unread:?}",
        questions::FILE
    );
    kept.server.stop().await?;
    eprintln!(
        "To see which answers differ, run this test at both commits with {ANSWERS}=<folder> and compare the folders."
    );
    golden(&format!("{KEPT}/answers.txt"), &lines);
    Ok(())
}
