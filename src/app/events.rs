//! Which Events a request asks for: read alike by REST and pages.

use super::selection;
use crate::http::params::{ENVIRONMENT, ParameterReader, REASON, SINCE, TYPE, UNTIL};
use strandline_model::{EnvironmentFilter, EnvironmentId};
use strandline_query::{EventFeedFilter, EventFilter};

/// A filter of the Events of something.
pub fn filter(read: &mut ParameterReader<'_>) -> EventFilter {
    EventFilter { types: read.words(TYPE), reasons: read.texts(REASON) }
}

/// A filter of Events across environments.
pub fn feed(read: &mut ParameterReader<'_>) -> EventFeedFilter {
    let environments = selection::environments(read, &EnvironmentFilter::default());
    let environment = read.text(ENVIRONMENT).map(EnvironmentId::new);
    EventFeedFilter {
        // Whoever names one means it, be it stopped.
        environments: if environment.is_some() { environments } else { environments.in_use_by_default() },
        environment,
        since: read.moment(SINCE),
        until: read.moment(UNTIL),
        events: filter(read),
    }
}
