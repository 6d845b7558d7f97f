//! Values that the log and the view keep as numbers.
//!
//! A number that was written once keeps its meaning: it is in files that are read for years, and in SQL. So each is
//! an explicit discriminant and never follows from the order in which Rust declares things.

/// A value that a column keeps as a number.
pub trait Stored: Copy + Sized + PartialEq + 'static {
    /// What such a value is, for whoever finds a number that is none: `health`.
    const WHAT: &'static str;
    /// Every value with its name and its number.
    const NUMBERS: &'static [(Self, &'static str, i64)];

    /// The number of this one.
    fn number(self) -> i64;

    /// The value of a number; none where it has no meaning.
    fn of_number(number: i64) -> Option<Self> {
        Self::NUMBERS.iter().find(|(_, _, known)| *known == number).map(|(value, ..)| *value)
    }
}

/// Lets columns keep an enum by the explicit discriminants of its values. One that is left out does not compile.
#[macro_export]
macro_rules! stored {
    ($type:ident, $what:literal, $($value:ident),+ $(,)?) => {
        impl $crate::Stored for $type {
            const WHAT: &'static str = $what;
            const NUMBERS: &'static [(Self, &'static str, i64)] =
                &[$(($type::$value, stringify!($value), $type::$value as i64)),+];

            fn number(self) -> i64 {
                match self {
                    $($type::$value => $type::$value as i64),+
                }
            }
        }

        $crate::number_column!($type);
    };
}
