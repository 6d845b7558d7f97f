//! Where an entry of a timeline is, and which entries a page holds.

use crate::timeline::filter::Order;
use strandline_model::{Happening, Lane, Stored, Timestamp};

/// Where something stands among all that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) time: Timestamp,
    pub(crate) offset: i64,
    pub(crate) what: What,
    /// The resource, the Event or the deployment.
    pub(crate) subject: i64,
}

/// What stands there, in the order in which what stands at one change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// Something happened to a resource, was said of one, or was deployed.
    Happened(Happening),
    /// The health became another.
    Health,
    /// A gap began.
    Gap,
}

impl What {
    /// The number in page tokens and in ids of entries; health and gaps follow on the numbers of the view.
    pub(crate) fn code(self) -> i64 {
        match self {
            What::Happened(happening) => happening.number(),
            What::Health => 100,
            What::Gap => 101,
        }
    }

    /// What happened, where it is kept among what did.
    pub(crate) fn happening(self) -> Option<Happening> {
        if let What::Happened(what) = self { Some(what) } else { None }
    }

    pub(super) fn of_code(code: i64) -> Option<Self> {
        let others = [What::Health, What::Gap].into_iter().find(|what| what.code() == code);
        others.or_else(|| Happening::of_number(code).map(What::Happened))
    }

    /// The lane on which it is drawn.
    pub(super) fn lane(self) -> Lane {
        match self {
            What::Happened(happening) => happening.lane(),
            What::Health => Lane::Health,
            What::Gap => Lane::Gaps,
        }
    }
}

/// Which entries a page holds.
pub(super) struct EntryFilter<'a> {
    pub(super) lanes: &'a [Lane],
    pub(super) order: Order,
    pub(super) after: Option<Place>,
    /// One more than the page holds.
    pub(super) limit: usize,
}

impl EntryFilter<'_> {
    pub(super) fn shows(&self, lane: Lane) -> bool {
        self.lanes.is_empty() || self.lanes.contains(&lane)
    }

    pub(super) fn follows(&self, place: &Place) -> bool {
        match (self.after, self.order) {
            (None, _) => true,
            (Some(after), Order::Newest) => *place < after,
            (Some(after), Order::Oldest) => *place > after,
        }
    }

    /// Offsets, both included, cut to where the page can begin. Health may change later than the change that lets it, so
    /// that the offset it stands at says nothing of what came between.
    pub(super) fn offsets(&self, from: i64, to: i64) -> (i64, i64) {
        match self.after.filter(|after| matches!(after.what, What::Happened(_))) {
            Some(after) if self.order == Order::Newest => (from, to.min(after.offset)),
            Some(after) => (from.max(after.offset), to),
            None => (from, to),
        }
    }

    /// Puts what happened into order and cuts it to what a page needs.
    pub(super) fn cut(&self, places: &mut Vec<Place>) {
        places.retain(|place| self.follows(place));
        places.sort_unstable();
        if self.order == Order::Newest {
            places.reverse();
        }
        places.truncate(self.limit);
    }
}
