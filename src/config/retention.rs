//! The part of the file about what is kept for how long.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::Retention;
use crate::service::RetentionConfig;
use strandline_model::{KindPattern, parse_duration};

impl Check {
    pub(super) fn retention(&mut self, written: &Retention) -> RetentionConfig {
        let default = RetentionConfig::default();
        let age = written.age.as_ref().map_or(default.age, |age| {
            let forever = age.value == "forever";
            (!forever).then(|| self.span(age, "write it as 30d, 12h or `forever`")).flatten()
        });
        let size = written.size.as_ref().map_or(default.size, |size| self.size(size));
        let span = |check: &mut Check, written: &Option<Spanned<String>>, default| {
            let hint = "write it as 30m, 1h or 1d";
            written.as_ref().and_then(|written| check.span(written, hint)).unwrap_or(default)
        };
        let at_least = span(self, &written.at_least, default.at_least);
        let every = span(self, &written.every, default.every);
        if let (Some(written), Some(age)) = (&written.age, age)
            && age < at_least
        {
            let message = format!("the age `{}` is below `at_least`", written.value);
            self.report(written.referenced, "bad_duration", message).hint =
                Some("use a longer `age`, or a shorter `at_least` (default: 1h)".to_owned());
        }
        let kinds = self.kinds(&written.kinds, age, at_least);
        RetentionConfig { age, size, at_least, every, kinds }
    }

    /// Ages of kinds, those that name one before those that mean a whole group.
    fn kinds(
        &mut self,
        written: &BTreeMap<String, Spanned<String>>,
        most: Option<Duration>,
        least: Duration,
    ) -> Vec<(KindPattern, Duration)> {
        let mut kinds = Vec::new();
        for (text, age) in written {
            let place = age.referenced;
            let pattern = self.pattern(text, place);
            let Some(span) = self.span(age, "write it as 12h or 7d") else { continue };
            let wrong = match () {
                () if most.is_some_and(|most| span > most) => Some("is above the general `age`"),
                () if span < least => Some("is below `at_least`"),
                () => None,
            };
            if let Some(wrong) = wrong {
                let message = format!("the age `{}` of `{text}` {wrong}", age.value);
                self.report(place, "bad_duration", message).hint =
                    Some("use one between `at_least` (default: 1h) and `age` (default: 30d)".to_owned());
            }
            kinds.extend(pattern.map(|pattern| (pattern, span)));
        }
        kinds.sort_by_key(|(pattern, _)| pattern.is_group());
        kinds
    }

    /// A duration that lasts.
    pub(super) fn span(&mut self, written: &Spanned<String>, hint: &str) -> Option<Duration> {
        let span = parse_duration(&written.value).filter(|span| !span.is_zero());
        if span.is_none() {
            let message = format!("invalid duration `{}`", written.value);
            self.report(written.referenced, "bad_duration", message).hint = Some(hint.to_owned());
        }
        span
    }

    fn size(&mut self, written: &Spanned<String>) -> Option<u64> {
        if written.value == "none" {
            return None;
        }
        let size = bytes(&written.value);
        if size.is_none() {
            let message = format!("invalid size `{}`", written.value);
            self.report(written.referenced, "bad_size", message).hint =
                Some("write it as 10GiB, 500MiB, 20GB or `none`".to_owned());
        }
        size
    }
}

/// Reads a number of bytes with its unit, decimal or binary.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (thousand, letter) = match unit.strip_suffix("iB") {
        Some(letter) => (1024, letter),
        None => (1000, unit.strip_suffix('B')?),
    };
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == letter)?;
    let unit = u64::pow(thousand, u32::try_from(power).ok()?);
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}
