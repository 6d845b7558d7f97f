//! What conditions say together: each by the meaning of its type, its status and its reason.

use serde_json::{Map, Value};

use super::opinion::Opinion;
use super::states::below;
use super::words::{self, Meaning};
use crate::fields::{Malformed, Section};
use crate::finding::NOT_OBSERVED;
use strandline_model::Health;

/// Types that speak for the whole object.
const SUMMARIES: [&str; 7] =
    ["ready", "available", "healthy", "succeeded", "complete", "completed", "programmed"];

/// A condition as controllers write it, and as some write it who do not know better.
struct Condition<'a> {
    of_type: &'a str,
    status: Status,
    reason: &'a str,
    message: &'a str,
    /// Info, Warning or Error, where the controller says how bad it is.
    severity: &'a str,
    /// Whether it names the newest spec itself.
    names_newest: bool,
    words: Vec<String>,
    meaning: Option<Meaning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    True,
    False,
    Unknown,
    /// Neither, in a word of its own that means failure: `Degraded`.
    Failed,
    /// Neither yet, in a word of its own: `Progressing`.
    UnderWay,
    /// It is about an earlier wish.
    Stale,
}

impl Status {
    fn of_text(text: &str) -> Self {
        match text {
            _ if text.eq_ignore_ascii_case("true") => Status::True,
            _ if text.eq_ignore_ascii_case("false") => Status::False,
            _ => match words::of_state(text) {
                Some(Meaning::Bad) => Status::Failed,
                Some(Meaning::Waiting | Meaning::Lacking) => Status::UnderWay,
                _ => Status::Unknown,
            },
        }
    }
}

/// Which spec is the newest, and which one a status as a whole has seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generations {
    pub(super) newest: i64,
    pub(super) seen: Option<i64>,
}

impl Generations {
    /// Whether the status as a whole is about an earlier spec.
    pub(super) fn is_behind(self) -> bool {
        self.seen.is_some_and(|seen| seen < self.newest)
    }
}

impl<'a> Condition<'a> {
    fn read(section: Section<'a>, generations: Generations) -> Result<Self, Malformed> {
        let of_type = section.text("type")?;
        let words = words::words(of_type);
        let meaning = match words.last().map(String::as_str) {
            // As a phase this waits for its turn; as a condition it has had it.
            Some("scheduled") => Some(Meaning::Good),
            // `NoMatchingInstance`: nothing is there to work with.
            _ if of_type.starts_with("NoMatching") => Some(Meaning::Missing),
            _ => words::of_name(of_type),
        };
        // Flux moves the status' own generation only when all is well, and yet says what fails of the newest spec.
        let own = section.integer("observedGeneration")?;
        let seen = own.or(generations.seen);
        // Who is paused looks at no newer spec, so a pause lasts until it is taken back.
        let lasts = own.is_none() && meaning == Some(Meaning::Halted);
        let stale = !lasts && Generations { seen, ..generations }.is_behind();
        let status = match section.at("status")? {
            _ if stale => Status::Stale,
            Some(Value::Bool(true)) => Status::True,
            Some(Value::Bool(false)) => Status::False,
            Some(Value::String(text)) => Status::of_text(text),
            None => Status::Unknown,
            Some(_) => return Err(section.malformed("status", "text")),
        };
        let (reason, message) = (section.text("reason")?, section.text("message")?);
        Ok(Condition {
            of_type,
            status,
            reason,
            message,
            severity: section.text("severity")?,
            names_newest: own.is_some_and(|own| own >= generations.newest),
            words,
            meaning,
        })
    }

    /// Whether it speaks for the whole object.
    fn is_summary(&self) -> bool {
        matches!(&self.words[..], [word] if SUMMARIES.contains(&word.as_str()))
    }

    /// Whether it reports that something is there at all, without which nothing else can be well.
    fn is_a_beginning(&self) -> bool {
        matches!(&self.words[..], [word] if ["installed", "established", "created", "provisioned"].contains(&word.as_str()))
    }

