//! Which kinds a cluster has that can be listed and watched.

mod choose;
mod documents;
mod kinds;
mod listing;
mod resources;
mod selection;
#[cfg(test)]
mod tests;

pub(super) use self::choose::discover;
pub use self::choose::{Discovered, FailedGroup};
pub use self::kinds::{ServedKind, Unfollowed};
pub(super) use self::kinds::{defines_kinds, determines_kinds};
pub(super) use self::listing::list_kinds;
pub use self::listing::{KindList, ListedKind};
pub use self::selection::{DEFAULT_EXCLUDES, Exclude, Selection};
