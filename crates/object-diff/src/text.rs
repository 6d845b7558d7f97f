//! Differences as lines of text, the way tools that compare files show them.

use std::collections::HashMap;

use serde_json::Value;

use super::align::align;
use super::{Comparison, Difference, DifferenceType, NameMap};

/// Lines of a long text that are shown before and behind what differs.
const CONTEXT: usize = 3;

/// The most pairs of lines that are looked at for whether they say the same but for names. Most are found by a look-up.
const RENAMES_MAX: usize = 1 << 20;

/// The most lines that are shown of one difference.
const LINES_MAX: usize = 500;

/// What a line is. Its sign says it without colours too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The earlier of what is compared.
    From,
    /// The later of what is compared.
    To,
    /// The heading of several differences.
    Title,
    /// Nothing, between what does not belong together.
    Blank,
    /// The path of a difference.
    Place,
    /// Of the earlier state alone.
    Removed,
    /// Of the later state alone.
    Added,
    /// Of both.
    Same,
    /// Something said about the differences.
    Note,
}

impl Mark {
    /// The sign at the start of the line.
    pub const fn sign(self) -> char {
        match self {
            Mark::Removed => '-',
            Mark::Added => '+',
            _ => ' ',
        }
    }
}

/// A line of text, without its sign. It holds what clusters wrote, as they wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub mark: Mark,
    /// What it says.
    pub text: String,
}

impl Line {
    /// A line.
    pub fn new(mark: Mark, text: impl Into<String>) -> Self {
        Line { mark, text: text.into() }
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.mark {
            Mark::From => write!(f, "--- {}", self.text),
            Mark::To => write!(f, "+++ {}", self.text),
            Mark::Title => f.write_str(&self.text),
            Mark::Blank => Ok(()),
            Mark::Place => write!(f, "  {}", self.text),
            Mark::Note => write!(f, "  ({})", self.text),
            mark => write!(f, "{}   {}", mark.sign(), self.text),
        }
    }
}

/// A comparison in lines: each difference by its path with its values below, then what is not shown. Lines of texts that
/// are the same but for names are the same.
pub fn lines(comparison: &Comparison, names: &NameMap) -> Vec<Line> {
    let mut out = Vec::new();
    for difference in &comparison.differences {
        difference_lines(difference, names, &mut out);
    }
    if comparison.left_out > 0 {
        out.push(Line::new(Mark::Note, format!("{} more, too many to show", comparison.left_out)));
    }
    let hidden = comparison.hidden;
    let counts = [
        ("in metadata", hidden.metadata),
        ("in status", hidden.status),
        ("noise", hidden.noise),
        ("ignored", hidden.ignored),
    ];
    let said: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    if !said.is_empty() {
        out.push(Line::new(Mark::Note, format!("not shown: {}", said.join(", "))));
    }
    out
}

fn difference_lines(difference: &Difference, names: &NameMap, out: &mut Vec<Line>) {
    let path = if difference.path.is_empty() { "the whole object" } else { &difference.path };
    if let (DifferenceType::Moved, Some(from), Some(to)) =
        (difference.change, place(&difference.before), place(&difference.after))
    {
        out.push(Line::new(Mark::Place, format!("{path} moved from position {from} to {to}")));
        return;
    }
    out.push(Line::new(Mark::Place, path));
    let mut body = Vec::new();
    match (&difference.before, &difference.after) {
        (Some(Value::String(before)), Some(Value::String(after)))
            if before.contains('\n') || after.contains('\n') =>
        {
            text_lines(before, after, names, &mut body);
        }
        (before, after) => {
            let apart =
                before.as_ref().zip(after.as_ref()).is_some_and(|(one, other)| plain(one) == plain(other));
            let mut side = |value: &Option<Value>, mark| {
                let shown = value.iter().flat_map(|value| value_lines(value, apart));
                body.extend(shown.map(|text| Line { mark, text }));
            };
            side(before, Mark::Removed);
            side(after, Mark::Added);
        }
    }
    let more = body.len().saturating_sub(LINES_MAX);
    body.truncate(LINES_MAX);
    out.append(&mut body);
    if more > 0 {
        out.push(Line::new(Mark::Note, format!("{more} more lines")));
    }
}

