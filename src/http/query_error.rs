//! Errors of queries as problems.

use super::params::FROM;
use super::problem::{ParameterError, Problem, ProblemCode};
use strandline_protocol::EarliestMoment;
use strandline_query::QueryError;

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let detail = error.to_string();
        match error {
            QueryError::NotFound { gone, .. } => {
                Problem { gone: gone.map(Box::new), ..Problem::new(ProblemCode::NotFound, detail) }
            }
            QueryError::AmbiguousDeployment { .. } => Problem::new(ProblemCode::AmbiguousDeployment, detail),
            QueryError::Ambiguous { keys, .. } => {
                Problem { candidates: keys, ..Problem::new(ProblemCode::AmbiguousUid, detail) }
            }
            QueryError::FutureOffset { .. } | QueryError::FutureTime { .. } => {
                Problem::new(ProblemCode::FutureMoment, detail)
            }
            QueryError::Compacted { earliest: offset, time } => {
                let earliest = Some(Box::new(EarliestMoment { offset, time }));
                Problem { earliest, ..Problem::new(ProblemCode::Compacted, detail) }
            }
            QueryError::GivenBy { parameter, error } => {
                let of = Problem::from(*error);
                let errors = vec![ParameterError { parameter: parameter.into(), detail: of.detail.clone() }];
                Problem { detail, errors, ..of }
            }
            QueryError::Backwards { .. } => {
                let errors = vec![ParameterError { parameter: FROM.name.into(), detail: detail.clone() }];
                Problem { errors, ..Problem::new(ProblemCode::InvalidParameter, detail) }
            }
            QueryError::OnsetUnknown { .. } => Problem::new(ProblemCode::OnsetUnknown, detail),
            QueryError::AgentDenied { .. } => Problem::new(ProblemCode::AgentAccessDenied, detail),
            QueryError::CostlyField { .. } | QueryError::TooManyKinds { .. } => {
                Problem::new(ProblemCode::InvalidParameter, detail)
            }
            QueryError::BadToken(_) => Problem::new(ProblemCode::BadPageToken, detail),
            QueryError::Building { .. } | QueryError::Damaged(_) => {
                Problem::new(ProblemCode::ViewBuilding, detail)
            }
            QueryError::TooLong => Problem::new(ProblemCode::QuestionTooLong, detail),
            QueryError::Lost { .. } => Problem::new(ProblemCode::Lost, detail),
            QueryError::Storage(_) | QueryError::LogDamaged { .. } => {
                tracing::error!(cause = detail, "reading the database failed");
                Problem::new(
                    ProblemCode::Storage,
                    "reading the database failed; the server's log has the cause under the trace id",
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
