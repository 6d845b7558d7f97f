//! Rules by which users say what is of no interest to them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::path::{Element, Step, is_plain};
use strandline_model::{Kind, KindPattern};
use strandline_syntax::Glob;

/// The most steps of a rule.
const STEPS_MAX: usize = 64;

/// Names what is ignored, with everything below it: `spec.replicas`, `metadata.annotations[*]`,
/// `spec.**.containers[name=istio-*].image`, `/spec/replicas`, and for one kind alone `Deployment.apps:spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRule {
    text: String,
    kind: Option<KindPattern>,
    pieces: Vec<Piece>,
}

/// What one step has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Any number of steps.
    Deep,
    /// Any one step.
    Any,
    Member(Glob),
    /// An element by its place; of a pointer, a member too.
    Place(String),
    Keyed(Vec<(String, Glob)>),
}

impl Piece {
    fn takes(&self, step: &Step) -> bool {
        match (self, step) {
            (Piece::Any, _) => true,
            (Piece::Member(pattern), Step::Member(name)) => pattern.matches(name),
            (Piece::Place(place), Step::Member(name)) => place == name,
            (Piece::Place(place), Step::Element(element)) => element.index().to_string() == *place,
            (Piece::Keyed(wanted), Step::Element(Element { key: Some(key), .. })) => {
                let has = |field: &str, pattern: &Glob| {
                    key.0.iter().any(|(name, value)| name == field && pattern.matches(value))
                };
                wanted.iter().all(|(field, pattern)| has(field, pattern))
            }
            _ => false,
        }
    }
}

impl PathRule {
    /// Whether it speaks of this kind.
    pub(super) fn concerns(&self, kind: &Kind) -> bool {
        self.kind.as_ref().is_none_or(|pattern| pattern.matches(kind))
    }

    /// Whether it names what these steps lead to. Each piece but [`Piece::Deep`] takes one step, so that going back to
    /// the last of those is enough.
    pub(super) fn names(&self, steps: &[Step]) -> bool {
        let (mut piece, mut step) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while step < steps.len() {
            match self.pieces.get(piece) {
                Some(Piece::Deep) => {
                    retry = Some((piece + 1, step));
                    piece += 1;
                    continue;
                }
                Some(wanted) if wanted.takes(&steps[step]) => {
                    (piece, step) = (piece + 1, step + 1);
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = retry else { return false };
            retry = Some((after, from + 1));
            (piece, step) = (after, from + 1);
        }
        self.pieces[piece..].iter().all(|rest| *rest == Piece::Deep)
    }
}

impl fmt::Display for PathRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for PathRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for PathRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for PathRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why: &str| {
            format!(
                "invalid path `{text}`: {why}; write spec.replicas, metadata.annotations[*] or \
                 Deployment.apps:spec.template.spec.containers[name=web].image"
            )
        };
        let kind =
            text.split_once(':').and_then(|(kind, path)| Some((kind.parse::<KindPattern>().ok()?, path)));
        let (kind, path) = kind.map_or((None, text), |(kind, path)| (Some(kind), path.trim_start()));
        let pieces = if path.starts_with('/') { of_pointer(path) } else { of_path(path) };
        let pieces = pieces.map_err(|why| wrong(&why))?;
        if pieces.is_empty() || pieces.len() > STEPS_MAX {
            return Err(wrong(&format!("use 1 to {STEPS_MAX} steps")));
        }
        if pieces.iter().all(|piece| matches!(piece, Piece::Deep)) {
            return Err(wrong("it matches everything"));
        }
        Ok(PathRule { text: text.to_owned(), kind, pieces })
    }
}

