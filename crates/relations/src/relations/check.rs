//! What a file of relations says, checked; every mistake is told, not only the first.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_saphyr::{Location, Spanned};

use super::super::{Direction, EdgeKind};
use super::MAX_RELATIONS;
use super::file::{self, Entry};
use super::relation::{Group, Namespace, Pattern, Relation, Target, Way};
use strandline_object::json::Path;
use strandline_syntax::diagnostics::{Mistake, instead};

/// The named groups that a pattern may have.
const PARTS: [&str; 4] = ["name", "namespace", "group", "kind"];

/// How much memory a compiled pattern may take, in bytes.
const PATTERN_BYTES: usize = 256 * 1024;

const PATH_HINT: &str = "write it as in RFC 9535, such as $.spec.secretName or $.spec.routes[*].name";
const WAYS_HINT: &str = "keep one of `path`, `label`, `annotation`, `selector` and `reference`";

/// Checks all entries.
pub(super) fn check(entries: &[Entry]) -> Result<Vec<Relation>, Vec<Mistake>> {
    let mut check = Check::default();
    let mut lines: HashMap<&str, u64> = HashMap::new();
    let mut relations = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let at = entry.name.referenced;
        if place == MAX_RELATIONS {
            check.say(at, "too_many", format!("more than {MAX_RELATIONS} relations"));
            break;
        }
        if entry.name.value.trim().is_empty() {
            check.say(at, "bad_name", "the relation's `name` is empty");
        } else if let Some(line) = lines.insert(&entry.name.value, at.line()) {
            let message = format!("duplicate relation `{}`, first in line {line}", entry.name.value);
            check.say(at, "duplicate", message);
        }
        relations.extend(check.relation(entry));
    }
    check.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    if check.mistakes.is_empty() { Ok(relations) } else { Err(check.mistakes) }
}

#[derive(Default)]
struct Check {
    mistakes: Vec<Mistake>,
}

impl Check {
    fn say(&mut self, location: Location, code: &'static str, message: impl Into<String>) {
        self.mistakes.push(Mistake::at(location, code, message));
    }

    fn advise(
        &mut self,
        at: Location,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.mistakes.push(Mistake::at(at, code, message).hint(hint));
    }

    /// One relation; none where a mistake was told.
    fn relation(&mut self, entry: &Entry) -> Option<Relation> {
        let (edge, direction) = (self.edge(&entry.edge), self.direction(&entry.direction));
        let object = self.object(&entry.object);
        let way = self.way(entry);
        let pattern = self.pattern(entry, way.as_ref());
        let target = self.target(entry, way.as_ref(), pattern.as_ref().and_then(Option::as_ref));
        Some(Relation {
            edge: edge?,
            direction: direction?,
            object: object?,
            way: way?,
            pattern: pattern?,
            target: target?,
        })
    }

    fn edge(&mut self, written: &Spanned<String>) -> Option<EdgeKind> {
        let told = |message: String| self.say(written.referenced, "bad_edge", message);
        written.value.parse().map_err(told).ok()
    }

    fn direction(&mut self, written: &Spanned<String>) -> Option<Direction> {
        match written.value.as_str() {
            "to_target" => Some(Direction::ToFar),
            "from_target" => Some(Direction::FromFar),
            other => {
                let message = format!("invalid direction `{other}`; use one of to_target, from_target");
                let hint = "an edge goes from cause to dependent: to_target where the object is the cause";
                self.advise(written.referenced, "bad_direction", message, hint);
                None
            }
        }
    }

    fn object(&mut self, written: &file::Pattern) -> Option<Pattern> {
        let kind = match written.kind.value.as_str() {
            "*" => Some(None),
            _ => self.kind(&written.kind).map(Some),
        };
        let group = match written.group.as_ref() {
            None => Some(Group::Only(String::new())),
            Some(group) => match group.value.strip_prefix('*') {
                Some("") => Some(Group::Any),
                Some(rest) => {
                    let below = rest.strip_prefix('.').filter(|below| is_word(below));
                    if below.is_none() {
                        let message = format!("invalid group pattern `{}`", group.value);
                        self.advise(group.referenced, "bad_group", message, "write apps, *.example.org or *");
                    }
                    below.map(|below| Group::Below(below.to_owned()))
                }
                None => self.group(group).map(Group::Only),
            },
        };
        Some(Pattern { group: group?, kind: kind? })
    }

