//! The object of a resource as YAML: as a file, and on its page with parts that fold without script.

use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};

use crate::app::AppState;
use crate::format::visible;
use crate::http::auth;
use crate::http::params::CLUSTER;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{Response, uncached};
use crate::web::render::POLICY;
use strandline_model::Uid;
use strandline_protocol::{ObjectText, ResourceDetail};
use strandline_query::GetResource;

/// Folds within each other; what lies deeper is lines of the deepest.
const NESTED_MAX: usize = 24;

/// Folds of one object; what follows is lines.
const FOLDS_MAX: usize = 3000;

/// Lines of a text in the object from which on it is folded at first.
const LONG_TEXT: usize = 40;

/// What the page shows of an object, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A line with as many more that fold below it.
    Open {
        line: String,
        below: usize,
        is_open: bool,
    },
    Line(String),
    Close,
}

/// The object as YAML, as the command line prints it; as JSON, which is YAML too, where it has no other.
pub(super) fn text(object: &ObjectText) -> String {
    let value = object.value();
    serde_saphyr::to_string(&value)
        .ok()
        .or_else(|| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_default()
}

/// `/resources/{uid}/object.yaml`: plain text, so that a browser without script shows it to be copied.
pub(in crate::web) async fn file(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let question = GetResource::new(&uid, request.query.one(CLUSTER));
    let found: ResourceDetail = state.queries.ask(&scope, at, question).await?.value;
    let body = text(&found.object).into_bytes();
    let mut response = uncached(StatusCode::OK, "text/plain; charset=utf-8", body);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Ok(response)
}

/// What a download is called: a name that every file system takes.
pub(super) fn file_name(kind: &str, name: &str) -> String {
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = format!("{}-{name}", kind.to_lowercase()).chars().take(120).map(safe).collect();
    format!("{name}.yaml")
}

/// A line as it is nested.
struct Line<'t> {
    text: &'t str,
    /// How deep it is: an item of a list is deeper than a name at the same place.
    depth: usize,
    /// Whether it begins a text of several lines.
    begins_text: bool,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    // Inside of a text of several lines nothing is a name or an item: how far its lines are indented at least.
    let mut inside: Option<usize> = None;
    for line in text.lines() {
        let start = line.trim_start_matches(' ');
        let indent = line.len() - start.len();
        if inside.is_some_and(|least| indent >= least || start.is_empty()) {
            let depth = lines.last().map_or(0, |last| last.depth + usize::from(last.begins_text));
            lines.push(Line { text: line, depth, begins_text: false });
            continue;
        }
        let item = start == "-" || start.starts_with("- ");
        let begins_text = begins_text(start);
        let name_at = indent + if item && start.contains(": ") { 2 } else { 0 };
        inside = begins_text.then_some(name_at + 1);
        lines.push(Line { text: line, depth: 2 * indent + usize::from(item), begins_text });
    }
    lines
}

/// Whether a line ends in the sign of a text of several lines, such as `key: |-`.
fn begins_text(line: &str) -> bool {
    let sign = line.rsplit(' ').next().unwrap_or_default();
    let is_sign =
        sign.starts_with(['|', '>']) && sign[1..].chars().all(|letter| "+-123456789".contains(letter));
    let before = line[..line.len() - sign.len()].trim_end();
    is_sign && (before.ends_with(':') || before.ends_with('-'))
}

/// The text with its folds.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let lines = lines(text);
    // Where each line's deeper ones end.
    let mut ends = vec![lines.len(); lines.len()];
    let mut above: Vec<usize> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        while let Some(last) = above.pop_if(|last| lines[*last].depth >= line.depth) {
            ends[last] = place;
        }
        above.push(place);
    }
    let (mut pieces, mut open, mut folds) = (Vec::with_capacity(lines.len()), Vec::new(), 0);
    for (place, line) in lines.iter().enumerate() {
        while open.pop_if(|end| *end == place).is_some() {
            pieces.push(Piece::Close);
        }
        let (shown, below) = (visible(line.text).into_owned(), ends[place] - place - 1);
        if below < 2 || open.len() == NESTED_MAX || folds == FOLDS_MAX {
            pieces.push(Piece::Line(shown));
            continue;
        }
        folds += 1;
        open.push(ends[place]);
        let is_open = !(line.begins_text && below > LONG_TEXT || line.text.trim() == "managedFields:");
        pieces.push(Piece::Open { line: shown, below, is_open });
    }
    pieces.extend(open.iter().map(|_| Piece::Close));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces with a sign for each.
    fn told(text: &str) -> Vec<String> {
        let told = |piece: &Piece| match piece {
            Piece::Open { line, below, is_open } => {
                format!("{} {below} {line}", if *is_open { 'v' } else { '>' })
            }
            Piece::Line(line) => line.clone(),
            Piece::Close => "^".to_owned(),
        };
        pieces(text).iter().map(told).collect()
    }

    #[test]
    fn what_is_deeper_folds_below_a_line_and_items_below_their_list() {
        let text = "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: x\n    args:\n    - one\n  - b\nstatus: {}\n";
        assert_eq!(
            told(text),
            [
                "kind: Pod",
                "v 6 spec:",
                "v 5   containers:",
                "v 3   - name: a",
                "    image: x",
                "    args:",
                "    - one",
                "^",
                "  - b",
                "^",
                "^",
                "status: {}",
            ]
        );
    }

    #[test]
    fn a_text_in_the_object_is_one_fold_whatever_is_in_it() {
        let script = "  run: |\n    - a:\n        b\n\n    c: |\n  next: 1\n";
        assert_eq!(
            told(&format!("data:\n{script}")),
            ["v 6 data:", "v 4   run: |", "    - a:", "        b", "", "    c: |", "^", "  next: 1", "^"]
        );
        let long: String = (0..50).map(|n| format!("    line {n}\n")).collect();
        assert_eq!(told(&format!("data:\n  run: |-\n{long}"))[1], "> 50   run: |-");
        assert_eq!(
            told("- run: |\n    a\n    b\n  next: 1\n"),
            ["v 3 - run: |", "    a", "    b", "  next: 1", "^"]
        );
    }

    #[test]
    fn folds_are_bounded_and_each_is_closed() {
        let deep: String = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        let wide = "a:\n  b: 1\n  c: 2\n".repeat(4000);
        for (text, folds) in [(deep, NESTED_MAX), (wide, FOLDS_MAX)] {
            let pieces = pieces(&text);
            let count = |of: fn(&Piece) -> bool| pieces.iter().filter(|piece| of(piece)).count();
            assert_eq!(count(|piece| matches!(piece, Piece::Open { .. })), folds);
            assert_eq!(count(|piece| matches!(piece, Piece::Close)), folds);
            assert_eq!(pieces.len() - folds, text.lines().count(), "no line is lost");
        }
    }

    #[test]
    fn every_line_of_an_object_is_there_once_and_in_order() {
        let object = serde_json::json!({"data": {"a": "x\n- y: |\n  z\n", "b: |": ["|", "> ", ["n", {"m": "\t\n\n"}]]}});
        let text = text(&ObjectText::from(&object));
        let shown: Vec<_> = pieces(&text)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Open { line, .. } | Piece::Line(line) => Some(line),
                Piece::Close => None,
            })
            .collect();
        assert_eq!(shown, text.lines().map(|line| visible(line).into_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn a_download_has_a_name_that_is_no_path() {
        assert_eq!(file_name("Deployment", "web"), "deployment-web.yaml");
        assert_eq!(file_name("Role", "../a:b\"\u{202e}"), "role-___a_b__.yaml");
    }
}
