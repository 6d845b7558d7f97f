//! What commands over the objects of a file share: reading them, printing what was found, telling what could
//! not be read.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::args::{LineFormat, ObjectsArgs};
use super::error::CliError;
use super::output::{Paint, write};
use super::stderr::note;
use super::table::Table;
use strandline_object::Object;
use strandline_object::manifests::{self, Unreadable};

/// How much of a message a table shows.
const MESSAGE_MAX: usize = 100;

/// How something that was found in an object is printed.
pub(super) trait Shown: Sized {
    /// As a line of JSON, without its end.
    fn line(&self) -> serde_json::Result<String>;

    /// All of them as a table.
    fn table(all: &[Self]) -> Table;
}

/// Looks at the objects of a file and prints what was found, in their order; those that cannot be read are reported,
/// and the others looked at all the same.
pub(super) fn look<T: Shown>(args: &ObjectsArgs, see: impl Fn(&Object<'_>) -> T) -> Result<(), CliError> {
    let (mut seen, mut unreadable) = (Vec::new(), Vec::new());
    for source in sources(&args.file)? {
        let (some, problems) = all(&source.text, &see);
        seen.extend(some);
        unreadable.extend(problems.into_iter().map(|problem| source.failure(problem)));
    }
    if seen.is_empty() && unreadable.is_empty() {
        note!("No objects found.");
        return Ok(());
    }
    if !seen.is_empty() {
        write(&shown(&seen, args)?)?;
    }
    failures(unreadable, seen.len())
}

/// A text that holds objects.
#[derive(Debug)]
pub(super) struct Source {
    /// The file, where it is one of several.
    file: Option<PathBuf>,
    pub(super) text: String,
}

impl Source {
    /// What cannot be read in it.
    pub(super) fn failure(&self, problem: impl fmt::Display) -> CliError {
        let file = self.file.as_deref().map(|file| format!(" of {}", file.display()));
        CliError::new(format!("reading the objects{}", file.unwrap_or_default()), problem)
    }
}

/// What a directory's files may be called that hold objects; others lie beside them for other reasons.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "yaml", "yml"];

/// The text of a file, of standard input, or of each file with objects in a directory and below, by their names.
pub(super) fn sources(file: &Path) -> Result<Vec<Source>, CliError> {
    let failed =
        |file: &Path, error: std::io::Error| CliError::new(format!("reading {}", file.display()), error);
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(|error| failed(file, error))?;
        return Ok(vec![Source { file: None, text }]);
    }
    if !file.is_dir() {
        let text = std::fs::read_to_string(file).map_err(|error| failed(file, error))?;
        return Ok(vec![Source { file: None, text }]);
    }
    let entries = std::fs::read_dir(file).map_err(|error| failed(file, error))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed(file, error))?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let ending = path.extension().and_then(|ending| ending.to_str());
        // A link to a directory may lead back to where it lies.
        if path.is_dir() && !path.is_symlink() {
            found.extend(sources(&path)?);
        } else if path.is_file() && ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
            found.push(Source { file: Some(path), text });
        }
    }
    Ok(found)
}

/// What is seen in the objects of a text, and which of them cannot be read.
pub(super) fn all<T>(text: &str, see: impl Fn(&Object<'_>) -> T) -> (Vec<T>, Vec<Unreadable>) {
    let (mut seen, mut unreadable) = (Vec::new(), Vec::new());
    for document in manifests::read(text) {
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

/// Reports what could not be read, the last of it as the failure of the whole.
pub(super) fn failures(mut unreadable: Vec<CliError>, seen: usize) -> Result<(), CliError> {
    let Some(last) = unreadable.pop() else { return Ok(()) };
    for failure in unreadable {
        note!("{}", failure.lines());
    }
    Err(last.hint(format!("the other {seen} objects were processed")))
}

/// The beginning of a message on one line.
pub(super) fn shortened(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::super::error::Exit;
    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_failure_that_names_it() {
        let (seen, unreadable) = all("kind: A\n---\n7\n", |object| object.kind.to_string());
        assert_eq!(seen, ["A"]);
        let failure = |file: Option<PathBuf>| {
            let source = Source { file, text: String::new() };
            let failure = failures(unreadable.iter().map(|one| source.failure(one)).collect(), 1).err();
            failure.map(|failure| (failure.to_string(), failure.exit))
        };
        let expected = "reading the objects: document 2, line 3: not an object".to_owned();
        assert_eq!(failure(None), Some((expected, Exit::Failure)));
        let expected = "reading the objects of a/b.yaml: document 2, line 3: not an object".to_owned();
        assert_eq!(failure(Some("a/b.yaml".into())), Some((expected, Exit::Failure)));
    }

    #[test]
    fn a_directory_is_its_files_and_those_below_by_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        for (name, text) in
            [("b/c.yml", "2"), ("a.yaml", "1"), ("z.jsonl", "3"), ("README.md", "no"), ("n", "no")]
        {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let texts =
            |path: &Path| sources(path).map(|all| all.into_iter().map(|one| one.text).collect::<Vec<_>>());
        assert_eq!(texts(folder.path()), Ok(vec!["1".to_owned(), "2".to_owned(), "3".to_owned()]));
        assert_eq!(
            texts(&folder.path().join("n")),
            Ok(vec!["no".to_owned()]),
            "what is named itself is read"
        );
        assert!(texts(&folder.path().join("absent")).is_err());
    }

    #[test]
    fn long_messages_are_cut_on_one_line() {
        assert_eq!(shortened("a\n  b"), "a b");
        assert_eq!(shortened(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }
}