    /// Whether what runs is the controller, by what it says that it is doing, and not what it cares for.
    fn is_a_run(&self) -> bool {
        self.words == ["running"] && words::of_sentence(self.message) == Some(Meaning::Waiting)
    }

    /// Whether it only warns, which says nothing of health: `Warning`, `NoWarnings`.
    fn only_warns(&self) -> bool {
        self.words.last().is_some_and(|word| word.starts_with("warning"))
    }

    /// Whether it says of the same thing as a summary that it is not, or not wholly, so.
    fn restricts_a_summary(&self) -> bool {
        self.words.len() > 1
            && self.words.last().is_some_and(|word| SUMMARIES.contains(&word.as_str()))
            && matches!(self.meaning, Some(Meaning::Lacking | Meaning::Waiting))
    }

    /// Whether it reports how something went that is over, which being ready now does not undo: `LastAsyncOperation`.
    fn tells_how_it_went(&self) -> bool {
        self.words.len() > 1 && self.words.first().is_some_and(|word| word == "last")
    }

    /// Whether it is of something that goes on all the time: `ContinuousArchiving`.
    fn goes_on(&self) -> bool {
        self.meaning == Some(Meaning::Waiting)
    }

    /// Whether it names a part that is to be there, and says so itself where the whole can do without it.
    fn is_of_a_needed_part(&self) -> bool {
        self.words.len() > 1
            && self
                .words
                .last()
                .is_some_and(|word| ["ready", "available", "healthy"].contains(&word.as_str()))
            && self.severity != "Info"
    }

    /// Whether it says of a part at work that it fails at it: `AutoscalerActive`.
    fn is_of_a_part_that_fails(&self) -> bool {
        self.words.len() > 1
            && self.words.last().is_some_and(|word| word == "active")
            && self.why() == Some(Meaning::Bad)
    }

    /// Whether it reports work that goes on again because it has failed.
    fn goes_on_again(&self) -> bool {
        self.status == Status::True
            && self.goes_on()
            && words::words(self.reason).iter().any(|word| word.starts_with("retr"))
    }

    /// Whether it reports work on what another reports to be wrong, for which it was begun: `Issuing SecretMismatch` beside
    /// `Ready=False SecretMismatch`.
    fn mends(&self, other: &Condition<'_>) -> bool {
        self.status == Status::True
            && self.words.last().is_some_and(|word| words::is_an_activity(word))
            && other.status == Status::False
            && other.meaning == Some(Meaning::Good)
            && !self.reason.is_empty()
            && self.reason == other.reason
            && !words::tells_an_attempt(self.reason)
    }

    /// Whether a summary has taken account of it when it is not met: parts are covered, such as `TestSuccess`, but not
    /// what is beside it, such as `Synced`.
    fn is_covered(&self) -> bool {
        (self.meaning.is_none() || self.words.len() > 1)
            && !(self.tells_how_it_went()
                || self.goes_on()
                || self.is_of_a_needed_part()
                || self.is_of_a_part_that_fails())
    }

    /// Whether its reason says only that it is not met, and nothing of a way to it: `NotReady`, `Unavailable`.
    fn says_no_more(&self) -> bool {
        let words = words::words(self.reason);
        let denied = words.split_first().is_some_and(|(first, rest)| first == "not" && rest == self.words);
        denied || words == ["unavailable"]
    }

    /// What its reason means, or else its message.
    fn why(&self) -> Option<Meaning> {
        match words::of_name(self.reason) {
            Some(Meaning::Lacking | Meaning::Good) | None => match words::of_sentence(self.message) {
                Some(said @ (Meaning::Bad | Meaning::Missing)) => Some(said),
                said => words::of_name(self.reason).or(said),
            },
            meaning => meaning,
        }
    }

    fn opinion(&self, health: Health, sure: bool) -> Option<Opinion> {
        let (reason, summary) = (self.reason, self.is_summary());
        let rule = format!("conventions/{}", self.of_type);
        let reason = if reason.is_empty() && health != Health::Healthy { self.of_type } else { reason };
        Some(Opinion {
            health,
            sure,
            summary,
            rule,
            reason: reason.to_owned(),
            message: self.message.to_owned(),
        })
    }

