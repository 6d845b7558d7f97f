//! The part of the file about how objects are judged and counted.

use std::time::Duration;

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::{File, Ignored};
use crate::model::parse_duration;
use crate::ruleset::{Exception, RuleSet};

impl Check {
    pub(super) fn rules(&mut self, file: &File) -> RuleSet {
        let mut exceptions = Vec::new();
        for ignored in &file.health.ignore {
            exceptions.extend(self.exception(ignored));
        }
        RuleSet { exceptions, progressing_grace: self.duration(file.health.progressing_grace.as_ref()) }
    }

    fn exception(&mut self, ignored: &Spanned<Ignored>) -> Option<Exception> {
        let Ignored { kind, labels } = &ignored.value;
        if kind.is_none() && labels.is_none() {
            let message = "an entry of `ignore` has neither `kind` nor `labels`, and would ignore everything";
            self.say(ignored.referenced, "bad_rule", message).hint =
                Some("give a `kind`, such as Job.batch, `labels`, such as canary=true, or both".to_owned());
            return None;
        }
        let kind = kind.as_ref().and_then(|kind| self.patterns(std::slice::from_ref(kind)).pop());
        Some(Exception { kind, labels: self.labels(labels.as_ref()) })
    }

    fn duration(&mut self, written: Option<&Spanned<String>>) -> Duration {
        let Some(written) = written else { return Duration::ZERO };
        parse_duration(&written.value).unwrap_or_else(|| {
            let message = format!("`{}` is not a duration", written.value);
            self.say(written.referenced, "bad_duration", message).hint =
                Some("write it as 90s, 5m or 1h30m".to_owned());
            Duration::ZERO
        })
    }
}
