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
use super::stderr::note;
use super::table::Table;
use super::template::sort_items;
use super::views::{Listed, table};
use crate::format::{moment, visible};
use strandline_model::{At, Timestamp};
use strandline_protocol::{Answer, Page, Snapshot};
use strandline_syntax::diagnostics::{closest, of_json};
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
    print_value::<T>(what, value, list)
}

/// Asks for one member of a list that has no route of its own, and prints it as if it had.
pub(super) async fn print_member<T: Listed + DeserializeOwned>(
    noun: &str,
    nouns: &str,
    id: &str,
    list: &ListArgs,
) -> Result<(), CliError> {
    let what = format!("reading {noun} {id}");
    let (client, path) = (Client::reading(&list.server)?, format!("/api/v1/{nouns}"));
    let mut all = client.list(&what, &path, parameters(&list.server), None).await?;
    let metadata = all["metadata"].take();
    let Value::Array(items) = all["items"].take() else { return Ok(()) };
    let Some(mut found) = items.iter().find(|item| item["id"] == id).cloned() else {
        let ids: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
        let near = closest(id, &ids).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(CliError::new(what, format!("no {noun} `{id}`{near}")).exit(Exit::NotFound));
    };
    found["metadata"] = metadata;
    print_value::<T>(&what, found, list)
}

fn print_value<T: Listed + DeserializeOwned>(
    what: &str,
    value: Value,
    list: &ListArgs,
) -> Result<(), CliError> {
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
    if list.sort_by.is_some() {
        return arranged(client, what, path, query, list, |_| {}).await;
    }
    let answer = client.list(what, path, query, list.limit).await?;
    if list.limit.is_some() && answer["metadata"]["continue"].is_string() {
        note_cut(answer["items"].as_array().map_or(0, Vec::len));
    }
    Ok(answer)
}

/// The same of a list that is chosen from or sorted here: all of it is read, and cut to the limit only then.
pub(super) async fn arranged(
    client: &Client,
    what: &str,
    path: &str,
    query: Parameters,
    list: &ListArgs,
    arrange: impl FnOnce(&mut Vec<Value>),
) -> Result<Value, CliError> {
    let mut answer = client.list(what, path, query, None).await?;
    if arrange_and_cut(&mut answer, list, arrange)? {
        note_cut(answer["items"].as_array().map_or(0, Vec::len));
    }
    Ok(answer)
}

/// Arranges a whole list, then cuts it to the limit; whether that took something away.
fn arrange_and_cut(
    answer: &mut Value,
    list: &ListArgs,
    arrange: impl FnOnce(&mut Vec<Value>),
) -> Result<bool, CliError> {
    if let Some(items) = answer["items"].as_array_mut() {
        arrange(items);
    }
    if let Some(path) = &list.sort_by {
        sort_items(answer, path)?;
    }
    let most = list.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let longer = answer["items"].as_array_mut().filter(|items| items.len() > most);
    Ok(longer.map(|items| items.truncate(most)).is_some())
}

/// A list that was cut must not be taken for a whole one.
fn note_cut(shown: usize) {
    note!("{shown} shown, more exist; without --limit all are listed");
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
    print_page::<T>(nouns, value, list).await
}

/// Prints a list as it was answered.
pub(super) async fn print_page<T: Listed + DeserializeOwned>(
    nouns: &str,
    value: Value,
    list: &ListArgs,
) -> Result<(), CliError> {
    let what = format!("reading {nouns}");
    let found = is_filled(&value["items"]);
    print_answer(&what, &list.output, value, found, async |value| {
        let page: Page<T> = typed(&what, value)?;
        let now = reference(&list.server, &page.metadata.snapshot);
        for gap in line::gaps(&page.metadata.snapshot, now) {
            note!("warning: {gap}");
        }
        print_time(list, &page.metadata.snapshot);
        if !found {
            note!("No {nouns} found.");
            return Ok(());
        }
        write(&listing(&page.items, &list.output, now))
    })
    .await
}

/// Whether a list holds anything.
pub(super) fn is_filled(list: &Value) -> bool {
    list.as_array().is_some_and(|items| !items.is_empty())
}

/// Prints an answer as a document where one is asked for, and otherwise as the command shows it. It fails all the same where it
/// was not [`understood`]: after it has shown what the other words `found`, and alone where they found nothing.
pub(super) async fn print_answer(
    what: &str,
    output: &OutputArgs,
    value: Value,
    found: bool,
    show: impl AsyncFnOnce(Value) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let understood = understood(what, &value);
    match document(output, &value).transpose()? {
        Some(text) => write(&text)?,
        None if found || understood.is_ok() => show(value).await?,
        None => {}
    }
    understood
}

/// Fails where words of the question fit nothing, whatever the others found: scripts must not take a slip of the finger for
/// an environment in which all is well.
pub(super) fn understood(what: &str, value: &Value) -> Result<(), CliError> {
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::super::args::{Cli, Command, GetCommand, ReadCommand};
    use super::*;

    #[tokio::test]
    async fn what_was_found_is_shown_before_it_fails_for_what_was_not() {
        let Ok(Cli { command: Command::Read(ReadCommand::Get(GetCommand::Groups { list, .. })) }) =
            Cli::try_parse_from(["strandline", "get", "groups"])
        else {
            panic!("arguments of a list")
        };
        let slip = json!([{"message": "no kind `pood`"}]);
        for (answer, found, expected) in [
            (json!({}), true, (true, Ok(()))),
            (json!({}), false, (true, Ok(()))),
            (json!({"warnings": slip}), true, (true, Err(Exit::NotFound))),
            (json!({"metadata": {"warnings": slip}}), true, (true, Err(Exit::NotFound))),
            (json!({"metadata": {"warnings": slip}}), false, (false, Err(Exit::NotFound))),
        ] {
            let mut shown = false;
            let outcome = print_answer("reading", &list.output, answer.clone(), found, async |_| {
                shown = true;
                Ok(())
            })
            .await;
            assert_eq!((shown, outcome.map_err(|error| error.exit)), expected, "{answer} {found}");
        }
    }

    #[test]
    fn a_list_is_arranged_before_it_is_cut() {
        let arranged = |options: &str| {
            let line = format!("strandline get groups {options}");
            let parsed = Cli::try_parse_from(line.trim().split(' ')).unwrap().command;
            let Command::Read(ReadCommand::Get(GetCommand::Groups { list, .. })) = parsed else {
                panic!("{line}")
            };
            let mut answer = json!({"items": [{"n": 3}, {"n": 1}, {"n": 4}, {"n": 2}]});
            let even_first = |items: &mut Vec<Value>| {
                items.sort_by_key(|item| item["n"].as_u64().unwrap_or_default() % 2);
            };
            let cut = arrange_and_cut(&mut answer, &list, even_first).unwrap();
            let numbers = answer["items"].as_array().unwrap().iter().filter_map(|item| item["n"].as_u64());
            (numbers.collect::<Vec<_>>(), cut)
        };
        for (options, expected) in [
            ("", (vec![4, 2, 3, 1], false)),
            ("--limit 3", (vec![4, 2, 3], true)),
            ("--limit 4", (vec![4, 2, 3, 1], false)),
            ("--sort-by .n --limit 2", (vec![1, 2], true)),
            ("--sort-by .n", (vec![1, 2, 3, 4], false)),
        ] {
            assert_eq!(arranged(options), expected, "{options}");
        }
    }
}