    /// What it says; `whole` where a summary says that the object is as it should be.
    fn judge(&self, whole: bool) -> Option<Opinion> {
        match self.status {
            _ if self.only_warns() => None,
            Status::True => self.judge_met(whole),
            Status::False => self.judge_unmet(whole),
            Status::Failed => self.opinion(Health::Degraded, true),
            Status::UnderWay if !whole => self.opinion(Health::Progressing, true),
            Status::Unknown if self.meaning == Some(Meaning::Good) && !whole => {
                self.opinion(Health::Progressing, self.is_summary())
            }
            Status::Stale if !whole => {
                let opinion = self.opinion(Health::Progressing, self.is_summary())?;
                Some(Opinion { reason: NOT_OBSERVED.to_owned(), ..opinion })
            }
            Status::Unknown | Status::UnderWay | Status::Stale => None,
        }
    }

    fn judge_met(&self, whole: bool) -> Option<Opinion> {
        if whole && self.restricts_a_summary() {
            return None;
        }
        match (self.meaning, self.why()) {
            // That something has ended says nothing of how.
            (Some(Meaning::Good), Some(Meaning::Bad)) if words::tells_an_end(self.of_type) => {
                self.opinion(Health::Degraded, true)
            }
            (Some(Meaning::Good), _) if !whole && self.is_a_run() => self.opinion(Health::Progressing, true),
            (Some(Meaning::Good), _) => self.opinion(Health::Healthy, self.is_summary()),
            (Some(Meaning::Halted), _) => self.opinion(Health::Suspended, true),
            (Some(Meaning::Waiting), Some(Meaning::Bad)) => self.opinion(Health::Degraded, true),
            // `Progressing` with a good reason is how a rollout says that it has come to its end.
            (Some(Meaning::Waiting), Some(Meaning::Good)) if whole => None,
            (Some(Meaning::Waiting), _) => self.opinion(Health::Progressing, true),
            (None, _) if words::of_name(self.reason) == Some(Meaning::Good) => {
                self.opinion(Health::Healthy, false)
            }
            (None, _) => None,
            (Some(Meaning::Lacking), Some(Meaning::Waiting)) => self.opinion(Health::Progressing, true),
            (_, _) => self.opinion(Health::Degraded, true),
        }
    }

    fn judge_unmet(&self, whole: bool) -> Option<Opinion> {
        if whole && self.is_covered() {
            return None;
        }
        match (self.meaning, self.why()) {
            (Some(Meaning::Good), Some(Meaning::Bad)) => self.opinion(Health::Degraded, true),
            (Some(Meaning::Good), Some(Meaning::Missing)) => self.opinion(Health::Degraded, false),
            (Some(Meaning::Good), Some(Meaning::Halted)) if self.severity != "Info" => {
                self.opinion(Health::Suspended, true)
            }
            (Some(Meaning::Good), _) if whole && !self.is_a_beginning() && !self.is_of_a_needed_part() => {
                None
            }
            (Some(Meaning::Good), why) => self.missed(why),
            (Some(Meaning::Waiting), Some(Meaning::Bad)) => self.opinion(Health::Degraded, true),
            (None, Some(Meaning::Bad)) => self.opinion(Health::Degraded, false),
            (Some(Meaning::Bad | Meaning::Lacking | Meaning::Missing), _) => {
                self.opinion(Health::Healthy, false)
            }
            _ => None,
        }
    }

    /// Something wanted is not there, and nothing reports a failure.
    fn missed(&self, why: Option<Meaning>) -> Option<Opinion> {
        match why {
            _ if self.severity == "Info" => self.opinion(Health::Progressing, true),
            Some(Meaning::Waiting) => self.opinion(Health::Progressing, true),
            Some(Meaning::Lacking) if !self.says_no_more() => self.opinion(Health::Progressing, false),
            // Nothing is said at all: nothing is known to have failed.
            None if self.reason.is_empty() && self.message.is_empty() => {
                self.opinion(Health::Progressing, false)
            }
            _ => self.opinion(Health::Degraded, false),
        }
    }
}

