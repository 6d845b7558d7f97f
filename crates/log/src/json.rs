//! Bodies of changes as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LogError;
use strandline_syntax::diagnostics::of_json;

type Result<T> = std::result::Result<T, LogError>;

/// The body of a change as JSON. What has none is refused: an empty body would say something else for ever.
pub(super) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| LogError::NoJson(of_json(&error)))
}

/// That the body of a change can be read again.
pub(super) fn read_back<T: Serialize + DeserializeOwned>(value: &T) -> Result<()> {
    let text = to_json(value)?;
    let read = serde_json::from_str::<T>(&text).map(|_| ());
    read.map_err(|error| LogError::NoJson(format!("cannot parse stored {text}: {}", of_json(&error))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_has_no_json_gets_no_body() {
        let by_pair = BTreeMap::from([((1, 2), "x")]);
        let refused = to_json(&by_pair).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|why| why.starts_with("it cannot be recorded: ")));
    }
}
