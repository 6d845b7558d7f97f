//! What a question to a server is made of, each with the argument that gave it.

use strandline_syntax::percent_encode;

/// Parameters of a query, in order.
pub(super) type Parameters = Vec<Parameter>;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// The argument that gave it, for what is wrong with it to be reported by that.
    pub(super) argument: Option<&'static str>,
}

impl Parameter {
    pub(super) fn new(name: &'static str, value: impl ToString) -> Self {
        Parameter { name, value: value.to_string(), argument: None }
    }

    pub(super) fn of_argument(self, argument: &'static str) -> Self {
        Parameter { argument: Some(argument), ..self }
    }
}

/// Adds values to a query.
pub(super) trait Add {
    /// Each value under the name.
    fn add<T: ToString>(self, name: &'static str, values: &[T]) -> Self;

    /// The same of values that this argument gave.
    fn add_of<T: ToString>(self, argument: &'static str, name: &'static str, values: &[T]) -> Self;
}

impl Add for Parameters {
    fn add<T: ToString>(mut self, name: &'static str, values: &[T]) -> Self {
        self.extend(values.iter().map(|value| Parameter::new(name, value.to_string())));
        self
    }

    fn add_of<T: ToString>(mut self, argument: &'static str, name: &'static str, values: &[T]) -> Self {
        let given = |value: &T| Parameter::new(name, value.to_string()).of_argument(argument);
        self.extend(values.iter().map(given));
        self
    }
}

/// A path with its query.
pub(super) fn with_query(path: &str, query: &[Parameter]) -> String {
    let pair = |given: &Parameter| format!("{}={}", given.name, percent_encode(&given.value));
    let pairs: Vec<_> = query.iter().map(pair).collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("{path}{mark}{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::cli::client::refused;
    use crate::cli::error::Exit;
    use crate::http::problem::{ParameterError, Problem, ProblemCode};

    /// What is typed wrong is reported by the argument that was typed, whatever the parameter is called.
    #[test]
    fn a_wrong_moment_is_told_by_the_argument_that_gave_it() {
        let reported = |query: &[Parameter], problem: Problem| {
            let body = serde_json::json!({
                "code": problem.code.as_str(), "detail": problem.detail, "errors": problem.errors,
            });
            let refused =
                refused("asking", "http://s", query, StatusCode::BAD_REQUEST, body.to_string().as_bytes());
            (refused.why, refused.exit)
        };
        let given = |name, argument| Parameter::new(name, "9999").of_argument(argument);
        let wrong = |name: &str| {
            Problem::parameters(vec![ParameterError { parameter: name.into(), detail: "no".into() }])
        };
        for (name, argument) in [("from", "--from"), ("from", "--since"), ("to", "--until"), ("at", "--to")] {
            assert_eq!(
                reported(&[given(name, argument)], wrong(name)),
                (format!("{argument}: no"), Exit::Usage)
            );
        }
        assert_eq!(reported(&[given("from", "--from")], wrong("tier")).0, "tier: no");
        // The moment of an answer is refused by no name of a parameter.
        for code in [ProblemCode::FutureMoment, ProblemCode::Compacted] {
            let late = || Problem::new(code, "too late");
            let both = [given("to", "--to"), given("from", "--from")];
            assert_eq!(reported(&both, late()).0, "--to: too late");
            assert_eq!(reported(&[given("at", "--at"), given("to", "--until")], late()).0, "--at: too late");
        }
    }
}