/// Reads an RFC 6901 pointer in which a step may be `*`.
fn of_pointer(path: &str) -> Result<Vec<Piece>, String> {
    let step = |part: &str| match part {
        "*" => Ok(Piece::Any),
        "**" => Ok(Piece::Deep),
        part => {
            let name = part.replace("~1", "/").replace("~0", "~");
            Ok(if is_number(&name) { Piece::Place(name) } else { Piece::Member(Glob::exactly(&name)) })
        }
    };
    path.split('/').skip(1).map(step).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Reads steps as differences tell them, and with wildcards.
fn of_path(path: &str) -> Result<Vec<Piece>, String> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    rest = rest.strip_prefix('.').unwrap_or(rest);
    let (mut pieces, mut first) = (Vec::new(), true);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (piece, after) = bracket(inside)?;
            pieces.push(piece);
            rest = after;
        } else {
            rest = match (rest.strip_prefix('.'), first) {
                (Some(after), false) => after,
                (None, true) => rest,
                _ => return Err(format!("expected `.` or `[` before `{rest}`")),
            };
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            pieces.push(match name {
                "*" => Piece::Any,
                "**" => Piece::Deep,
                "" => return Err("a name is missing".to_owned()),
                name if is_plain(&name.replace(['*', '?'], "x")) => Piece::Member(name.parse()?),
                name => {
                    return Err(format!("put `{name}` in brackets, as in [app.kubernetes.io/name]"));
                }
            });
            rest = after;
        }
        first = false;
    }
    Ok(pieces)
}

/// Reads what stands after a `[`, up to its `]`.
fn bracket(inside: &str) -> Result<(Piece, &str), String> {
    let mut rest = inside;
    let mut fields = Vec::new();
    loop {
        let (text, quoted, after) = word(rest)?;
        let next = after.chars().next();
        match (next, fields.is_empty()) {
            (Some('='), _) if !quoted => {
                let (value, quoted, after) = word(&after[1..])?;
                let pattern = if quoted { Glob::exactly(&value) } else { value.parse()? };
                fields.push((text, pattern));
                match after.chars().next() {
                    Some(',') => rest = &after[1..],
                    Some(']') => return Ok((Piece::Keyed(fields), &after[1..])),
                    _ => return Err("unclosed `[`".to_owned()),
                }
            }
            (Some(']'), true) => {
                let piece = match text.as_str() {
                    "*" if !quoted => Piece::Any,
                    _ if quoted => Piece::Member(Glob::exactly(&text)),
                    number if is_number(number) => Piece::Place(text),
                    pattern => Piece::Member(pattern.parse()?),
                };
                return Ok((piece, &after[1..]));
            }
            (None, _) => return Err("unclosed `[`".to_owned()),
            _ => return Err(format!("`{after}` is not expected within `[]`")),
        }
    }
}

