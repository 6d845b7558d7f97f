//! One relation, and what it finds in an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::super::selector::{SELECTOR, labels, selector};
use super::super::told::{Defaults, REFERENCE, Told, kind_of, named, referenced};
use super::super::{Direction, EdgeKind, Far};
use strandline_object::Object;
use strandline_object::json::{Budget, Path};
use strandline_object::json::{Shape, pick_value};
use strandline_syntax::LabelSelector;

/// The longest text that a pattern is tried on, in bytes; a name with all that may stand around it is shorter.
const MAX_TEXT: usize = 2048;

/// A relation that was found to be sound.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) edge: EdgeKind,
    pub(super) direction: Direction,
    pub(super) object: Pattern,
    pub(super) way: Way,
    pub(super) pattern: Option<Regex>,
    pub(super) target: Target,
}

/// Which objects carry the link.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) group: Group,
    /// None for any kind.
    pub(super) kind: Option<String>,
}

/// Which groups are meant.
#[derive(Clone, Debug)]
pub(super) enum Group {
    Any,
    /// Those that end with a dot and this.
    Below(String),
    Only(String),
}

/// Where the link stands.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Texts found by a path.
    Path(Path),
    /// The value of a label.
    Label(String),
    /// The value of an annotation.
    Annotation(String),
    /// Selectors found by a path.
    Selector(Path),
    /// References found by a path.
    Reference(Path),
}

/// What stands at the other end, where the link itself does not say.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    pub(super) group: String,
    /// Empty where the link has to say it.
    pub(super) kind: String,
    /// Kinds that have no namespace, whatever is said.
    pub(super) cluster_scoped: BTreeSet<String>,
    pub(super) namespace: Namespace,
}

/// The namespace of the target, where the link itself does not say.
#[derive(Clone, Debug, Default)]
pub(super) enum Namespace {
    /// That of the object.
    #[default]
    Own,
    None,
    Fixed(String),
    /// The text that a path finds first; without one that of the object. So with labels and annotations.
    Path(Path),
    Label(String),
    Annotation(String),
}

impl Relation {
    /// The kind of the objects that carry it; none for any.
    pub(super) fn kind(&self) -> Option<&str> {
        self.object.kind.as_deref()
    }

