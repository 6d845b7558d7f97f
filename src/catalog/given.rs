//! A member of a body: left out, null, or given.

use serde::{Deserialize, Deserializer};

/// What a body says of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Given<T> {
    /// Nothing: what was declared before stays.
    #[default]
    Absent,
    /// That there is none.
    Null,
    /// This.
    Value(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Given::Null, Given::Value))
    }
}

impl<T> Given<T> {
    /// The value, where one is given.
    pub(super) fn value(&self) -> Option<&T> {
        match self {
            Given::Value(value) => Some(value),
            Given::Absent | Given::Null => None,
        }
    }

    /// Reads the value as something else.
    ///
    /// # Errors
    /// With what `read` fails.
    pub(super) fn read<U, E>(&self, read: impl FnOnce(&T) -> Result<U, E>) -> Result<Given<U>, E> {
        Ok(match self {
            Given::Absent => Given::Absent,
            Given::Null => Given::Null,
            Given::Value(value) => Given::Value(read(value)?),
        })
    }
}

impl<T: Clone> Given<T> {
    /// Puts what is given in the place of what was declared; null stands for what is there without a declaration.
    pub(super) fn put(&self, target: &mut T, without: impl FnOnce() -> T) {
        match self {
            Given::Absent => {}
            Given::Null => *target = without(),
            Given::Value(value) => target.clone_from(value),
        }
    }

    /// The same for what need not be there.
    pub(super) fn put_option(&self, target: &mut Option<T>) {
        match self {
            Given::Absent => {}
            Given::Null => *target = None,
            Given::Value(value) => *target = Some(value.clone()),
        }
    }
}
