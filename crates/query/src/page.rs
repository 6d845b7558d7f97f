//! Pages of a list that agree with each other: a token pins them to one offset and tells where to go on.

use std::hash::{BuildHasher, RandomState};

use data_encoding::HEXLOWER;
use serde::Serialize;

use crate::error::{QueryError, Result};
use crate::filters::PageRequest;
use crate::pinned::{AskedTime, Pinned};
use crate::scope::Scope;
use strandline_model::Offset;
use strandline_protocol::{Page, PageMetadata, Snapshot, UnknownWord};
use strandline_syntax::diagnostics::of_json;

/// With what tokens of pages are marked as ours, so that nobody else makes one.
#[derive(Clone)]
pub(super) struct PageKey([u8; 32]);

impl PageKey {
    /// Of a key that is there for something else: who knows one of the two does not know the other.
    pub(super) fn derived(key: &[u8; 32]) -> Self {
        PageKey(blake3::derive_key("strandline 2026-11-23 tokens of pages", key))
    }

    /// One that ends with this process, from the keys that std draws for its hash maps.
    pub(super) fn passing() -> Self {
        let mut drawn = [0; 32];
        for (part, number) in drawn.chunks_exact_mut(8).zip(0_u64..) {
            part.copy_from_slice(&RandomState::new().hash_one(number).to_le_bytes());
        }
        PageKey::derived(&drawn)
    }
}

/// What a token is good for: one list with these filters, for callers who see the same. Boxed, since its two kilobytes would lie
/// in the future of every question otherwise.
#[derive(Clone)]
struct Seal(Box<blake3::Hasher>);

impl Seal {
    fn new(key: &PageKey, name: &str, scope: &Scope, question: &impl Serialize) -> Result<Self> {
        let of = serde_json::to_vec(&(name, scope, question));
        let mut hasher = blake3::Hasher::new_keyed(&key.0);
        // JSON ends by itself, so that nothing that follows can be taken for a part of it.
        hasher.update(&of.map_err(|error| QueryError::Storage(of_json(&error)))?);
        Ok(Seal(Box::new(hasher)))
    }

    /// The mark that goes with this place in the list.
    fn mark(&self, place: &str) -> String {
        (*self.0).clone().update(place.as_bytes()).finalize().to_hex()[..32].to_owned()
    }

    /// Whether a mark is the one that goes with this place; takes as long for one that is nearly right.
    fn holds(&self, place: &str, mark: &str) -> bool {
        let right = self.mark(place);
        let differing = right.bytes().zip(mark.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        right.len() == mark.len() && differing == 0
    }
}

/// Where a page begins.
#[derive(Clone)]
pub(super) struct Start {
    /// The moment of the first page; none on the first page itself.
    pub(super) pinned: Option<Pinned>,
    /// The sort key of the last item before this page; empty on the first.
    pub(super) after: Vec<String>,
    seal: Seal,
    limit: usize,
    /// The time asked for, for the tokens of later pages.
    by_time: Option<AskedTime>,
}

impl Start {
    /// Reads the page token of a request for a question of this name. The token of another question is refused, for its
    /// position would mean nothing there; so is one that was made for a caller with another scope.
    pub(super) fn read(
        key: &PageKey,
        name: &str,
        scope: &Scope,
        question: &impl Serialize,
        page: Option<&PageRequest>,
    ) -> Result<Self> {
        let seal = Seal::new(key, name, scope, question)?;
        let limit = page.map_or(PageRequest::DEFAULT, |page| page.limit.clamp(1, PageRequest::MAX));
        let Some(token) = page.and_then(|page| page.after.as_ref()) else {
            return Ok(Start { pinned: None, after: Vec::new(), seal, limit, by_time: None });
        };
        let sealed = token.rsplit_once('.').filter(|(place, mark)| seal.holds(place, mark));
        let read = |place: &str| {
            let (pinned, key) = place.split_once('.')?;
            let after = serde_json::from_slice(&HEXLOWER.decode(key.as_bytes()).ok()?).ok()?;
            Some((Pinned::from_token(pinned)?, after))
        };
        let Some((pinned, after)) = sealed.and_then(|(place, _)| read(place)) else {
            return Err(QueryError::BadToken(
                "it is not from this server, or from a list with other filters or another token",
            ));
        };
        Ok(Start { pinned: Some(pinned), after, seal, limit, by_time: None })
    }

