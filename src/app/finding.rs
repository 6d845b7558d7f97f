//! What a search asks for; read alike by REST and the page.

use crate::http::params::{LIMIT, ParameterReader, Q, TYPE};
use strandline_query::{Search, SearchTerms};

/// The search that a request asks for; none where it says not for what, or not well.
pub fn search(read: &mut ParameterReader<'_>) -> Option<Search> {
    let terms: Option<SearchTerms> = read.word(Q);
    let types = read.words(TYPE);
    let limit = read.number(LIMIT, 1, Search::MAX).unwrap_or(Search::DEFAULT);
    Some(Search::new(terms?, &types, limit))
}
