//! The part of the file about how objects are judged and counted.

use std::fs::File as Opened;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::{File, Ignored};
use crate::edges::{MAX_RELATIONS_BYTES, Relations};
use crate::health::Scripts;
use crate::model::parse_duration;
use crate::ruleset::{Exception, RuleSet};

impl Check {
    pub(super) fn rules(&mut self, file: &File) -> RuleSet {
        let mut exceptions = Vec::new();
        for ignored in &file.health.ignore {
            exceptions.extend(self.exception(ignored));
        }
        let progressing_grace = self.duration(file.health.progressing_grace.as_ref());
        RuleSet {
            scripts: Scripts::default(),
            relations: self.relations(file.relations.as_ref()),
            exceptions,
            progressing_grace,
        }
    }

    /// Reads the file of relations; mistakes in it are told at the place that names it.
    fn relations(&mut self, written: Option<&Spanned<String>>) -> Relations {
        let Some(written) = written else { return Relations::default() };
        let path = self.path(&written.value);
        let text = match read(&path, MAX_RELATIONS_BYTES) {
            Ok(text) => text,
            Err(error) => {
                self.say(
                    written.referenced,
                    "unreadable",
                    format!("{} cannot be read: {error}", path.display()),
                );
                return Relations::default();
            }
        };
        Relations::parse(&text).unwrap_or_else(|error| {
            for mistake in error.mistakes {
                let message = format!("{}:{mistake}", path.display());
                self.say(written.referenced, mistake.code, message).hint = mistake.hint;
            }
            Relations::default()
        })
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

/// The text of a file, which is refused where it is longer than it may be.
fn read(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut text = String::new();
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    Opened::open(path)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is longer than {bytes_max} bytes"),
        ));
    }
    Ok(text)
}
