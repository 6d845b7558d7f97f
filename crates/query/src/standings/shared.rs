//! What many environments share, kept once.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::row_filter::Aim;
use strandline_model::Labels;

/// Texts, labels and targets, each once.
#[derive(Default)]
pub(super) struct Shared {
    texts: HashSet<Arc<str>>,
    /// By their JSON.
    labels: HashMap<Box<str>, Arc<Labels>>,
    targets: HashSet<Arc<[Aim]>>,
}

impl Shared {
    /// Lets go of what no environment has any more, once that may be the half of it.
    pub(super) fn forget(&mut self, environments: usize) {
        const FEW: usize = 1000;
        // An environment has four texts at most, its labels and its targets.
        let enough = |each: usize| FEW + 2 * each * environments;
        if self.texts.len() > enough(4) {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
        }
        if self.labels.len() > enough(1) {
            self.labels.retain(|_, labels| Arc::strong_count(labels) > 1);
        }
        if self.targets.len() > enough(1) {
            self.targets.retain(|targets| Arc::strong_count(targets) > 1);
        }
    }

    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(word) = self.texts.get(text) {
            return Arc::clone(word);
        }
        let word = Arc::<str>::from(text);
        self.texts.insert(Arc::clone(&word));
        word
    }

    pub(super) fn labels(&mut self, json: &str) -> serde_json::Result<Arc<Labels>> {
        if let Some(labels) = self.labels.get(json) {
            return Ok(Arc::clone(labels));
        }
        let labels = Arc::new(serde_json::from_str(json)?);
        self.labels.insert(json.into(), Arc::clone(&labels));
        Ok(labels)
    }

    pub(super) fn targets(&mut self, json: &str) -> serde_json::Result<Arc<[Aim]>> {
        let targets: Vec<Aim> = serde_json::from_str(json)?;
        if let Some(targets) = self.targets.get(&targets[..]) {
            return Ok(Arc::clone(targets));
        }
        let targets = Arc::<[Aim]>::from(targets);
        self.targets.insert(Arc::clone(&targets));
        Ok(targets)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn what_no_environment_has_any_more_is_let_go() {
        let mut shared = Shared::default();
        let of = |shared: &mut Shared, n: usize| {
            let labels = shared.labels(&format!(r#"{{"n":"{n}"}}"#)).unwrap();
            let targets = format!(r#"[{{"cluster":"c{n}","namespace":"a","labels":{{}}}}]"#);
            (shared.text(&n.to_string()), labels, shared.targets(&targets).unwrap())
        };
        let there = of(&mut shared, 0);
        for n in 1..5000 {
            of(&mut shared, n);
            shared.forget(1);
        }
        let kept = [shared.texts.len(), shared.labels.len(), shared.targets.len()];
        assert!(kept.iter().all(|kept| *kept < 1100), "{kept:?}");
        let same = of(&mut shared, 0);
        assert!(
            Arc::ptr_eq(&there.0, &same.0)
                && Arc::ptr_eq(&there.1, &same.1)
                && Arc::ptr_eq(&there.2, &same.2)
        );
    }
}
