//! What may have been meant by words that nothing has, where a search finds nothing.

use std::collections::HashSet;

use super::Place;
use super::catalog;
use super::images;
use super::lines;
use super::terms::{Finder, Term, parts};
use crate::error::Result;
use strandline_log::LogReader;
use strandline_protocol::{SearchResults, UnknownWord};
use strandline_syntax::diagnostics::closest;

/// The words that are in no name that the caller sees, each with what may have been meant.
pub(super) fn unknown(
    place: &Place<'_>,
    log: &LogReader,
    finder: &Finder<'_>,
    found: &SearchResults,
) -> Result<Vec<UnknownWord>> {
    // One word has been looked for alone already.
    let searched = (finder.terms().len() == 1).then_some(found);
    let names = catalog::names(place)?;
    let mut all: HashSet<&str> = names.iter().flat_map(|name| parts(name)).collect();
    all.extend(names.iter().map(String::as_str));
    let mut unknown = Vec::new();
    for term in finder.terms() {
        let is_known = |names: &[String]| names.iter().any(|name| term.nearness(name).is_some());
        if is_known(&names) || is_found_alone(place, log, term, searched)? {
            continue;
        }
        let suggestion = suggestion(place, term, &all)?;
        let (text, code) = (term.text.to_owned(), UnknownWord::CODE.to_owned());
        let message = match &suggestion {
            Some(near) => format!("nothing matches `{text}`; did you mean `{near}`?"),
            None => format!("nothing matches `{text}`"),
        };
        unknown.push(UnknownWord { code, parameter: "q".into(), value: text, suggestion, message });
    }
    Ok(unknown)
}

/// Whether a resource, an image or a deployment has a word, whatever it does not go with; no group of `searched` has.
fn is_found_alone(
    place: &Place<'_>,
    log: &LogReader,
    term: &Term<'_>,
    searched: Option<&SearchResults>,
) -> Result<bool> {
    let (alone, one) = (Finder::of(std::iter::once(term.text)), Place { limit: 1, ..*place });
    let is_open = |was: fn(&SearchResults) -> bool| !searched.is_some_and(was);
    Ok(is_open(|found| found.resources.is_some()) && !lines::resources(&one, log, &alone)?.items.is_empty()
        || is_open(|found| found.images.is_some()) && !images::images(&one, &alone)?.items.is_empty()
        || is_open(|found| found.deployments.is_some())
            && !lines::deployments(&one, &alone)?.items.is_empty())
}

/// The nearest of some names, and of the parts of names of resources that begin as the word does.
fn suggestion(place: &Place<'_>, term: &Term<'_>, names: &HashSet<&str>) -> Result<Option<String>> {
    let of_resources = lines::parts_like(place, term)?;
    let among = |names: &mut dyn Iterator<Item = &str>| {
        let other: Vec<&str> = names.filter(|name| *name != term.text).collect();
        closest(term.text, &other).map(str::to_owned)
    };
    let near = among(&mut names.iter().copied().chain(of_resources.keys().map(String::as_str)));
    let of_near = near.as_deref().filter(|near| !names.contains(near));
    match of_near.and_then(|near| of_resources.get(near)) {
        // What belonged to an environment before the caller saw it is not theirs to know.
        Some(resources) if !lines::is_any_seen(place, resources)? => Ok(among(&mut names.iter().copied())),
        _ => Ok(near),
    }
}
