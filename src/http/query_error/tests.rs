use super::*;
use strandline_model::{EnvironmentId, Health, Kind, Offset, ResourceKey, Timestamp, Uid};

#[test]
fn every_failure_of_a_query_has_its_code() {
    let key = ResourceKey {
        cluster: "eu".into(),
        kind: Kind::new("", "Pod"),
        namespace: "shop".into(),
        name: "web".into(),
    };
    let (now, offset) = (Timestamp::default(), Offset::ZERO);
    let not_found =
        QueryError::NotFound { what: "environment", id: "x".into(), gone: None, moment: None, near: None };
    let ambiguous = QueryError::Ambiguous { uid: Uid::new("u"), keys: vec![key.clone(), key] };
    let late = QueryError::FutureOffset { asked: offset, newest: offset };
    let cases = [
        (not_found, "not_found", 404),
        (ambiguous, "ambiguous_uid", 409),
        (QueryError::AgentDenied { environment: EnvironmentId::new("x") }, "agent_access_denied", 403),
        (QueryError::OnsetUnknown { health: Health::Degraded, why: "x".into() }, "onset_unknown", 404),
        (QueryError::FutureOffset { asked: offset, newest: offset }, "future_moment", 400),
        (QueryError::FutureTime { asked: now, now }, "future_moment", 400),
        (QueryError::Compacted { earliest: offset, time: Some(now) }, "compacted", 410),
        (QueryError::GivenBy { parameter: "from", error: Box::new(late) }, "future_moment", 400),
        (QueryError::CostlyField { field: "$..*".into() }, "invalid_parameter", 400),
        (QueryError::TooManyKinds { count: 65, most: 64 }, "invalid_parameter", 400),
        (QueryError::Backwards { from: offset, to: offset }, "invalid_parameter", 400),
        (QueryError::BadToken("x"), "bad_page_token", 400),
        (QueryError::Building { checkpoint: offset, head: offset }, "view_building", 503),
        (QueryError::TooLong, "question_too_long", 503),
        (QueryError::Lost { offset, newest: offset }, "lost", 410),
        (QueryError::LogDamaged { offset, what: "/secret/path".into() }, "storage", 500),
        (QueryError::Storage("/secret/path: disk I/O error".into()), "storage", 500),
    ];
    for (error, code, status) in cases {
        let problem = Problem::from(error);
        assert_eq!((problem.code.as_str(), problem.code.status()), (code, status));
        assert!(!problem.detail.contains("secret"), "the cause stays in the log");
        if let [error] = &problem.errors[..] {
            assert!(error.parameter == "from" && problem.detail.contains(&error.detail), "{error:?}");
        }
        assert_eq!(problem.candidates.len(), if code == "ambiguous_uid" { 2 } else { 0 });
        assert_eq!(problem.earliest.is_some(), code == "compacted");
        assert_eq!(problem.headers().count(), usize::from(code == "view_building"));
    }
}
