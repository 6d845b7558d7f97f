//! What commands over the objects of a file share: reading them, printing what was found, telling what could
//! not be read.

use std::io::Read;
use std::path::Path;

use super::args::{LineFormat, ObjectsArgs};
use super::error::CliError;
use super::output::{Paint, write};
use super::table::Table;
use crate::documents::{self, Unreadable};
use crate::object::Object;

/// How something that was found in an object is printed.
pub(super) trait Shown: Sized {
    /// As a line of JSON, without its end.
    fn line(&self) -> serde_json::Result<String>;

    /// All of them as a table.
    fn table(all: &[Self]) -> Table;
}

/// Looks at the objects of a file and prints what was found, in their order; those that cannot be read are told,
/// and the others looked at all the same.
pub(super) fn look<T: Shown>(args: &ObjectsArgs, see: impl Fn(&Object<'_>) -> T) -> Result<(), CliError> {
    let (seen, unreadable) = all(&read(&args.file)?, see);
    if seen.is_empty() && unreadable.is_empty() {
        eprintln!("No objects found.");
        return Ok(());
    }
    if !seen.is_empty() {
        write(&shown(&seen, args)?)?;
    }
    failures(&unreadable, seen.len())
}

fn read(file: &Path) -> Result<String, CliError> {
    let failed = |error: std::io::Error| CliError::new(format!("reading {}", file.display()), error);
    if file != Path::new("-") {
        return std::fs::read_to_string(file).map_err(failed);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// What is seen in the objects of a text, and which of them cannot be read.
pub(super) fn all<T>(text: &str, see: impl Fn(&Object<'_>) -> T) -> (Vec<T>, Vec<Unreadable>) {
    let (mut seen, mut unreadable) = (Vec::new(), Vec::new());
    for document in documents::read(text) {
        let one = document.and_then(|found| {
            Object::parse(&found.text).map(|object| see(&object)).map_err(|error| found.unreadable(error))
        });
        match one {
            Ok(one) => seen.push(one),
            Err(problem) => unreadable.push(problem),
        }
    }
    (seen, unreadable)
}

/// What was seen, as it is printed.
pub(super) fn shown<T: Shown>(seen: &[T], args: &ObjectsArgs) -> Result<String, CliError> {
    match args.output {
        LineFormat::Table => Ok(T::table(seen).render(Paint::for_stdout(args.color), !args.no_headers)),
        LineFormat::Json => seen
            .iter()
            .map(|one| one.line().map(|line| line + "\n"))
            .collect::<Result<_, _>>()
            .map_err(|error| CliError::new("writing what was found", error)),
    }
}

fn failures(unreadable: &[Unreadable], seen: usize) -> Result<(), CliError> {
    let Some((last, others)) = unreadable.split_last() else { return Ok(()) };
    let failure = |problem: &Unreadable| CliError::new("reading the objects", problem);
    for problem in others {
        eprintln!("{}", failure(problem).lines());
    }
    Err(failure(last).hint(format!("the other {seen} objects were looked at")))
}

#[cfg(test)]
mod tests {
    use super::super::error::Exit;
    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_failure_that_names_it() {
        let (seen, unreadable) = all("kind: A\n---\n7\n", |object| object.kind.to_string());
        assert_eq!(seen, ["A"]);
        let failure = failures(&unreadable, 1).err();
        let failure = failure.map(|failure| (failure.to_string(), failure.exit));
        let expected = "reading the objects: document 2, line 3: not an object".to_owned();
        assert_eq!(failure, Some((expected, Exit::Failure)));
    }
}
