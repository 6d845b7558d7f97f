//! The part of the file about how objects are judged and counted.

use std::time::Duration;

use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::error::ConfigError;
use super::file::{File, Health, Ignored};
use super::relations::read_relations;
use super::scripts::read_all_scripts;
use strandline_health::Patience;
use strandline_health_lua::Scripts;
use strandline_model::parse_duration;
use strandline_relations::Relations;
use strandline_view::ruleset::{Exception, RuleSet};

/// Turns a grace time off that has no end then.
const NEVER: &str = "never";

impl Check {
    pub(super) fn rules(&mut self, file: &File) -> RuleSet {
        let mut exceptions = Vec::new();
        for ignored in &file.health.ignore {
            exceptions.extend(self.exception(ignored));
        }
        let progressing_grace = self.grace(file.health.progressing_grace.as_ref(), Duration::ZERO);
        RuleSet {
            scripts: self.scripts(&file.health),
            relations: self.relations(file.relations.as_ref()),
            exceptions,
            progressing_grace,
            patience: self.patience(&file.health),
        }
    }

    fn patience(&mut self, health: &Health) -> Patience {
        let usual = Patience::default();
        let unschedulable = match health.unschedulable_grace.as_ref() {
            None => usual.unschedulable,
            Some(written) if written.value == NEVER => None,
            // A Pod that no node can take at once is what autoscalers live on, so nobody means none.
            written => Some(self.grace(written, Duration::ZERO)).filter(|grace| !grace.is_zero()),
        };
        let unreported = self.grace(health.unreported_grace.as_ref(), usual.unreported);
        Patience { unschedulable, unreported }
    }

    /// Reads the file of relations; mistakes in it are reported at the place that names it.
    fn relations(&mut self, written: Option<&Spanned<String>>) -> Relations {
        let Some(written) = written else { return Relations::default() };
        let path = self.path(&written.value);
        read_relations(&path).unwrap_or_else(|error| {
            match error {
                ConfigError::Unreadable { source, .. } => {
                    let message = format!("{} cannot be read: {source}", path.display());
                    self.report(written.referenced, "unreadable", message);
                }
                ConfigError::Mistakes { mistakes, .. } => {
                    for mistake in mistakes {
                        let message = format!("{}:{mistake}", path.display());
                        self.report(written.referenced, mistake.code, message).hint = mistake.hint;
                    }
                }
            }
            Relations::default()
        })
    }

    /// Reads the scripts that judge health.
    fn scripts(&mut self, health: &Health) -> Scripts {
        let [folder, config_map] = [&health.scripts, &health.argocd_cm];
        let path = |written: &Spanned<String>| self.path(&written.value);
        let read =
            read_all_scripts(folder.as_ref().map(path).as_deref(), config_map.as_ref().map(path).as_deref());
        let at =
            folder.as_ref().or(config_map.as_ref()).map_or(Location::UNKNOWN, |written| written.referenced);
        read.unwrap_or_else(|error| {
            self.report(at, "bad_script", error.to_string()).hint = Some(error.hint().to_owned());
            Scripts::default()
        })
    }

    fn exception(&mut self, ignored: &Spanned<Ignored>) -> Option<Exception> {
        let Ignored { kind, labels } = &ignored.value;
        if kind.is_none() && labels.is_none() {
            let message = "an entry of `ignore` has neither `kind` nor `labels`, and would ignore everything";
            self.report(ignored.referenced, "bad_rule", message).hint =
                Some("give a `kind`, such as Job.batch, `labels`, such as canary=true, or both".to_owned());
            return None;
        }
        let kind = kind.as_ref().and_then(|kind| self.patterns(std::slice::from_ref(kind)).pop());
        Some(Exception { kind, labels: self.labels(labels.as_ref()) })
    }

    fn grace(&mut self, written: Option<&Spanned<String>>, usual: Duration) -> Duration {
        let Some(written) = written else { return usual };
        parse_duration(&written.value).unwrap_or_else(|| {
            let message = format!("invalid duration `{}`", written.value);
            self.report(written.referenced, "bad_duration", message).hint =
                Some("write it as 90s, 5m or 1h30m".to_owned());
            usual
        })
    }
}
