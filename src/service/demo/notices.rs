//! What the start page of the demo announces: how much of its past is recorded, and its incidents.

use std::time::Duration;

use crate::app::Notice;
use crate::format::{clock_time, lasted};
use strandline_model::{EnvironmentSpec, Timestamp};
use strandline_syntax::percent_encode;

/// An environment that failed, and a moment at which it had.
pub(super) type Incident = (EnvironmentSpec, Timestamp);

/// What the start page says while the past is recorded, of which so much is.
pub(super) fn past(done: Duration, all: Duration, incidents: &[Incident]) -> Notice {
    let links = links(incidents);
    let text = format!(
        "This demo of four simulated clusters records its past: {} of {} so far. Pages show the fleet as it was then.{}",
        lasted(done),
        lasted(all),
        if links.is_empty() { "" } else { " Incidents so far, as they were:" }
    );
    Notice { text, progress: Some((done.as_secs(), all.as_secs())), links }
}

/// What the start page says of environments that failed, each at its moment.
pub(super) fn worth_a_look(incidents: &[Incident]) -> Notice {
    let text = "Incidents of this demo, as they were:".to_owned();
    Notice { text, progress: None, links: links(incidents) }
}

fn links(incidents: &[Incident]) -> Vec<(String, String)> {
    let link = |(environment, at): &Incident| {
        let label = format!("{} {} at {}", environment.project, environment.name, clock_time(*at));
        (
            label,
            format!(
                "/environments/{}?at={}",
                percent_encode(environment.id.as_str()),
                percent_encode(&at.to_string())
            ),
        )
    };
    incidents.iter().map(link).collect()
}
