//! The stable words for why a kind is not watched, as marks of coverage carry them.
//!
//! They are in the log and in answers for ever, so none of them changes its meaning; new ones may come.

/// Of a gap: the cluster gives no answer, or answers that it is unavailable.
pub const UNREACHABLE: &str = "unreachable";
/// Of a gap: we are known and may not see it.
pub const FORBIDDEN: &str = "forbidden";
/// Of a gap: the credentials are not accepted.
pub const UNAUTHORIZED: &str = "unauthorized";
/// Of a gap: the cluster does not have the kind.
pub const NOT_SERVED: &str = "not_served";
/// Of a gap: the cluster cannot list the kinds of an API group.
pub const UNAVAILABLE: &str = "unavailable";
/// Of a gap: nobody has watched the cluster yet.
pub const NOT_WATCHED: &str = "not_watched";
/// Of a gap: the first list is not complete.
pub const LISTING: &str = "listing";
/// Of a gap: nobody watched for a time, or the cluster no longer has the version from which the watch would resume.
pub const RESTARTED: &str = "restarted";
/// Of a gap: what the cluster answers makes no sense.
pub const INVALID: &str = "invalid";
/// Of a gap: another cluster answers under the name.
pub const REPLACED: &str = "replaced";
/// Of a gap: what was recorded of that time is lost.
pub const LOST: &str = "lost";

/// Of a gap: changes of that time were recorded late, so that it is not exact when they happened.
pub const LATE: &str = "late";
/// Of a gap: nothing could be recorded, for there was no room on the disk.
pub const NO_ROOM: &str = "no_room";
/// Of a gap: changes waited too long for being recorded, as the disk or the machine was too slow.
pub const STALLED: &str = "stalled";
/// Of a gap: the clock of this machine was wrong, so that times within it are not exact.
pub const CLOCK: &str = "clock";
/// Of a gap: a consistency list found changes that no event had reported.
pub const MISSED: &str = "missed";
/// Of a gap: the cluster's store was set back to an older copy of itself.
pub const ROLLED_BACK: &str = "rolled_back";
/// Of a gap: the credentials for the cluster cannot be read.
pub const CREDENTIALS: &str = "credentials";

/// Of a gap: retention keeps the kind for a shorter time than the rest, and prunes it first.
pub const COMPACTED: &str = "compacted";

/// Of a gap: history was imported, and what it does not contain is not known.
pub const IMPORTED: &str = "imported";

/// Of what is not followed: by the configuration, by default, or as another group has the same objects.
pub const EXCLUDED: &str = "excluded";
/// Of what is not followed: the cluster cannot list and watch it.
pub const NOT_WATCHABLE: &str = "not_watchable";
/// Of what is not followed: the cluster no longer has the kind, as complete discoveries say.
pub const REMOVED: &str = "removed";
/// Of what is not followed: somebody marked it as deleted.
pub const FORGOTTEN: &str = "forgotten";
/// Of what is not followed: the watch of the whole cluster sees it too.
pub const COVERED: &str = "covered";
