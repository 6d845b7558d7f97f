//! `get --watch`: a list, and then what changes in it, until somebody interrupts it or nobody reads it any more.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers::{typed, understood};
use super::args::{ListArgs, OutputFormat, WatchArgs};
use super::client::Client;
use super::error::{CliError, Exit};
use super::follow::{AGAIN, Follow};
use super::output::{Paint, document, write_while_read};
use super::query::{Add, Parameters};
use super::stderr::note;
use super::table::{Cell, Table};
use super::views::{Listed, table};
use crate::format::visible;
use strandline_clock::{Clock, SystemClock};
use strandline_model::Offset;
use strandline_syntax::diagnostics::of_json;

/// Items of a list by what tells them apart: the id, and the cluster where they have one.
type Items = BTreeMap<(String, String), Value>;

/// What became of an item, as kubectl names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Modified,
    Deleted,
}

impl Change {
    const fn name(self) -> &'static str {
        match self {
            Change::Added => "ADDED",
            Change::Modified => "MODIFIED",
            Change::Deleted => "DELETED",
        }
    }
}

/// What is watched: the plural of its noun, the member of an event that holds it, and its route.
pub(super) struct Target<'a> {
    pub(super) nouns: &'a str,
    pub(super) member: &'static str,
    pub(super) path: &'a str,
}

/// Prints a list and then what changes in it. It ends where nobody reads it any more.
pub(super) async fn watch<T: Listed + DeserializeOwned>(
    target: Target<'_>,
    filter: Parameters,
    list: &ListArgs,
    args: &WatchArgs,
) -> Result<(), CliError> {
    let Target { nouns, member, path } = target;
    let what = format!("watching {nouns}");
    let client = Client::reading(&list.server)?;
    let mut printer = Printer::new(&what, list, args);
    let streamed = filter.clone().add("watch", &["true"]);
    let mut known: Option<Items> = None;
    loop {
        let mut answer = match client.list(&what, path, filter.clone(), None).await {
            Err(error) if known.is_some() && error.exit == Exit::Failure => {
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            answer => answer?,
        };
        if known.is_none() {
            // Of a word that fits nothing nothing would ever come.
            understood(&what, &answer)?;
        }
        let offset: Offset = typed(&what, answer["metadata"]["offset"].take())?;
        let Value::Array(found) = answer["items"].take() else { return Ok(()) };
        let changes = match &known {
            None if args.watch_only => Vec::new(),
            None => found.iter().map(|item| (Change::Added, item.clone())).collect(),
            Some(before) => differences(before, &found),
        };
        if !printer.print::<T>(changes)? {
            return Ok(());
        }
        let items = known.insert(found.into_iter().map(|item| (key(&item), item)).collect());
        let mut stream = Follow::new(&client, &what, path, &streamed, offset);
        while let Some(event) = stream.next().await? {
            let mut said: Value = serde_json::from_str(&event.data).map_err(|error| {
                CliError::new(&what, format!("an event is not JSON: {}", of_json(&error)))
            })?;
            let change = match said[member].take() {
                Value::Null => items.remove(&key(&said)).map(|last| (Change::Deleted, last)),
                item => match items.insert(key(&said), item.clone()) {
                    None => Some((Change::Added, item)),
                    Some(_) => Some((Change::Modified, item)),
                },
            };
            if !printer.print::<T>(change.into_iter().collect())? {
                return Ok(());
            }
        }
    }
}

fn key(item: &Value) -> (String, String) {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    (text("id"), text("cluster"))
}

/// What changed from a list that was known to one that was read again.
fn differences(before: &Items, after: &[Value]) -> Vec<(Change, Value)> {
    let now: Items = after.iter().map(|item| (key(item), item.clone())).collect();
    let gone = before.iter().filter(|(key, _)| !now.contains_key(key));
    let gone: Vec<_> = gone.map(|(_, item)| (Change::Deleted, item.clone())).collect();
    let others = now.into_iter().filter_map(|(key, item)| match before.get(&key) {
        None => Some((Change::Added, item)),
        Some(was) => (*was != item).then_some((Change::Modified, item)),
    });
    gone.into_iter().chain(others).collect()
}

/// Prints items one after the other in the form that was asked for.
struct Printer<'a> {
    what: &'a str,
    list: &'a ListArgs,
    /// Whether each change is printed with its type.
    typed: bool,
    begun: bool,
    /// Of the columns so far.
    widths: Vec<usize>,
}

impl<'a> Printer<'a> {
    fn new(what: &'a str, list: &'a ListArgs, args: &WatchArgs) -> Self {
        Printer { what, list, typed: args.output_watch_events, begun: false, widths: Vec::new() }
    }

    /// Prints changes; whether somebody still reads.
    fn print<T: Listed + DeserializeOwned>(
        &mut self,
        changes: Vec<(Change, Value)>,
    ) -> Result<bool, CliError> {
        let mut printed = Vec::new();
        for (change, item) in changes {
            let one: T = typed(self.what, item.clone())?;
            if change == Change::Deleted && !self.typed {
                // As it was last it is no more; a row of it would look as if it were.
                note!("{} is no longer in the list", visible(&one.name()));
                continue;
            }
            printed.push((change, item, one));
        }
        if printed.is_empty() {
            return Ok(true);
        }
        let text = self.text(printed)?;
        self.begun = true;
        write_while_read(&text)
    }

