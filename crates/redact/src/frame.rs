//! A container that the walk over an object is in.

use std::ops::Range;

use super::names::Meaning;
use super::remembered::Key;

/// What a container is, as far as it decides what is looked for in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The object itself.
    Top,
    /// Its metadata: identity, labels and owners stay as they are.
    Metadata,
    /// Labels, or what selects by them.
    Labels,
    /// A command with its arguments.
    Command,
    /// What a template makes of a Secret.
    SecretTemplate,
    /// The members that a schema allows.
    Schema,
    /// Anything else.
    Other,
}

pub(super) struct Frame {
    pub(super) place: Place,
    pub(super) object: bool,
    pub(super) start: usize,
    /// What the current member's name says.
    pub(super) key: Key,
    /// What the name above announces for what stands in here: all of it, or only what is called a value.
    pub(super) above: Meaning,
    pub(super) all: bool,
    /// Whether the name above says that something is referred to.
    pub(super) reference: bool,
    /// What a `name` or `key` in here announces for the `value` beside it, and whether they are no such pair.
    pub(super) named: Meaning,
    pub(super) names_login: bool,
    pub(super) is_condition: bool,
    /// Strings under `value`.
    pub(super) values: Vec<Range<usize>>,
    /// The strings under `apiVersion`, `kind` and `type`, and where `data` and `stringData` stand.
    pub(super) api_version: Range<usize>,
    pub(super) kind: Range<usize>,
    pub(super) kind_of_data: Range<usize>,
    pub(super) data: Vec<Range<usize>>,
    /// What the last string of a command says of the next.
    pub(super) flag: Meaning,
    pub(super) login: bool,
    /// The strings of a command.
    pub(super) words: Vec<Range<usize>>,
}

impl Frame {
    pub(super) fn new(place: Place, object: bool, start: usize) -> Self {
        Frame {
            place,
            object,
            start,
            key: Key::NONE,
            above: Meaning::Nothing,
            all: false,
            reference: false,
            named: Meaning::Nothing,
            names_login: false,
            is_condition: false,
            values: Vec::new(),
            api_version: 0..0,
            kind: 0..0,
            kind_of_data: 0..0,
            data: Vec::new(),
            flag: Meaning::Nothing,
            login: false,
            words: Vec::new(),
        }
    }
}
