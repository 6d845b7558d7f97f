//! What every part of applying one record works with.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use rusqlite::Connection;

use super::activity_draft::ActivityDraft;
use super::due::EarliestDue;
use super::environment_health::{self, EnvironmentStates};
use super::ids::Ids;
use super::open_gaps::OpenGaps;
use super::options::Sizes;
use super::ruleset::RuleSet;
use super::search_lines::SearchLines;
use super::segment::{Now, Segments};
use super::tallies::Tallies;
use strandline_model::{Labels, Offset, ResourceId, Timestamp};

/// What a record touched, for whoever follows the view live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Environments whose members, counts or health moved, by the log's number.
    pub environments: BTreeSet<i64>,
    /// Those of them of which something else is declared.
    pub declared: BTreeSet<i64>,
    /// Resources that took a new state or ended.
    pub resources: BTreeSet<ResourceId>,
}

impl Touched {
    /// Adds what another record touched.
    pub fn extend(&mut self, other: Touched) {
        self.environments.extend(other.environments);
        self.declared.extend(other.declared);
        self.resources.extend(other.resources);
    }
}

/// The rules by which a record is applied, with the view's number of them.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) set: &'a RuleSet,
    pub(super) id: i64,
}

/// What the view's writer remembers of it, as long as all that was written is committed, with what it is yet to write.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) ids: Ids,
    pub(super) segments: Segments,
    pub(super) gaps: OpenGaps,
    pub(super) environments: EnvironmentStates,
    pub(super) tallies: Tallies,
    pub(super) lines: SearchLines,
    pub(super) due: EarliestDue,
}

impl Cache {
    /// An empty one.
    pub(super) fn new(sizes: Sizes) -> Self {
        Cache {
            ids: Ids::new(sizes.label_names),
            segments: Segments::new(sizes.segment_rows),
            gaps: OpenGaps::default(),
            environments: EnvironmentStates::default(),
            tallies: Tallies::default(),
            lines: SearchLines::default(),
            due: EarliestDue::default(),
        }
    }

    /// Forgets all of it.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.segments.clear();
        self.gaps = OpenGaps::default();
        self.environments = EnvironmentStates::default();
        self.tallies = Tallies::default();
        self.lines = SearchLines::default();
        self.due = EarliestDue::default();
    }

    /// Writes what is not written yet.
    pub(super) fn write(&mut self, connection: &Connection, rule_set: i64) -> rusqlite::Result<()> {
        environment_health::write(connection, &mut self.environments, &mut self.segments, rule_set)?;
        self.tallies.write(connection)?;
        self.lines.write(connection)?;
        self.segments.trim();
        Ok(())
    }
}

/// The view at the moment a record is applied.
pub(super) struct Apply<'a> {
    pub(super) connection: &'a Connection,
    pub(super) ids: &'a mut Ids,
    pub(super) segments: &'a mut Segments,
    pub(super) gaps: &'a mut OpenGaps,
    pub(super) environments: &'a mut EnvironmentStates,
    pub(super) tallies: &'a mut Tallies,
    pub(super) lines: &'a mut SearchLines,
    pub(super) due: &'a mut EarliestDue,
    pub(super) rules: Rules<'a>,
    pub(super) offset: Offset,
    pub(super) observed_at: Timestamp,
    /// The resource of which the view had nothing before this record, if it is one.
    pub(super) newcomer: Option<Newcomer>,
    /// The labels of the record's resource, where the record brought others than it had.
    pub(super) labels: Option<(ResourceId, Arc<Labels>)>,
    pub(super) touched: Touched,
    pub(super) activity: ActivityDraft,
}

/// A resource of which the view had nothing.
pub(super) struct Newcomer {
    pub(super) id: ResourceId,
    /// The images that it came with.
    pub(super) images: BTreeSet<i64>,
}

impl<'a> Apply<'a> {
    /// Where rows are written, and from which offset on they hold.
    pub(super) fn now(&self) -> Now<'a> {
        Now { connection: self.connection, offset: self.offset }
    }

    /// Whether the view had nothing of a resource before this record.
    pub(super) fn is_new(&self, id: ResourceId) -> bool {
        self.newcomer.as_ref().is_some_and(|newcomer| newcomer.id == id)
    }

    /// What the view had of a resource before this record, which may not have written any of it yet. Where a resource is new, that is
    /// nothing: most of what a list brings is, and one look after the other would find so.
    pub(super) fn had<T: Default + PartialEq + Debug>(
        &self,
        id: ResourceId,
        read: impl FnOnce(&Self) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        if !self.is_new(id) {
            return read(self);
        }
        if cfg!(debug_assertions) {
            assert_eq!(read(self)?, T::default(), "the view has something of a resource that is new to it");
        }
        Ok(T::default())
    }
}
