//! What the configuration says of how answers look: saved views, links to elsewhere, and what differences leave out. It may
//! change while the service runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::links::LinkTemplates;
use strandline_model::SavedView;
use strandline_object_diff::PathRule;

/// How answers look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presentation {
    /// Overviews by name.
    pub views: Vec<SavedView>,
    /// Links to elsewhere.
    pub links: LinkTemplates,
    /// Paths that differences leave out.
    pub ignored: Vec<PathRule>,
}

/// The presentation in effect; clones share it.
#[derive(Clone, Debug, Default)]
pub struct CurrentPresentation(Arc<RwLock<(u64, Arc<Presentation>)>>);

impl CurrentPresentation {
    /// With this one in effect.
    pub fn new(presentation: Presentation) -> Self {
        CurrentPresentation(Arc::new(RwLock::new((0, Arc::new(presentation)))))
    }

    /// The one in effect.
    pub fn get(&self) -> Arc<Presentation> {
        // Each change of it is whole, so a panic elsewhere cannot have broken it.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// How often it was replaced. What is read after this number is at least as new as it, so an answer that is made then may
    /// be kept under it.
    pub fn generation(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Puts another one into effect, and returns the configuration keys that differ.
    pub fn replace(&self, presentation: Presentation) -> Vec<&'static str> {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = &current.1;
        let same = [
            ("views", before.views == presentation.views),
            ("links", before.links == presentation.links),
            ("diff", before.ignored == presentation.ignored),
        ];
        let differing: Vec<_> = same.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect();
        if !differing.is_empty() {
            *current = (current.0 + 1, Arc::new(presentation));
        }
        differing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_presentation_that_is_the_same_is_no_other_generation() {
        let current = CurrentPresentation::default();
        let view = SavedView { name: "all".into(), ..SavedView::default() };
        let other = Presentation { views: vec![view], ..Presentation::default() };
        assert_eq!(current.replace(Presentation::default()), Vec::<&str>::new());
        assert_eq!(current.generation(), 0);
        assert_eq!(current.replace(other.clone()), ["views"]);
        assert_eq!((current.generation(), &*current.get()), (1, &other));
    }
}
