//! What to do when something ends or fails: decisions only, so that each can be read and tested by itself.

use std::time::Duration;

use super::Limits;
use super::request::Failure;
use strandline_model::reason;

/// What was going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Listing: what came so far is recorded, nothing follows from what did not come.
    Listing,
    /// Watching, or trying to.
    Watching,
}

/// What to do next, after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Begin a new run with a list.
    Relist,
    /// Watch on from the cursor.
    Resume,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) next: Next,
    /// The reason of the gap that this is; none where nothing was missed yet.
    pub(super) gap: Option<&'static str>,
    /// How long the server asked us to stay away.
    pub(super) after: Option<Duration>,
}

/// Servers may ask for long absences; nobody is left unwatched for longer than this at their word.
const LONGEST_ABSENCE: Duration = Duration::from_secs(120);

/// What follows from a failure.
pub(super) fn decide(activity: Activity, failure: &Failure) -> Verdict {
    let same = match activity {
        // A list that is begun again is another run: what the broken one saw may be gone by now.
        Activity::Listing => Next::Relist,
        Activity::Watching => Next::Resume,
    };
    let (next, gap, after) = match failure {
        // A list that took longer than the cluster remembers is only begun again.
        Failure::Gone if activity == Activity::Listing => (Next::Relist, None, None),
        Failure::Gone => (Next::Relist, Some(reason::RESTARTED), None),
        Failure::Forbidden(_) => (same, Some(reason::FORBIDDEN), None),
        Failure::Unauthorized(_) => (same, Some(reason::UNAUTHORIZED), None),
        Failure::Credentials(_) => (same, Some(reason::CREDENTIALS), None),
        Failure::NotServed(_) => (same, Some(reason::NOT_SERVED), None),
        Failure::Busy { after, .. } => (same, Some(reason::UNREACHABLE), *after),
        Failure::Unreachable(_) => (same, Some(reason::UNREACHABLE), None),
        // The same question would get the same answer, so the cursor is given up.
        Failure::Rejected(_) | Failure::Invalid(_) | Failure::TooLarge(_) => {
            (Next::Relist, Some(reason::INVALID), None)
        }
    };
    Verdict { next, gap, after: after.map(|after| after.min(LONGEST_ABSENCE)) }
}

/// What follows from a watch that ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// As every watch does after some minutes: open the next.
    Now,
    /// It was short: open the next after a pause.
    Later,
    /// Watch after watch closes at once and says nothing, so the cursor is of no use.
    Relist,
}

/// What a watch brought before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// Not a line that could be read.
    Nothing,
    /// Lines that moved the cursor nowhere.
    Repeats,
    /// Changes: the cursor moved.
    Progress,
}

/// Decides after a watch that lasted so long and brought something or not; `empty` counts those that did
/// neither, one after the other.
pub(super) fn after_close(lasted: Duration, brought: Brought, empty: &mut u32, limits: &Limits) -> Close {
    let long = lasted >= limits.pace * 10;
    *empty = if brought != Brought::Nothing || long { 0 } else { empty.saturating_add(1) };
    // Whoever cuts every watch short is kept up with, as long as each brings more: pauses would add up.
    if long || brought == Brought::Progress {
        Close::Now
    } else if *empty > 0 && empty.is_multiple_of(limits.empty_watches.max(1)) {
        Close::Relist
    } else {
        Close::Later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_consequences() {
        use Activity::{Listing, Watching};
        use Next::{Relist, Resume};
        let text = String::new;
        let busy = |seconds| Failure::Busy { message: text(), after: Some(Duration::from_secs(seconds)) };
        let cases = [
            (Listing, Failure::Gone, Relist, None),
            (Watching, Failure::Gone, Relist, Some("restarted")),
            (Listing, Failure::Forbidden(text()), Relist, Some("forbidden")),
            (Watching, Failure::Forbidden(text()), Resume, Some("forbidden")),
            (Watching, Failure::Unauthorized(text()), Resume, Some("unauthorized")),
            (Watching, Failure::Credentials(text()), Resume, Some("credentials")),
            (Watching, Failure::NotServed(text()), Resume, Some("not_served")),
            (Watching, Failure::Unreachable(text()), Resume, Some("unreachable")),
            (Watching, busy(7), Resume, Some("unreachable")),
            (Listing, busy(7), Relist, Some("unreachable")),
            (Watching, Failure::Invalid(text()), Relist, Some("invalid")),
            (Watching, Failure::TooLarge(text()), Relist, Some("invalid")),
        ];
        for (activity, failure, next, gap) in cases {
            let verdict = decide(activity, &failure);
            assert_eq!((verdict.next, verdict.gap), (next, gap), "{activity:?} {failure:?}");
        }
        assert_eq!(decide(Watching, &busy(7)).after, Some(Duration::from_secs(7)));
        assert_eq!(decide(Watching, &busy(1_000_000)).after, Some(LONGEST_ABSENCE));
    }

    #[test]
    fn watches_that_close_at_once_do_not_go_on_for_ever() {
        let limits = Limits { empty_watches: 3, ..Limits::default() };
        let mut empty = 0;
        let mut close =
            |seconds, brought| after_close(Duration::from_secs(seconds), brought, &mut empty, &limits);
        use Brought::{Nothing, Progress, Repeats};
        assert_eq!(close(300, Nothing), Close::Now);
        assert_eq!(close(300, Repeats), Close::Now);
        let closes: Vec<_> = (0..6).map(|_| close(0, Nothing)).collect();
        use Close::{Later, Relist};
        assert_eq!(closes, [Later, Later, Relist, Later, Later, Relist]);
        assert!(
            (0..9).all(|_| close(0, Repeats) == Later),
            "a watch that repeats itself is only slowed down"
        );
        assert!((0..9).all(|_| close(0, Progress) == Close::Now), "one that makes progress is kept up with");
    }
}
