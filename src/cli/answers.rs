//! What commands that read share: parameters of every request, and how answers are printed.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::{ListArgs, OutputArgs, OutputFormat, ServerArgs};
use super::client::Client;
use super::error::{CliError, Exit};
use super::line;
use super::now::now;
use super::output::{Paint, document, write};
use super::query::{Add, Parameters};
use super::table::Table;
use super::stderr::note;
use super::template::sort_items;
use super::views::{Listed, table};
use crate::format::{moment, visible};
use strandline_model::{At, Timestamp};
use strandline_protocol::{Answer, Page, Snapshot};
use strandline_syntax::diagnostics::of_json;
use strandline_syntax::percent_encode;

/// Asks for one thing and prints it as a list of one, with what is odd about it.
pub(super) async fn print_one<T: Listed + DeserializeOwned>(
    noun: &str,
    nouns: &str,
    id: &str,
    list: &ListArgs,
) -> Result<(), CliError> {
    let what = format!("reading {noun} {id}");
    let path = format!("/api/v1/{nouns}/{}", percent_encode(id));
    print_at::<T>(&what, &path, &parameters(&list.server), list).await
}

pub(super) async fn print_at<T: Listed + DeserializeOwned>(
    what: &str,
    path: &str,
    query: &Parameters,
    list: &ListArgs,
) -> Result<(), CliError> {
    let value = Client::reading(&list.server)?.get(what, path, query).await?;
    if let Some(text) = document(&list.output, &value) {
        return write(&text?);
    }
    let answer: Answer<T> = typed(what, value)?;
    let now = reference(&list.server, &answer.metadata);
    let gaps = line::gaps(&answer.metadata, now);
    let odd = answer.value.warnings();
    for warning in gaps.iter().map(String::as_str).chain(odd.iter().map(String::as_str)) {
        note!("warning: {}", visible(warning));
    }
    print_time(list, &answer.metadata);
    write(&listing(&[answer.value], &list.output, now))
}

/// The items of a list that the arguments ask for, in their order, with a note where there are more.
pub(super) async fn listed(
    client: &Client,
    what: &str,
    path: &str,
    query: Parameters,
    list: &ListArgs,
) -> Result<Value, CliError> {
    let mut answer = client.list(what, path, query, list.limit).await?;
    if let Some(path) = &list.sort_by {
        sort_items(&mut answer, path)?;
    }
    // A list that was cut must not be taken for a whole one.
    if list.limit.is_some() && answer["metadata"]["continue"].is_string() {
        let shown = answer["items"].as_array().map_or(0, Vec::len);
        eprintln!("{shown} shown, more exist; without --limit all are listed");
    }
    Ok(answer)
}

/// Asks for a list and prints it.
pub(super) async fn print_list<T: Listed + DeserializeOwned>(
    nouns: &str,
    path: &str,
    query: Parameters,
    list: &ListArgs,
) -> Result<(), CliError> {
    let what = format!("reading {nouns}");
    let value = listed(&Client::reading(&list.server)?, &what, path, query, list).await?;
    if documented(&what, &list.output, &value)? {
        return Ok(());
    }
    let page: Page<T> = typed(&what, value)?;
    let now = reference(&list.server, &page.metadata.snapshot);
    for gap in line::gaps(&page.metadata.snapshot, now) {
        note!("warning: {gap}");
    }
    print_time(list, &page.metadata.snapshot);
    if page.items.is_empty() {
        note!("No {nouns} found.");
        return Ok(());
    }
    write(&listing(&page.items, &list.output, now))
}

/// Prints an answer as a document, where one is asked for; either way fails where it was not [`understood`].
pub(super) fn documented(what: &str, output: &OutputArgs, value: &Value) -> Result<bool, CliError> {
    let text = document(output, value).transpose()?;
    text.iter().try_for_each(|text| write(text))?;
    understood(what, value)?;
    Ok(text.is_some())
}

/// Fails where nothing was found because words of the question fit nothing: scripts must not take a slip of the finger for
/// an environment in which all is well.
fn understood(what: &str, value: &Value) -> Result<(), CliError> {
    let warnings = value["warnings"].as_array().or_else(|| value["metadata"]["warnings"].as_array());
    let messages = warnings.into_iter().flatten().filter_map(|warning| warning["message"].as_str());
    let messages: Vec<&str> = messages.collect();
    if messages.is_empty() {
        return Ok(());
    }
    Err(CliError::new(what, messages.join("; ")).exit(Exit::NotFound))
}

/// What `2h` meant is known only now; scripts that ask for names or documents have no use for it.
pub(super) fn print_time(list: &ListArgs, snapshot: &Snapshot) {
    if list.server.at.is_some_and(|at| at != At::Now) && list.output.output != OutputFormat::Name {
        note!("as of {}", line::moment(snapshot));
    }
}

/// Items in the form asked for, where that is made for people or is names.
pub(super) fn listing<T: Listed>(items: &[T], output: &OutputArgs, now: Timestamp) -> String {
    match &output.output {
        OutputFormat::Name => items.iter().map(|item| visible(&item.name()).into_owned() + "\n").collect(),
        format => {
            let wide = matches!(format, OutputFormat::Wide | OutputFormat::Csv);
            tabular(&table(items, wide, now), output)
        }
    }
}

/// A table in the form asked for.
pub(super) fn tabular(table: &Table, output: &OutputArgs) -> String {
    match output.output {
        OutputFormat::Csv => table.csv(!output.no_headers),
        _ => table.render(Paint::for_stdout(output.color), !output.no_headers),
    }
}

/// The moment from which ages count.
pub(super) fn reference(server: &ServerArgs, snapshot: &Snapshot) -> Timestamp {
    let asked_for_now = server.at.is_none_or(|at| at == At::Now);
    moment(snapshot, asked_for_now, now())
}

/// An answer as what it is.
pub(super) fn typed<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, CliError> {
    serde_json::from_value(value).map_err(|error| {
        CliError::new(what, format!("unexpected response format: {}", of_json(&error))).hint(
            "check that this program and the server have the same version; -o json prints the raw response",
        )
    })
}

/// What every question asks for.
pub(super) fn parameters(server: &ServerArgs) -> Parameters {
    Parameters::new().add_of(server.at_argument.unwrap_or("--at"), "at", server.at.as_slice())
}