/// Reads a JSON string or a bare text up to `=`, `,` or `]`; tells whether it was quoted, and what follows.
fn word(rest: &str) -> Result<(String, bool, &str), String> {
    if rest.starts_with('"') {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let Some(Ok(text)) = stream.next() else { return Err(format!("`{rest}` is not a string")) };
        return Ok((text, true, &rest[stream.byte_offset()..]));
    }
    let end = rest.find(['=', ',', ']']).unwrap_or(rest.len());
    let (text, after) = rest.split_at(end);
    if text.is_empty() { Err("`[]` is empty".to_owned()) } else { Ok((text.to_owned(), false, after)) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::{ElementKey, readable};

    /// The steps of a path in which elements are keyed by name or stand at a place.
    fn steps(parts: &[&str]) -> Vec<Step> {
        let step = |part: &&str| match part.strip_prefix('#') {
            Some(rest) => {
                let key =
                    rest.split_once('=').map(|(field, value)| ElementKey(vec![(field.into(), value.into())]));
                let after = rest.parse().ok();
                Step::Element(Element { before: None, after, key })
            }
            None => Step::Member((*part).to_owned()),
        };
        parts.iter().map(step).collect()
    }

    #[test]
    fn rules_name_what_they_say() {
        let image: &[&str] = &["spec", "template", "spec", "containers", "#name=web", "image"];
        let note: &[&str] = &["metadata", "annotations", "argocd.argoproj.io/tracking-id"];
        let cases: &[(&str, &[&str], bool)] = &[
            ("spec.replicas", &["spec", "replicas"], true),
            (".spec.replicas", &["spec", "replicas"], true),
            ("$.spec.replicas", &["spec", "replicas"], true),
            ("/spec/replicas", &["spec", "replicas"], true),
            ("spec.replicas", &["spec"], false),
            ("spec.replicas", &["spec", "replicas", "x"], false),
            ("metadata.annotations[*]", note, true),
            ("metadata.annotations.*", note, true),
            ("metadata.annotations[argocd.argoproj.io/*]", note, true),
            ("metadata.annotations[argocd.argoproj.io/tracking-id]", note, true),
            ("metadata.annotations[\"argocd.argoproj.io/tracking-id\"]", note, true),
            ("/metadata/annotations/argocd.argoproj.io~1tracking-id", note, true),
            ("metadata.annotations[other.io/*]", note, false),
            ("spec.template.spec.containers[name=web].image", image, true),
            ("spec.template.spec.containers[name=w*].image", image, true),
            ("spec.template.spec.containers[name=api].image", image, false),
            ("spec.template.spec.containers[*].image", image, true),
            ("spec.**.image", image, true),
            ("**.image", image, true),
            ("**.containers[name=web].**.image", image, true),
            ("**.name", image, false),
            ("spec.**", image, true),
            ("spec.*.spec.**.image", image, true),
            ("spec.args[1]", &["spec", "args", "#1"], true),
            ("/spec/args/1", &["spec", "args", "#1"], true),
            ("/data/1", &["data", "1"], true),
            ("/spec/*/1", &["spec", "args", "#1"], true),
            ("spec.args[1]", &["spec", "args", "#2"], false),
            ("data[\"*\"]", &["data", "x"], false),
            ("data[\"*\"]", &["data", "*"], true),
            ("data.app-?", &["data", "app-1"], true),
        ];
        for (rule, path, expected) in cases {
            let rule: PathRule = rule.parse().unwrap();
            assert_eq!(rule.names(&steps(path)), *expected, "{rule} {path:?}");
        }
    }

    #[test]
    fn a_rule_may_concern_one_kind() {
        let rule: PathRule = "Deployment.apps:spec.replicas".parse().unwrap();
        assert!(
            rule.concerns(&Kind::new("apps", "Deployment"))
                && !rule.concerns(&Kind::new("apps", "ReplicaSet"))
        );
        assert!(rule.names(&steps(&["spec", "replicas"])));
        let rule: PathRule = "*.argoproj.io: spec".parse().unwrap();
        assert!(rule.concerns(&Kind::new("argoproj.io", "Rollout")));
        let rule: PathRule = "metadata.annotations[a:b]".parse().unwrap();
        assert!(rule.concerns(&Kind::new("", "Pod")), "a colon further on is part of the path");
    }

    #[test]
    fn what_is_no_path_is_refused_with_what_would_be() {
        for text in [
            "",
            ".",
            "[",
            "[]",
            "spec.",
            "spec..x",
            "spec[",
            "spec[name=",
            "spec[name=a",
            "spec[a=b,]",
            "**",
            "**.**",
            "app.kubernetes.io/name",
            "spec[\"a]",
            "spec]x",
            "Pod:",
            "a b",
            "spec[a,b]",
            "spec[name=a]x",
        ] {
            let refused = text.parse::<PathRule>().unwrap_err();
            assert!(
                refused.starts_with(&format!("invalid path `{text}`")) && refused.contains("; write "),
                "{refused}"
            );
        }
        assert!("x.".repeat(65).trim_end_matches('.').parse::<PathRule>().is_err());
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let key = prop::collection::vec(("[a-z]{1,4}", "[ -~é]{0,6}"), 1..3).prop_map(ElementKey);
        prop_oneof![
            "[ -~é]{0,8}".prop_map(Step::Member),
            (0_usize..200).prop_map(|at| Step::Element(Element { before: None, after: Some(at), key: None })),
            key.prop_map(|key| Step::Element(Element { before: Some(0), after: Some(0), key: Some(key) })),
        ]
    }

    proptest! {
        #[test]
        fn the_path_of_a_difference_names_it(steps in prop::collection::vec(any_step(), 1..8)) {
            let path = readable(&steps);
            let rule: PathRule = path.parse().map_err(TestCaseError::fail)?;
            prop_assert!(rule.names(&steps), "{path}");
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]\"=,.*/a1:$ ~\\\\]{0,24}", steps in prop::collection::vec(any_step(), 0..6)) {
            if let Ok(rule) = text.parse::<PathRule>() {
                rule.names(&steps);
            }
        }
    }
}
