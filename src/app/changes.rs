//! Which changes a request asks for: read alike by REST and pages.

use super::selection;
use crate::http::params::{BY, CONTROLLERS, ParameterReader, SINCE, TYPE, UNTIL};
use strandline_model::EnvironmentFilter;
use strandline_query::ChangesFilter;

/// A filter of changes.
pub fn filter(read: &mut ParameterReader<'_>) -> ChangesFilter {
    ChangesFilter {
        environments: selection::environments(read, &EnvironmentFilter::default()).in_use_by_default(),
        since: read.moment(SINCE),
        until: read.moment(UNTIL),
        kinds: read.words(TYPE),
        by: selection::globs(read, BY),
        controllers: read.flag(CONTROLLERS),
    }
}