/// A place in a list as people count.
fn place(value: &Option<Value>) -> Option<u64> {
    value.as_ref()?.as_u64().map(|place| place + 1)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value as lines: texts by their own lines, the rest as YAML; `exact` quotes texts that could be taken for something
/// else.
fn value_lines(value: &Value, exact: bool) -> Vec<String> {
    match value {
        Value::String(text) if text.is_empty() || exact || text.trim() != text && !text.contains('\n') => {
            vec![value.to_string()]
        }
        Value::String(text) => text.lines().map(str::to_owned).collect(),
        Value::Array(items) if items.is_empty() => vec![value.to_string()],
        Value::Object(members) if members.is_empty() => vec![value.to_string()],
        Value::Array(_) | Value::Object(_) => {
            let yaml = serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string());
            yaml.lines().map(str::to_owned).collect()
        }
        other => vec![other.to_string()],
    }
}

/// The earlier lines, each that says the same but for names as it stands later.
fn renamed<'a>(before: &[&'a str], after: &[&'a str], names: &NameMap) -> Vec<&'a str> {
    let mut places = HashMap::new();
    for (place, line) in after.iter().enumerate() {
        places.entry(*line).or_insert(place);
    }
    let mut left = RENAMES_MAX;
    let mut alike = before.to_vec();
    for line in &mut alike {
        let elsewhere = names.apply(line);
        if elsewhere == *line {
            continue;
        }
        let found =
            [elsewhere.as_str(), *line].into_iter().filter_map(|line| places.get(line).copied()).min();
        // Of a name that has several elsewhere the line may have another than the first.
        let found = found.or_else(|| {
            let looked = after.len().min(left);
            left -= looked;
            after[..looked].iter().position(|other| names.equates(line, other))
        });
        if let Some(other) = found.and_then(|place| after.get(place)) {
            *line = other;
        }
    }
    alike
}

/// Two texts line by line, with some lines around what differs.
fn text_lines(before: &str, after: &str, names: &NameMap, out: &mut Vec<Line>) {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let alike = renamed(&before, &after, names);
    let mut all = Vec::new();
    let mut from = (0, 0);
    for (one, other) in align(&alike, &after).into_iter().chain([(before.len(), after.len())]) {
        all.extend(before[from.0..one].iter().map(|text| Line::new(Mark::Removed, *text)));
        all.extend(after[from.1..other].iter().map(|text| Line::new(Mark::Added, *text)));
        all.extend(before.get(one).map(|text| Line::new(Mark::Same, *text)));
        from = (one + 1, other + 1);
    }
    let mut near = vec![false; all.len()];
    for (at, _) in all.iter().enumerate().filter(|(_, line)| line.mark != Mark::Same) {
        let end = (at + CONTEXT + 1).min(all.len());
        near[at.saturating_sub(CONTEXT)..end].fill(true);
    }
    if !near.contains(&true) {
        // Only how they end differs.
        out.push(Line::new(Mark::Note, "the line breaks at the end differ"));
    }
    let mut skipped = false;
    for (line, near) in all.into_iter().zip(near) {
        if near {
            out.push(line);
        } else if !skipped {
            out.push(Line::new(Mark::Same, "…"));
        }
        skipped = !near;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Between, Class, Lens, compare};
    use strandline_model::Kind;

    fn text(before: &Value, after: &Value) -> String {
        let lens = Lens::new(Between::Versions, &[Class::Metadata]);
        let found = compare(&Kind::new("apps", "Deployment"), Some(before), Some(after), &lens);
        lines(&found, &NameMap::default()).iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn differences_read_like_those_of_files() {
        let before = json!({
            "metadata": {"resourceVersion": "1", "labels": {"app.kubernetes.io/version": "1"}},
            "spec": {"replicas": 2, "initContainers": [{"name": "a"}, {"name": "b"}],
                "containers": [{"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}]}]},
            "status": {"replicas": 2},
        });
        let after = json!({
            "metadata": {"resourceVersion": "2", "labels": {"app.kubernetes.io/version": "2"}},
            "spec": {"replicas": 3, "initContainers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "web", "image": "web:2", "env": [{"name": "A", "value": ""}, {"name": "B", "value": "x"}]}]},
            "status": {"replicas": 3},
        });
        let expected = "  spec.replicas\n-   2\n+   3
  spec.initContainers[name=b] moved from position 2 to 1
  spec.containers[name=web].image\n-   web:1\n+   web:2
  spec.containers[name=web].env[name=A].value\n-   1\n+   \"\"
  spec.containers[name=web].env[name=B]\n+   name: B\n+   value: x
  metadata.labels[app.kubernetes.io/version]\n-   1\n+   2
  (not shown: 1 in status, 1 noise)\n";
        let shown = text(&before, &after);
        assert!(
            shown == expected
                || shown
                    == expected
                        .replace("name=b] moved from position 2 to 1", "name=a] moved from position 1 to 2"),
            "{shown}"
        );
    }

    #[test]
    fn long_texts_are_shown_around_what_differs() {
        let config: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let before = json!({"data": {"app.conf": config}});
        let after = json!({"data": {"app.conf": config.replace("line 10\n", "line ten\nand more\n")}});
        let expected = "  data[app.conf]\n    …\n    line 7\n    line 8\n    line 9
-   line 10\n+   line ten\n+   and more
    line 11\n    line 12\n    line 13\n    …\n";
        assert_eq!(text(&before, &after), expected);
        let ended = json!({"data": {"app.conf": config.trim_end()}});
        assert!(text(&before, &ended).contains("(the line breaks at the end differ)"));
    }

    #[test]
    fn lines_that_are_renamed_are_no_differences() {
        let pairs = ["staging:production", "staging:production-x1"].map(|pair| pair.parse().ok());
        let names = NameMap::new(pairs.into_iter().flatten());
        let lens = Lens::new(Between::Environments, &[]).mapping(names.clone());
        let config = |env: &str, slug: &str, level: &str| json!({"data": {"env": slug, "conf": format!("env: {env}\nslug: {slug}\nlevel: {level}\n")}});
        let here = config("staging", "staging", "debug");
        let there = config("production", "production-x1", "info");
        let found = compare(&Kind::new("", "ConfigMap"), Some(&here), Some(&there), &lens);
        let shown: String = lines(&found, &names).iter().map(|line| format!("{line}\n")).collect();
        let expected =
            "  data.conf\n    env: staging\n    slug: staging\n-   level: debug\n+   level: info\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn many_lines_that_are_renamed_are_found_by_a_look_up() {
        let names = NameMap::new(
            ["staging:production".parse().ok(), "staging:live".parse().ok()].into_iter().flatten(),
        );
        let text =
            |name: &str, lines: usize| -> String { (0..lines).map(|n| format!("{name}/{n}\n")).collect() };
        let lines = |before: &str, after: &str| {
            let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
            renamed(&before, &after, &names) == after
        };
        assert!(lines(&text("staging", 50_000), &text("production", 50_000)));
        // The second of two names is looked for, as long as the lines are not very many.
        assert!(lines(&text("staging", 1_000), &text("live", 1_000)));
        assert!(!lines(&text("staging", 50_000), &text("live", 50_000)));
    }

    #[test]
    fn values_that_look_alike_are_told_apart() {
        assert_eq!(text(&json!({"a": 1}), &json!({"a": "1"})), "  a\n-   1\n+   \"1\"\n");
        assert_eq!(text(&json!({"a": {}}), &json!({"a": []})), "  a\n-   {}\n+   []\n");
        assert_eq!(text(&json!({"a": " x"}), &json!({"a": null})), "  a\n-   \" x\"\n+   null\n");
    }
}
