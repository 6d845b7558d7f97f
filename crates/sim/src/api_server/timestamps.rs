//! Times as Kubernetes writes them.

use strandline_model::Timestamp;

/// A time as Kubernetes writes it: whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    let micros = time.as_micros();
    Timestamp::from_micros(micros - micros.rem_euclid(1_000_000)).to_string()
}
