//! The query string of a request.

use percent_encoding::percent_decode_str;

use super::status::Status;

/// Its parameters, decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    pub(super) fn parse(text: Option<&str>) -> Self {
        let pairs = text.unwrap_or("").split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Query { pairs: pairs.collect() }
    }

    /// A parameter's text; empty when absent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.pairs.iter().find(|(given, _)| given == name).map_or("", |(_, value)| value)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name), "true" | "1")
    }

    /// A parameter that is a number; none when absent or empty.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Status> {
        match self.text(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Status::bad_request(format!("{name}: Invalid value: \"{text}\": must be a number"))
            }),
        }
    }
}

/// Undoes percent encoding; what is not valid stays as it is.
pub(super) fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query =
            Query::parse(Some("labelSelector=app%3Dweb%2Ctier+in+%28a%29&watch=true&limit=5&bad=%zz"));
        assert_eq!(query.text("labelSelector"), "app=web,tier in (a)");
        assert!(query.flag("watch"));
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert_eq!(query.number("continue"), Ok(None));
        assert_eq!(query.text("bad"), "%zz");
        assert!(query.number("bad").is_err());
    }
}
