//! Values that the log and the view keep as numbers.
//!
//! A number that was written once keeps its meaning: it stands in files that are read for years, and in SQL. So each is
//! written down here and nowhere follows from the order in which Rust declares things.

use super::{CoverageState, Happening, Health};

/// A value that a column keeps as a number.
pub trait Stored: Copy + Sized + PartialEq + 'static {
    /// What such a value is, for whoever finds a number that is none: `health`.
    const WHAT: &'static str;
    /// Every value with its word and its number.
    const NUMBERS: &'static [(Self, &'static str, i64)];

    /// The number of this one.
    fn number(self) -> i64;

    /// The value of a number; none where it has no meaning.
    fn of_number(number: i64) -> Option<Self> {
        Self::NUMBERS.iter().find(|(_, _, known)| *known == number).map(|(value, ..)| *value)
    }
}

/// Gives each value of an enum its number. One that is left out does not compile.
#[macro_export]
macro_rules! stored {
    ($type:ident, $what:literal, $($value:ident = $number:literal),+ $(,)?) => {
        impl $crate::Stored for $type {
            const WHAT: &'static str = $what;
            const NUMBERS: &'static [(Self, &'static str, i64)] =
                &[$(($type::$value, stringify!($value), $number)),+];

            fn number(self) -> i64 {
                match self {
                    $($type::$value => $number),+
                }
            }
        }
    };
}

stored!(
    Health,
    "health",
    Healthy = 0,
    Suspended = 1,
    Progressing = 2,
    Missing = 3,
    Degraded = 4,
    Unknown = 5,
);

stored!(CoverageState, "state of coverage", Watched = 0, Gap = 1, Excluded = 2);

stored!(
    Happening,
    "kind of happening",
    Changed = 0,
    Created = 1,
    Joined = 2,
    Deleted = 3,
    Parted = 4,
    Said = 5,
    Warned = 6,
    Deployed = 7,
    Progressed = 8,
);