    /// The same for a question about this time, which the tokens of later pages carry.
    pub(super) fn at(self, by_time: Option<AskedTime>) -> Self {
        Start { by_time, ..self }
    }

    /// Rows to ask for: one more than the page holds tells whether there is another page.
    pub(super) fn rows(&self) -> i64 {
        i64::try_from(self.limit + 1).unwrap_or(i64::MAX)
    }

    /// A page of a list that begins here, with the words of the question that fit nothing, which depend on whether anything
    /// was found at all.
    pub(super) fn page<T>(
        &self,
        items: Vec<T>,
        (snapshot, next): (Snapshot, Option<String>),
        unknown: impl FnOnce(bool) -> Result<Vec<UnknownWord>>,
    ) -> Result<Page<T>> {
        let warnings = if self.after.is_empty() { unknown(!items.is_empty())? } else { Vec::new() };
        Ok(Page { items, metadata: PageMetadata { snapshot, next, warnings } })
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
        let place = format!("{}.{}", pinned.to_token(), HEXLOWER.encode(place.as_bytes()));
        let mark = self.seal.mark(&place);
        format!("{place}.{mark}")
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const KEY: PageKey = PageKey([7; 32]);

    fn read_as(scope: &Scope, token: Option<&str>, filter: &str) -> Result<Start> {
        let page = PageRequest { limit: 2, after: token.map(str::to_owned) };
        Start::read(&KEY, "things", scope, &filter, Some(&page))
    }

    fn read(token: Option<&str>, filter: &str) -> Result<Start> {
        read_as(&Scope::everything(), token, filter)
    }

    fn refused(read: Result<Start>) -> bool {
        matches!(read, Err(QueryError::BadToken(_)))
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
        assert!(refused(read(Some(&token), "b")));
        let page = PageRequest { limit: 2, after: Some(token) };
        let of = |key: &PageKey, list: &str, scope: &Scope| Start::read(key, list, scope, &"a", Some(&page));
        assert!(of(&KEY, "things", &Scope::everything()).is_ok());
        assert!(refused(of(&KEY, "others", &Scope::everything())));
        assert!(refused(of(&PageKey([8; 32]), "things", &Scope::everything())), "another server's");
    }

    #[test]
    fn a_token_serves_only_who_sees_the_same() {
        let (web, db) = (Scope::projects(["shop/web".to_owned()]), Scope::projects(["shop/db".to_owned()]));
        let token = read_as(&web, None, "a").unwrap().token(Offset::new(77), &["x".to_owned()]);
        assert!(read_as(&web, Some(&token), "a").is_ok());
        assert!(refused(read_as(&db, Some(&token), "a")));
        assert!(refused(read_as(&Scope::everything(), Some(&token), "a")));
    }

    #[test]
    fn no_letter_of_a_token_can_be_changed() {
        let token = read(None, "a").unwrap().token(Offset::new(0x4d), &["x".to_owned()]);
        assert!(read(Some(&token), "a").is_ok());
        for at in 0..token.len() {
            for other in ["0", "1", "f", "F", "-", ".", ""] {
                let (before, after) = (&token[..at], &token[at + 1..]);
                if token[at..=at] != *other {
                    assert!(
                        refused(read(Some(&format!("{before}{other}{after}")), "a")),
                        "{before}{other}{after}"
                    );
                }
            }
        }
        assert!(PageKey::passing().0 != PageKey::passing().0);
    }

    #[test]
    fn garbage_is_no_token() {
        // Also where the mark is right, as after a change of what tokens hold.
        let sealed = |place: &str| format!("{place}.{}", read(None, "a").unwrap().seal.mark(place));
        for place in [
            "zz.5b5d",
            "ffffffffffffffff.5b5d",
            "1.5b5",
            "1.éé",
            "1.7b7d",
            "1.5b5d.1",
            "1-.5b5d",
            "1-5.5b5d",
            "1-nx.5b5d",
            "1-té.5b5d",
            "1-t5-t5.5b5d",
            "1",
            "",
        ] {
            assert!(refused(read(Some(&sealed(place)), "a")), "{place}");
        }
        assert!(read(Some(&sealed("1.5b5d")), "a").is_ok());
        for token in ["", ".", "..", "1", "1.5b5d", "1.5b5d.", "🎈.🎈.🎈"] {
            assert!(refused(read(Some(token), "a")), "{token}");
        }
    }
}
