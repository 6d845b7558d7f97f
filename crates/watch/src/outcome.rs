//! What to do when something ends or fails: decisions only, so that each can be read and tested by itself.

use std::time::Duration;

use super::limits::Limits;
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

/// What to do about a failure, after a back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Begin a new run with a list; `gap` is the reason of the gap, none where nothing more is missed.
    Relist { gap: Option<&'static str> },
    /// The cluster was not reached, so that its store may have been rolled back meanwhile: a gap, and a list after the
    /// time that the server asked for.
    RelistAfterOutage { after: Option<Duration> },
    /// A gap, in which the cursor stays good.
    Resume { gap: &'static str },
    /// A gap until other credentials are accepted; they may have been replaced where they were read from.
    RenewCredentials,
}

impl Recovery {
    /// The reason of the gap that the failure is.
    pub(super) fn gap(self) -> Option<&'static str> {
        match self {
            Recovery::Relist { gap } => gap,
            Recovery::RelistAfterOutage { .. } => Some(reason::UNREACHABLE),
            Recovery::Resume { gap } => Some(gap),
            Recovery::RenewCredentials => Some(reason::UNAUTHORIZED),
        }
    }
}

/// Servers may ask for long absences; no kind is left unwatched for longer than this at their word.
const LONGEST_ABSENCE: Duration = Duration::from_secs(120);

/// Decides what to do about a failure.
pub(super) fn decide(activity: Activity, failure: &Failure) -> Recovery {
    let refused = |gap| match activity {
        // A list that is begun again is another run: what the broken one saw may be gone by now.
        Activity::Listing => Recovery::Relist { gap: Some(gap) },
        Activity::Watching => Recovery::Resume { gap },
    };
    match failure {
        // A list that took longer than the cluster remembers is only begun again.
        Failure::Gone if activity == Activity::Listing => Recovery::Relist { gap: None },
        Failure::Gone => Recovery::Relist { gap: Some(reason::RESTARTED) },
        Failure::Forbidden(_) => refused(reason::FORBIDDEN),
        Failure::Unauthorized(_) => Recovery::RenewCredentials,
        Failure::Credentials(_) => refused(reason::CREDENTIALS),
        Failure::NotServed(_) => refused(reason::NOT_SERVED),
        Failure::Busy { after, .. } => {
            Recovery::RelistAfterOutage { after: after.map(|after| after.min(LONGEST_ABSENCE)) }
        }
        Failure::Unreachable(_) => Recovery::RelistAfterOutage { after: None },
        // The same question would get the same answer, so the cursor is given up.
        Failure::Rejected(_) | Failure::Invalid(_) | Failure::TooLarge(_) => {
            Recovery::Relist { gap: Some(reason::INVALID) }
        }
    }
}

/// What follows from a watch that ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// As every watch does after some minutes: open the next.
    Now,
    /// It was short: open the next after a pause.
    Later,
    /// Watch after watch closes at once and sends nothing, so the cursor is of no use.
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
    // No pause while each watch of a server that cuts them short brings more: pauses would add up.
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
        use Recovery::{Relist, RelistAfterOutage, RenewCredentials, Resume};
        let text = String::new;
        let busy = |seconds| Failure::Busy { message: text(), after: Some(Duration::from_secs(seconds)) };
        let after = |seconds| RelistAfterOutage { after: Some(Duration::from_secs(seconds)) };
        let relist = |gap| Relist { gap: Some(gap) };
        let cases = [
            (Listing, Failure::Gone, Relist { gap: None }, None),
            (Watching, Failure::Gone, relist("restarted"), Some("restarted")),
            (Listing, Failure::Forbidden(text()), relist("forbidden"), Some("forbidden")),
            (Watching, Failure::Forbidden(text()), Resume { gap: "forbidden" }, Some("forbidden")),
            (Listing, Failure::Unauthorized(text()), RenewCredentials, Some("unauthorized")),
            (Watching, Failure::Unauthorized(text()), RenewCredentials, Some("unauthorized")),
            (Watching, Failure::Credentials(text()), Resume { gap: "credentials" }, Some("credentials")),
            (Watching, Failure::NotServed(text()), Resume { gap: "not_served" }, Some("not_served")),
            (Listing, Failure::NotServed(text()), relist("not_served"), Some("not_served")),
            (Watching, Failure::Unreachable(text()), RelistAfterOutage { after: None }, Some("unreachable")),
            (Watching, busy(7), after(7), Some("unreachable")),
            (Listing, busy(7), after(7), Some("unreachable")),
            (Watching, busy(1_000_000), after(120), Some("unreachable")),
            (Watching, Failure::Rejected(text()), relist("invalid"), Some("invalid")),
            (Watching, Failure::Invalid(text()), relist("invalid"), Some("invalid")),
            (Watching, Failure::TooLarge(text()), relist("invalid"), Some("invalid")),
        ];
        for (activity, failure, expected, gap) in cases {
            let recovery = decide(activity, &failure);
            assert_eq!((recovery, recovery.gap()), (expected, gap), "{activity:?} {failure:?}");
        }
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