    fn text<T: Listed>(&mut self, changes: Vec<(Change, Value, T)>) -> Result<String, CliError> {
        let output = &self.list.output;
        match &output.output {
            OutputFormat::Name => {
                Ok(changes.iter().map(|(.., one)| visible(&one.name()).into_owned() + "\n").collect())
            }
            OutputFormat::Table | OutputFormat::Wide | OutputFormat::Csv => {
                let wide = output.output != OutputFormat::Table;
                let (changes, items): (Vec<_>, Vec<_>) =
                    changes.into_iter().map(|(change, _, one)| (change, one)).unzip();
                Ok(self.rows(table(&items, wide, SystemClock.now()), &changes))
            }
            OutputFormat::CustomColumns(columns) => {
                let (changes, items): (Vec<_>, Vec<_>) =
                    changes.into_iter().map(|(change, item, _)| (change, item)).unzip();
                Ok(self.rows(columns.table(&json!({ "items": items }))?, &changes))
            }
            OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => {
                let mut text = String::new();
                for (change, item, _) in changes {
                    let value = match self.typed {
                        true => json!({ "type": change.name(), "object": item }),
                        false => item,
                    };
                    if output.output == OutputFormat::Yaml && (self.begun || !text.is_empty()) {
                        text.push_str("---\n");
                    }
                    text.push_str(&document(output, &value).transpose()?.unwrap_or_default());
                }
                Ok(text)
            }
        }
    }

    /// Rows of a table, whose header is printed once.
    fn rows(&mut self, mut table: Table, changes: &[Change]) -> String {
        if self.typed {
            self.widths.resize(self.widths.len().max(1), Change::Modified.name().len());
            table.headers.insert(0, "EVENT".into());
            for (row, change) in table.rows.iter_mut().zip(changes) {
                row.insert(0, Cell::text(change.name()));
            }
        }
        let output = &self.list.output;
        let with_headers = !output.no_headers && !self.begun;
        match output.output {
            OutputFormat::Csv => table.csv(with_headers),
            _ => table.render_within(Paint::for_stdout(output.color), with_headers, &mut self.widths),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command, GetCommand, ReadCommand};
    use crate::format::tests::resource;
    use clap::Parser;
    use strandline_protocol::Resource;

    fn printed(options: &str, rounds: Vec<Vec<(Change, Value)>>) -> String {
        let line = format!("strandline get resources -e shop.web.production -w --color never {options}");
        let Ok(Cli { command: Command::Read(ReadCommand::Get(GetCommand::Resources { list, watch, .. })) }) =
            Cli::try_parse_from(line.trim().split(' '))
        else {
            panic!("{line}")
        };
        let mut printer = Printer::new("watching", &list, &watch);
        let mut text = String::new();
        for round in rounds {
            let round = round.into_iter().map(|(change, item)| {
                let one: Resource = typed("watching", item.clone()).expect("a resource");
                (change, item, one)
            });
            text.push_str(&printer.text(round.collect()).expect("text"));
            printer.begun = true;
        }
        text
    }

    fn item(name: &str) -> Value {
        serde_json::to_value(resource("Pod", name, None)).expect("JSON")
    }

    #[test]
    fn each_form_is_that_of_lists_and_headers_are_printed_once() {
        let rounds = || {
            vec![
                vec![(Change::Added, item("web-with-a-name")), (Change::Added, item("db"))],
                vec![(Change::Deleted, item("db"))],
            ]
        };
        let columns = "-o custom-columns=NAME:.name,ID:.id";
        assert_eq!(
            printed(columns, rounds()),
            "NAME              ID\nweb-with-a-name   web-with-a-name\ndb                db\ndb                db\n"
        );
        assert_eq!(
            printed(&format!("{columns} --no-headers --output-watch-events"), rounds()),
            "ADDED      web-with-a-name   web-with-a-name\nADDED      db                db\nDELETED    db                db\n"
        );
        let table = printed("--output-watch-events", rounds());
        assert_eq!(table.matches("EVENT").count(), 1, "{table}");
        assert_eq!(table.lines().count(), 4, "{table}");
        assert!(printed("-o csv", rounds()).starts_with("CLUSTER,"));
        assert_eq!(printed("-o name", rounds()).lines().count(), 3);
        assert_eq!(printed("-o yaml", rounds()).matches("---\n").count(), 2);
        let json = printed("-o json --output-watch-events", rounds());
        let documents = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
        let documents: Vec<Value> = documents.collect::<Result<_, _>>().expect("JSON documents");
        let types: Vec<_> = documents.iter().map(|document| document["type"].as_str()).collect();
        assert_eq!(types, [Some("ADDED"), Some("ADDED"), Some("DELETED")]);
        assert_eq!(documents[2]["object"], item("db"));
    }

    #[test]
    fn what_changed_while_nobody_listened_is_found_in_the_list() {
        let changed = |item: &Value| {
            let mut changed = item.clone();
            changed["reason"] = "Other".into();
            changed
        };
        let before: Items = ["a", "b", "c"].map(item).into_iter().map(|item| (key(&item), item)).collect();
        let after = [item("a"), changed(&item("b")), item("d")];
        let found = differences(&before, &after);
        let expected = [
            (Change::Deleted, item("c")),
            (Change::Modified, changed(&item("b"))),
            (Change::Added, item("d")),
        ];
        assert_eq!(found, expected);
    }
}
