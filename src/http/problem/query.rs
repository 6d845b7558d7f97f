//! Questions that were not answered, as problems.

use super::{Code, Earliest, ParameterError, Problem};
use crate::http::params::FROM;
use strandline_query::QueryError;

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let detail = error.to_string();
        match error {
            QueryError::NotFound { gone, .. } => {
                Problem { gone: gone.map(Box::new), ..Problem::new(Code::NotFound, detail) }
            }
            QueryError::AmbiguousDeployment { .. } => Problem::new(Code::AmbiguousDeployment, detail),
            QueryError::Ambiguous { keys, .. } => {
                Problem { candidates: keys, ..Problem::new(Code::AmbiguousUid, detail) }
            }
            QueryError::FutureOffset { .. } | QueryError::FutureTime { .. } => {
                Problem::new(Code::FutureMoment, detail)
            }
            QueryError::Compacted { earliest: offset, time } => {
                let earliest = Some(Box::new(Earliest { offset, time }));
                Problem { earliest, ..Problem::new(Code::Compacted, detail) }
            }
            QueryError::GivenBy { parameter, error } => {
                let of = Problem::from(*error);
                let errors = vec![ParameterError { parameter: parameter.into(), detail: of.detail.clone() }];
                Problem { detail, errors, ..of }
            }
            QueryError::Backwards { .. } => {
                let errors = vec![ParameterError { parameter: FROM.name.into(), detail: detail.clone() }];
                Problem { errors, ..Problem::new(Code::InvalidParameter, detail) }
            }
            QueryError::OnsetUnknown { .. } => Problem::new(Code::OnsetUnknown, detail),
            QueryError::AgentDenied { .. } => Problem::new(Code::AgentAccessDenied, detail),
            QueryError::CostlyField { .. } => Problem::new(Code::InvalidParameter, detail),
            QueryError::BadToken(_) => Problem::new(Code::BadPageToken, detail),
            QueryError::Building { .. } | QueryError::Damaged(_) => Problem::new(Code::ViewBuilding, detail),
            QueryError::TooLong => Problem::new(Code::QuestionTooLong, detail),
            QueryError::Lost { .. } => Problem::new(Code::Lost, detail),
            QueryError::Storage(_) | QueryError::LogDamaged { .. } => {
                tracing::error!(cause = detail, "reading the database failed");
                Problem::new(
                    Code::Storage,
                    "reading the database failed; the server's log has the cause under the trace id",
                )
            }
        }
    }
}