/// What the conditions of a status say together; none where there are none that mean anything.
///
/// `settled` where a word beside them says that all is well: then conditions on the way to it are left over.
pub(super) fn judge(
    status: Section<'_>,
    generations: Generations,
    settled: bool,
) -> Result<Option<Opinion>, Malformed> {
    Ok(together(&all(status, generations)?, settled))
}

/// What is said of the newest spec by conditions of a status that as a whole is about an earlier one.
pub(super) fn judge_ahead(
    status: Section<'_>,
    generations: Generations,
) -> Result<Option<Opinion>, Malformed> {
    let mut conditions = all(status, generations)?;
    conditions.retain(|one| one.status != Status::Stale);
    // One part that is well does not speak for the others, of which nothing is known yet.
    Ok(together(&conditions, false).filter(|one| one.summary || one.health != Health::Healthy))
}

fn all<'a>(status: Section<'a>, generations: Generations) -> Result<Vec<Condition<'a>>, Malformed> {
    let list = status.list("conditions", "status.conditions")?;
    list.map(|condition| Condition::read(condition, generations)).collect()
}

/// What the conditions of the parts say, the worst of them; a part is up to two objects below the status.
pub(super) fn of_parts(status: &Map<String, Value>, generations: Generations) -> Option<Opinion> {
    let parts: Vec<_> = status.iter().flat_map(below).collect();
    let deeper: Vec<_> = parts.iter().flat_map(|part| part.iter().flat_map(below)).collect();
    let opinions = parts.into_iter().chain(deeper).filter_map(|part| {
        let list = part.get("conditions")?.as_array()?.iter();
        let read = list.map(|one| Condition::read(Section::of(one, "conditions"), generations));
        together(&read.filter_map(Result::ok).collect::<Vec<_>>(), false)
    });
    Some(Opinion { summary: false, ..opinions.reduce(graver)? })
}

fn together(conditions: &[Condition<'_>], settled: bool) -> Option<Opinion> {
    let summary = |status| conditions.iter().any(|one| one.is_summary() && one.status == status);
    // Of the summaries `Ready` is the one that most keep: while it is not known, another does not stand for it.
    let awaited = |one: &Condition<'_>| one.words == ["ready"] && one.status == Status::Unknown;
    let whole = summary(Status::True) && !summary(Status::False) && !conditions.iter().any(awaited);
    let left_over = |from: &Condition<'_>, one: &Opinion| {
        whole && settled && !from.names_newest && one.health == Health::Progressing
    };
    let opinion = |from: &Condition<'_>| match conditions.iter().any(|other| from.mends(other)) {
        true => from.opinion(Health::Progressing, true),
        false if conditions.iter().any(|other| other.mends(from)) => None,
        false => from.judge(whole),
    };
    let opinions = || conditions.iter().filter_map(|from| Some((from, opinion(from)?)));
    let failed = opinions().any(|(_, one)| one.health == Health::Degraded);
    let said = opinions().filter(|(from, one)| !(left_over(from, one) || failed && from.goes_on_again()));
    said.map(|(_, one)| one).reduce(graver)
}

fn graver(one: Opinion, other: Opinion) -> Opinion {
    if weight(&other) > weight(&one) { other } else { one }
}

/// A sure word comes before a guess, trouble before what is well, and the summary before its parts.
fn weight(opinion: &Opinion) -> (u8, u8, bool) {
    let trouble = match opinion.health {
        Health::Healthy => 0,
        Health::Progressing => 1,
        Health::Suspended => 2,
        Health::Missing | Health::Unknown => 3,
        Health::Degraded => 4,
    };
    let certainty = match (trouble, opinion.sure) {
        (0, _) => 0,
        (_, false) => 1,
        (_, true) => 2,
    };
    (certainty, trouble, opinion.summary)
}
