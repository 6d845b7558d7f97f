//! What the start page says above all else while the service has something to tell, such as how far its past is recorded.

use std::sync::{Arc, PoisonError, RwLock};

/// What is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// In a sentence.
    pub text: String,
    /// How much of something that goes on is done, of how much; the page comes anew until it is over.
    pub progress: Option<(u64, u64)>,
    /// What is worth looking at, with its address.
    pub links: Vec<(String, String)>,
}

/// Where the service leaves what pages are to say; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Announcement(Arc<RwLock<Option<Notice>>>);

impl Announcement {
    /// Says this instead of what was said before.
    pub fn set(&self, notice: Notice) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(notice);
    }

    /// What is to be said, if anything is.
    pub fn get(&self) -> Option<Notice> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