    /// Whether objects of a kind carry it.
    pub(super) fn concerns(&self, group: &str, kind: &str) -> bool {
        let grouped = match &self.object.group {
            Group::Any => true,
            Group::Below(suffix) => {
                group.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            Group::Only(only) => group == only,
        };
        grouped && self.kind().is_none_or(|own| own == kind)
    }

    /// The paths by which it looks into an object.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let way = match &self.way {
            Way::Path(path) | Way::Selector(path) | Way::Reference(path) => Some(path),
            Way::Label(_) | Way::Annotation(_) => None,
        };
        let namespace = if let Namespace::Path(path) = &self.target.namespace { Some(path) } else { None };
        way.into_iter().chain(namespace)
    }

    /// Tells what it finds; nothing once the budget does not suffice.
    pub(super) fn tell(&self, told: &mut Told, object: &Object<'_>, root: &Value, budget: &mut Budget) {
        let Some(namespace) = self.namespace(object, root, budget) else { return };
        let found = match &self.way {
            Way::Path(path) | Way::Selector(path) | Way::Reference(path) => path.find(root, budget),
            Way::Label(_) | Way::Annotation(_) => None,
        };
        let mut tell = |far: Option<Far>| {
            let far = far.filter(|far| !is_itself(far, object));
            told.tell(self.edge, self.direction, far);
            !told.is_full()
        };
        let mut found = found.into_iter().flatten();
        _ = match &self.way {
            Way::Path(_) => {
                found.all(|value| tell(value.as_str().and_then(|text| self.by_name(text, &namespace))))
            }
            Way::Selector(_) => found.all(|value| tell(self.by_labels(value, &namespace))),
            Way::Reference(_) => found.all(|value| tell(self.by_reference(value, &namespace))),
            Way::Label(name) => {
                tell(object.metadata.label(name).and_then(|text| self.by_name(text, &namespace)))
            }
            Way::Annotation(name) => {
                tell(object.metadata.annotation(name).and_then(|text| self.by_name(&text, &namespace)))
            }
        };
    }

    /// The namespace of the target where the link does not say; none when the budget does not suffice.
    fn namespace<'o>(
        &'o self,
        object: &'o Object<'_>,
        root: &'o Value,
        budget: &mut Budget,
    ) -> Option<Cow<'o, str>> {
        let said = match &self.target.namespace {
            Namespace::Own => None,
            Namespace::None => Some("".into()),
            Namespace::Fixed(namespace) => Some(namespace.into()),
            Namespace::Path(path) => {
                path.find(root, budget)?.into_iter().find_map(Value::as_str).map(Cow::Borrowed)
            }
            Namespace::Label(name) => object.metadata.label(name).map(Cow::Borrowed),
            Namespace::Annotation(name) => object.metadata.annotation(name),
        };
        Some(said.unwrap_or(Cow::Borrowed(&object.metadata.namespace)))
    }

    /// What a text names, by the pattern where there is one.
    fn by_name(&self, text: &str, namespace: &str) -> Option<Far> {
        let Target { group, kind, .. } = &self.target;
        let Some(pattern) = &self.pattern else {
            return named(group, kind, self.placed(kind, namespace), Some(text));
        };
        let parts =
            Some(text).filter(|text| text.len() <= MAX_TEXT).and_then(|text| pattern.captures(text))?;
        let part = |name| parts.name(name).map(|part| part.as_str());
        let kind = part("kind").unwrap_or(kind);
        let namespace = self.placed(kind, part("namespace").unwrap_or(namespace));
        named(part("group").unwrap_or(group), kind, namespace, part("name"))
    }

    fn by_reference(&self, value: &Value, namespace: &str) -> Option<Far> {
        let Target { group, kind, .. } = &self.target;
        let far = referenced(&pick_value(value, &REFERENCE), Defaults { group, kind, namespace })?;
        Some(match far {
            Far::Key { kind, namespace, name } => {
                let namespace = self.placed(&kind.kind, &namespace).to_owned();
                Far::Key { kind, namespace, name }
            }
            other => other,
        })
    }

    fn by_labels(&self, value: &Value, namespace: &str) -> Option<Far> {
        let Target { group, kind, .. } = &self.target;
        let namespace = self.placed(kind, namespace).to_owned();
        // What selects everything would be said by a kind, not by labels.
        let selector = selector_of(value).filter(|selector| !selector.is_empty())?;
        Some(Far::Matching { kind: kind_of(group, kind)?, namespace, selector })
    }

    fn placed<'n>(&self, kind: &str, namespace: &'n str) -> &'n str {
        if self.target.cluster_scoped.contains(kind) { "" } else { namespace }
    }
}

/// A selector with `matchLabels` and `matchExpressions`, or a plain map of labels.
fn selector_of(value: &Value) -> Option<LabelSelector> {
    let members = value.as_object()?;
    if members.keys().all(|name| matches!(name.as_str(), "matchLabels" | "matchExpressions")) {
        selector(&pick_value(value, &SELECTOR))
    } else {
        labels(&pick_value(value, &Shape::Texts))
    }
}

fn is_itself(far: &Far, object: &Object<'_>) -> bool {
    let metadata = &object.metadata;
    match far {
        Far::Uid { uid, .. } => uid.as_str() == metadata.uid,
        Far::Key { kind, namespace, name } => {
            *name == metadata.name && *namespace == metadata.namespace && *kind == object.group_kind()
        }
        Far::Matching { .. } | Far::Numbered { .. } | Far::Every { .. } => false,
    }
}