    fn kind(&mut self, written: &Spanned<String>) -> Option<String> {
        let named = written.value.starts_with(|c: char| c.is_ascii_uppercase());
        if named && written.value.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Some(written.value.clone());
        }
        let message = format!("invalid kind `{}`", written.value);
        self.advise(written.referenced, "bad_kind", message, "write it as in manifests, such as Secret");
        None
    }

    fn group(&mut self, written: &Spanned<String>) -> Option<String> {
        if written.value.is_empty() || is_word(&written.value) {
            return Some(written.value.clone());
        }
        let message = format!("invalid group `{}`", written.value);
        self.advise(written.referenced, "bad_group", message, "write it without its version, such as apps");
        None
    }

    fn path(&mut self, written: &Spanned<String>) -> Option<Path> {
        let told = |why| {
            let message = format!("`{}` {why}", written.value);
            self.advise(written.referenced, "bad_path", message, PATH_HINT);
        };
        Path::parse(&written.value).map_err(told).ok()
    }

    /// The name of a label or annotation.
    fn key(&mut self, written: &Spanned<String>) -> Option<String> {
        if written.value.is_empty() {
            self.say(written.referenced, "bad_name", "the name of the label or annotation is empty");
        }
        Some(written.value.clone()).filter(|name| !name.is_empty())
    }

    fn way(&mut self, entry: &Entry) -> Option<Way> {
        let ways = [&entry.path, &entry.label, &entry.annotation, &entry.selector, &entry.reference];
        match ways.iter().filter(|way| way.is_some()).count() {
            1 => {}
            0 => {
                let message = format!("the relation `{}` has no source of the link", entry.name.value);
                let hint = "add one of `path`, `label`, `annotation`, `selector` and `reference`";
                self.advise(entry.name.referenced, "missing_key", message, hint);
            }
            _ => {
                let message =
                    format!("the relation `{}` has more than one source of the link", entry.name.value);
                self.advise(entry.name.referenced, "conflict", message, WAYS_HINT);
                return None;
            }
        }
        if let Some(path) = &entry.path {
            return self.path(path).map(Way::Path);
        }
        if let Some(name) = &entry.label {
            return self.key(name).map(Way::Label);
        }
        if let Some(name) = &entry.annotation {
            return self.key(name).map(Way::Annotation);
        }
        if let Some(path) = &entry.selector {
            return self.path(path).map(Way::Selector);
        }
        self.path(entry.reference.as_ref()?).map(Way::Reference)
    }

    /// The pattern, if there is one; none where it is mistaken.
    fn pattern(&mut self, entry: &Entry, way: Option<&Way>) -> Option<Option<Regex>> {
        let Some(written) = &entry.pattern else { return Some(None) };
        let at = written.referenced;
        if matches!(way, Some(Way::Selector(_) | Way::Reference(_))) {
            let message = "`pattern` needs a source with text";
            self.advise(at, "conflict", message, "use it with `path`, `label` or `annotation`");
            return None;
        }
        let compile = |text: &str| RegexBuilder::new(text).size_limit(PATTERN_BYTES).nest_limit(50).build();
        // By itself first, so that it cannot close what is opened around it.
        let Ok(pattern) =
            compile(&written.value).and_then(|_| compile(&format!(r"\A(?:{})\z", written.value)))
        else {
            let message = format!("invalid or too large regular expression `{}`", written.value);
            self.advise(at, "bad_pattern", message, r"such as (?<name>[^.]+)\.(?<namespace>[^.]+)");
            return None;
        };
        let parts: Vec<&str> = pattern.capture_names().flatten().collect();
        for part in parts.iter().filter(|part| !PARTS.contains(part)) {
            let message = format!("unknown group name `{part}` for a target");
            self.advise(at, "bad_pattern", message, instead(part, &PARTS, "parts"));
        }
        if !parts.contains(&"name") {
            let message = "the pattern has no group `name`";
            self.advise(at, "bad_pattern", message, "add a group (?<name>…) around the name");
        }
        (parts.contains(&"name") && parts.iter().all(|part| PARTS.contains(part))).then_some(Some(pattern))
    }

    fn target(&mut self, entry: &Entry, way: Option<&Way>, pattern: Option<&Regex>) -> Option<Target> {
        let target = entry.target.as_ref();
        let kind = match target.and_then(|target| target.kind.as_ref()) {
            Some(kind) => self.kind(kind),
            None => {
                let told = pattern
                    .is_some_and(|pattern| pattern.capture_names().flatten().any(|part| part == "kind"));
                // Without a way, or with a mistaken pattern, the target is the smaller problem.
                let unknown = way.is_none() || (entry.pattern.is_some() && pattern.is_none());
                if !told && !unknown && !matches!(way, Some(Way::Reference(_))) {
                    let message = format!("the relation `{}` has no target kind", entry.name.value);
                    self.advise(
                        entry.name.referenced,
                        "missing_key",
                        message,
                        "add `target: {group: …, kind: …}`",
                    );
                }
                Some(String::new())
            }
        };
        let Some(target) = target else { return Some(Target::default()) };
        let group = target.group.as_ref().map_or(Some(String::new()), |group| self.group(group));
        let scoped: Vec<_> = target.cluster_scoped.iter().map(|kind| self.kind(kind)).collect();
        let namespace = self.namespace(target.namespace.as_ref());
        Some(Target {
            group: group?,
            kind: kind?,
            cluster_scoped: scoped.into_iter().collect::<Option<_>>()?,
            namespace: namespace?,
        })
    }

    fn namespace(&mut self, written: Option<&file::Namespace>) -> Option<Namespace> {
        Some(match written {
            None | Some(file::Namespace::Own) => Namespace::Own,
            Some(file::Namespace::None) => Namespace::None,
            Some(file::Namespace::Fixed(name)) => {
                if !strandline_syntax::is_dns_label(&name.value) {
                    let message = format!("invalid namespace `{}`", name.value);
                    let hint = "use up to 63 lower-case letters, digits and `-`, not at either end";
                    self.advise(name.referenced, "bad_name", message, hint);
                    return None;
                }
                Namespace::Fixed(name.value.clone())
            }
            Some(file::Namespace::Path(path)) => Namespace::Path(self.path(path)?),
            Some(file::Namespace::Label(name)) => Namespace::Label(self.key(name)?),
            Some(file::Namespace::Annotation(name)) => Namespace::Annotation(self.key(name)?),
        })
    }
}

/// Whether a text could be a group, or its end.
fn is_word(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(strandline_syntax::is_dns_label)
}
