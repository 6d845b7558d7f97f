//! Pages that follow what changes: which stream of the API says when a page is to be loaded again.

use serde_json::Value;

use crate::app::watch::ITEMS_MAX;
use crate::http::params::FROM;
use strandline_model::{EnvironmentFilter, Health, Offset};
use strandline_syntax::percent_encode;

/// The address of the stream of what changes in these environments after an offset.
pub(super) fn stream(filter: &EnvironmentFilter, offset: Offset) -> String {
    format!("/api/v1/watch?{}={offset}{}", FROM.name, parameters(filter))
}

/// A filter as parameters, each behind `&`.
pub(super) fn parameters(filter: &EnvironmentFilter) -> String {
    let mut address = String::new();
    // A filter is serialised under the names of its parameters.
    let Ok(Value::Object(members)) = serde_json::to_value(filter) else { return address };
    for (name, value) in members {
        let values = match value {
            Value::Array(values) => values,
            one => vec![one],
        };
        for value in values.iter().filter_map(Value::as_str) {
            address.push_str(&format!("&{name}={}", percent_encode(value)));
        }
    }
    address
}

/// What a page follows that is about so many environments: those, unless they are more than a stream takes.
pub(super) fn followed(filter: EnvironmentFilter, count: u64) -> EnvironmentFilter {
    if count <= ITEMS_MAX as u64 { filter } else { rarely() }
}

/// Environments of which a stream says little, for pages that follow none: its bookmarks say every few seconds how far the
/// record has come. Those that become Unknown are what a page about all of them should show at once.
pub(super) fn rarely() -> EnvironmentFilter {
    EnvironmentFilter { healths: vec![Health::Unknown], ..EnvironmentFilter::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes::ROUTES;
    use crate::http::params::Query;
    use strandline_model::{EnvironmentState, Tier};
    use strandline_syntax::Glob;

    #[test]
    fn more_environments_than_a_stream_takes_are_followed_rarely() {
        let production = EnvironmentFilter { tiers: vec![Tier::Production], ..EnvironmentFilter::default() };
        assert_eq!(followed(production.clone(), ITEMS_MAX as u64), production);
        assert_eq!(followed(production, ITEMS_MAX as u64 + 1), rarely());
    }

    #[test]
    fn a_filter_is_the_same_in_the_address_of_its_stream() {
        let filter = EnvironmentFilter {
            tiers: vec![Tier::Production, Tier::Staging],
            regions: vec!["eu & us".into()],
            projects: vec![Glob::exactly("shop/w*b")],
            groups: vec!["shop".parse().expect("a group")],
            clusters: vec!["eu-west".into()],
            agents: vec!["shop/agents:eu".parse().expect("an agent")],
            states: EnvironmentFilter::IN_USE.to_vec(),
            names: vec![Glob::exactly("review/\u{e9}")],
            search: String::new(),
            healths: vec![Health::Degraded],
            labels: "team=pay,tier!=x".parse().expect("labels"),
        };
        assert_eq!(filter.states[0], EnvironmentState::Available);
        let address = stream(&filter, Offset::new(7));
        let query = address.strip_prefix("/api/v1/watch?").expect("the stream");
        let route = ROUTES.iter().find(|route| route.path == "/api/v1/watch").expect("its route");
        let (_, operation) = route.operations().next().expect("GET");
        let query = Query::parse(query, operation.parameters).expect("known parameters");
        let mut read = query.reader();
        assert_eq!(crate::app::selection::filter(&mut read, &EnvironmentFilter::default()), filter);
        assert_eq!(query.one(FROM), Some("7"));
    }
}
