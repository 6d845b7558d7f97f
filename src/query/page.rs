//! Pages of a list that agree with each other: a token pins them to one offset and tells where to go on.

use std::fmt::Debug;

use super::moment::{AskedTime, Moment};
use super::scope::Scope;
use super::{PageRequest, QueryError, Result};
use crate::model::{Offset, Timestamp};

/// The moment of a first page, as its token tells it to the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    pub(super) offset: Offset,
    /// The time asked for; none where an offset was.
    pub(super) by_time: Option<AskedTime>,
}

impl Pinned {
    /// As text: the offset and, where a time was asked for, that time behind `n` for now or `t`.
    pub(super) fn to_token(self) -> String {
        let offset = format!("{:x}", self.offset.get());
        match self.by_time {
            Some(AskedTime { time, is_now }) => {
                format!("{offset}-{}{:x}", if is_now { 'n' } else { 't' }, time.as_micros())
            }
            None => offset,
        }
    }

    pub(super) fn from_token(text: &str) -> Option<Self> {
        let (offset, time) = text.split_once('-').map_or((text, None), |(offset, time)| (offset, Some(time)));
        let offset = u64::from_str_radix(offset, 16).ok().filter(|offset| i64::try_from(*offset).is_ok())?;
        let by_time = match time {
            None => None,
            Some(time) => {
                let (is_now, micros) = match time.strip_prefix('n') {
                    Some(micros) => (true, micros),
                    None => (false, time.strip_prefix('t')?),
                };
                // Times before 1970 are written in two's complement.
                let micros = u64::from_str_radix(micros, 16).ok()?.cast_signed();
                Some(AskedTime { time: Timestamp::from_micros(micros), is_now })
            }
        };
        Some(Pinned { offset: Offset::new(offset), by_time })
    }
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// The moment of the first page; none on the first page itself.
    pub(super) pinned: Option<Pinned>,
    /// The sort key of the last item before this page; empty on the first.
    pub(super) after: Vec<String>,
    fingerprint: String,
    limit: usize,
    /// The time asked for, for the tokens of later pages.
    by_time: Option<AskedTime>,
}

impl Start {
    /// Reads the token of a request. `list` and `filter` say what is being listed: a token of another list is
    /// refused, for its position would mean nothing there.
    pub(super) fn read(list: &str, scope: &Scope, filter: &impl Debug, page: &PageRequest) -> Result<Self> {
        let said = format!("{list} {scope:?} {filter:?}");
        let fingerprint = blake3::hash(said.as_bytes()).to_hex()[..16].to_owned();
        let limit = page.limit.clamp(1, PageRequest::MAX);
        let Some(token) = &page.after else {
            return Ok(Start { pinned: None, after: Vec::new(), fingerprint, limit, by_time: None });
        };
        let mut parts = token.split('.');
        let (Some(offset), Some(of), Some(key), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(QueryError::BadToken("it is not a token of this server"));
        };
        if of != fingerprint {
            return Err(QueryError::BadToken("it belongs to a list with other filters"));
        }
        let after = from_hex(key).and_then(|key| serde_json::from_slice(&key).ok());
        match (Pinned::from_token(offset), after) {
            (Some(pinned), Some(after)) => {
                Ok(Start { pinned: Some(pinned), after, fingerprint, limit, by_time: None })
            }
            _ => Err(QueryError::BadToken("it is damaged")),
        }
    }

    /// The same of a question that is asked at this moment.
    pub(super) fn at(self, moment: &Moment) -> Self {
        Start { by_time: moment.by_time(), ..self }
    }

    /// Rows to ask for: one more than the page holds tells whether there is another page.
    pub(super) fn rows(&self) -> i64 {
        i64::try_from(self.limit + 1).unwrap_or(i64::MAX)
    }

    /// A part of the sort key to go on from; empty on the first page.
    pub(super) fn after(&self, part: usize) -> &str {
        self.after.get(part).map_or("", String::as_str)
    }

    /// A part of the sort key that is a number; -1, which is before all of ours, on the first page.
    pub(super) fn number(&self, part: usize) -> i64 {
        self.after(part).parse().unwrap_or(-1)
    }

    /// Cuts what was read to the page and makes the token of the next one.
    pub(super) fn finish<T>(
        &self,
        offset: Offset,
        items: &mut Vec<T>,
        key: impl Fn(&T) -> Vec<String>,
    ) -> Option<String> {
        if items.len() <= self.limit {
            return None;
        }
        items.truncate(self.limit);
        Some(self.token(offset, &key(items.last()?)))
    }

    /// The most items of a page.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The token of a page that goes on after this place of the list.
    pub(super) fn token(&self, offset: Offset, place: &[String]) -> String {
        let place = serde_json::json!(place).to_string();
        let pinned = Pinned { offset, by_time: self.by_time };
        format!("{}.{}.{}", pinned.to_token(), self.fingerprint, to_hex(place.as_bytes()))
    }
}

fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn read(token: Option<&str>, filter: &str) -> Result<Start> {
        let page = PageRequest { limit: 2, after: token.map(str::to_owned) };
        Start::read("things", &Scope::everything(), &filter, &page)
    }

    #[test]
    fn a_token_leads_to_the_next_page_of_the_same_list_only() {
        let first = read(None, "a").unwrap();
        let mut items = vec!["x", "y · z", "w"];
        let token = first.finish(Offset::new(77), &mut items, |item| vec![(*item).to_owned()]).unwrap();
        assert_eq!(items, ["x", "y · z"]);
        let second = read(Some(&token), "a").unwrap();
        assert_eq!(
            (second.pinned, second.after(0)),
            (Some(Pinned { offset: Offset::new(77), by_time: None }), "y · z")
        );
        assert_eq!(second.finish(Offset::new(77), &mut vec!["w"], |item| vec![(*item).to_owned()]), None);
        assert!(matches!(read(Some(&token), "b"), Err(QueryError::BadToken(_))));
    }

    #[test]
    fn a_token_carries_the_time_that_the_first_page_was_asked_for() {
        for by_time in [
            None,
            Some(AskedTime { time: Timestamp::from_micros(1_795_176_000_000_000), is_now: true }),
            Some(AskedTime { time: Timestamp::from_micros(-5), is_now: false }),
            Some(AskedTime { time: Timestamp::from_micros(i64::MIN), is_now: false }),
        ] {
            let pinned = Pinned { offset: Offset::new(77), by_time };
            assert_eq!(Pinned::from_token(&pinned.to_token()), Some(pinned));
        }
    }

    #[test]
    fn garbage_is_no_token() {
        let fingerprint = read(None, "a").unwrap().fingerprint;
        let almost = [
            format!("zz.{fingerprint}.5b5d"),
            format!("ffffffffffffffff.{fingerprint}.5b5d"),
            format!("1.{fingerprint}.5b5"),
            format!("1.{fingerprint}.éé"),
            format!("1.{fingerprint}.7b7d"),
            format!("1.{fingerprint}.5b5d.1"),
            format!("1-.{fingerprint}.5b5d"),
            format!("1-5.{fingerprint}.5b5d"),
            format!("1-nx.{fingerprint}.5b5d"),
            format!("1-té.{fingerprint}.5b5d"),
            format!("1-t5-t5.{fingerprint}.5b5d"),
        ];
        for token in almost.iter().map(String::as_str).chain(["", ".", "..", "1", "🎈.🎈.🎈"]) {
            assert!(matches!(read(Some(token), "a"), Err(QueryError::BadToken(_))), "{token}");
        }
    }
}
