//! What callers send stays within bounds, and costs those who send it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{Authority, CatalogCode, CatalogError, CatalogWriter, Deployed, Outcome};
use crate::catalog::QuotaConfig;
use strandline_clock::testing::ManualClock;
use strandline_log::{Appender, Batch, Begin, Observed, Phase};
use strandline_model::{
    AgentId, AgentSpec, CatalogFact, EnvironmentSpec, Kind, Offset, ResourceVersion, Source, WatchKey,
};
use strandline_query::testing::{observation, record};

fn played<F: Future<Output = ()> + Send>(test: impl FnOnce(Appender) -> F + Send) {
    let data = tempfile::tempdir().unwrap();
    let path: &Path = data.path();
    record(path, Arc::new(ManualClock::default()), test);
}

async fn listed(
    writer: &CatalogWriter,
    names: impl IntoIterator<Item = String>,
) -> Result<Vec<Outcome<EnvironmentSpec>>, (Option<usize>, CatalogError)> {
    let inputs = names.into_iter().map(|name| serde_json::from_value(json!({ "name": name })).unwrap());
    writer.put_environments(Authority::Everything, "shop/web", inputs.collect()).await
}

async fn deploy(writer: &CatalogWriter, more: Value) -> Result<Outcome<Deployed>, CatalogError> {
    let mut body = json!({ "project": "shop/web", "environment": "production" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    writer.deploy((Authority::Everything, true), serde_json::from_value(body).unwrap()).await
}

/// As one that was declared before there were bounds.
fn agent_with_large_regular_expressions() -> CatalogFact {
    let rules = (0..990).map(|n| format!("{{if: '$CI_COMMIT_BRANCH =~ /^{n}([a-z]{{60}}){{20}}$/'}}"));
    let rules = rules.collect::<Vec<_>>().join(", ");
    let configuration = format!("ci_access: {{projects: [{{id: shop/web, rules: [{rules}]}}]}}");
    let id = AgentId::new("ops/agents", "prod");
    CatalogFact::Agent(Box::new(AgentSpec { configuration, ..AgentSpec::new(id) }))
}

#[test]
fn deployments_at_once_with_too_large_a_file_stop_no_recording() {
    played(|appender| async move {
        appender.declare(Source::Config, vec![agent_with_large_regular_expressions()]).await.unwrap();
        let writer = CatalogWriter::new(&appender);
        let deploying: Vec<_> = (0..8)
            .map(|_| {
                let writer = writer.clone();
                tokio::spawn(async move {
                    deploy(&writer, json!({ "kubernetes": { "agent": "ops/agents:prod" } })).await
                })
            })
            .collect();
        let kind = Kind::new("", "Pod");
        let watch = WatchKey { cluster: "east".into(), kind, namespace: String::new() };
        let epoch = appender.begin(Begin::new(&watch, true)).await.unwrap().epoch;
        for n in 1..=50_u64 {
            let observed = vec![Observed::Applied(observation("shop", "a", "1", n, &json!({ "n": n })))];
            let cursor = Some(ResourceVersion::new(n.to_string()));
            let batch = Batch { watch: watch.clone(), epoch, phase: Phase::Watch, observed, cursor };
            assert_eq!(appender.append(batch).await.unwrap().written, 1);
        }
        for deploying in deploying {
            let refused = deploying.await.unwrap().unwrap_err();
            assert_eq!(
                (refused.code, refused.field.as_str()),
                (CatalogCode::InvalidValue, "kubernetes.agent")
            );
            assert!(refused.message.contains("bytes compiled"), "{refused}");
        }
    });
}

#[test]
fn a_list_is_one_decision_and_each_item_finds_those_before_it() {
    played(|appender| async move {
        let writer = CatalogWriter::new(&appender);
        for list in 0..6 {
            let all = listed(&writer, (0..500).map(|n| format!("review/{list}-{n}"))).await.unwrap();
            let offset = Offset::new(500 * (list + 1));
            assert!(all.iter().all(|one| one.created && one.offset == offset), "all are there at once");
        }
        let again = listed(&writer, (0..500).map(|n| format!("review/3-{n}"))).await.unwrap();
        assert!(again.iter().all(|one| !one.created && one.offset == Offset::new(3000)));
        let twice = ["review/new", "review/new", "review.new"].map(str::to_owned);
        let twice = listed(&writer, twice).await.unwrap();
        let ids: Vec<_> = twice.iter().map(|one| (one.created, one.value.id.as_str())).collect();
        assert_eq!((ids[0].0, ids[1].0, ids[2].0), (true, false, true), "{ids:?}");
        assert!(ids[0].1 == ids[1].1 && ids[1].1 != ids[2].1, "{ids:?}");
    });
}

#[test]
fn what_is_declared_stays_within_the_quotas() {
    played(|appender| async move {
        let quotas = QuotaConfig { environments: 3, agents: 1, deployments: 2, ..QuotaConfig::default() };
        let writer = CatalogWriter::new(&appender).with_quotas(quotas);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        listed(&writer, names(&["a", "production"])).await.unwrap();
        let (index, refused) = listed(&writer, names(&["a", "b", "c"])).await.unwrap_err();
        assert_eq!((index, refused.code), (Some(2), CatalogCode::QuotaExceeded));
        let expected = "the project `shop/web` has reached its quota of 3 environments";
        assert_eq!(refused.message, expected);
        // Of that list nothing was taken; what is there may change.
        listed(&writer, names(&["a", "c"])).await.unwrap();
        let code = |error: CatalogError| error.code;
        let refused = deploy(&writer, json!({ "environment": "d" })).await.map(|_| ()).map_err(code);
        assert_eq!(refused, Err(CatalogCode::QuotaExceeded), "nor with a deployment");
        for (id, expected) in
            [(1, Ok(true)), (2, Ok(true)), (3, Err(CatalogCode::QuotaExceeded)), (2, Ok(false))]
        {
            let told = deploy(&writer, json!({ "id": id })).await.map(|told| told.created).map_err(code);
            assert_eq!(told, expected, "{id}");
        }
        for (name, expected) in [("x", Ok(())), ("y", Err(CatalogCode::QuotaExceeded)), ("x", Ok(()))] {
            let input = serde_json::from_value(json!({})).unwrap();
            let told = writer.put_agent(Authority::Everything, &AgentId::new("shop/web", name), input).await;
            assert_eq!(told.map(|_| ()).map_err(code), expected, "{name}");
        }
        let labels: serde_json::Map<String, Value> =
            (0..100).map(|n| (format!("l{n}"), json!("v".repeat(4000)))).collect();
        let input = serde_json::from_value(json!({ "name": "a", "labels": labels })).unwrap();
        let refused =
            writer.put_environment(Authority::Everything, None, Some("shop/web"), input).await.unwrap_err();
        assert_eq!(refused.code, CatalogCode::QuotaExceeded);
        assert!(refused.message.contains("the limit is 262144"), "{refused}");
    });
}

#[test]
fn a_project_adds_so_much_to_the_log_within_a_day_and_others_go_on() {
    played(|appender| async move {
        let quotas = QuotaConfig { bytes_per_day: 20_000, ..QuotaConfig::default() };
        let writer = CatalogWriter::new(&appender).with_quotas(quotas);
        let put = async |project: &str, label: String| {
            let input = json!({ "name": "production", "labels": { "a": label } });
            let input = serde_json::from_value(input).unwrap();
            let put = writer.put_environment(Authority::Everything, None, Some(project), input).await;
            put.map(|outcome| outcome.offset).map_err(|error| (error.code, error.message))
        };
        let first = put("shop/web", "v".repeat(4000)).await.unwrap();
        for _ in 0..20 {
            assert_eq!(put("shop/web", "v".repeat(4000)).await, Ok(first), "what is said again adds nothing");
        }
        let mut written = 0;
        let (code, message) = loop {
            match put("shop/web", format!("{written}{}", "v".repeat(4000))).await {
                Ok(_) => written += 1,
                Err(refused) => break refused,
            }
        };
        assert_eq!((code, written), (CatalogCode::TooOften, 4), "{message}");
        let expected = "the project `shop/web` has reached its quota of 20000 bytes of declarations per day";
        assert_eq!(message, expected);
        let (code, _) = deploy(&writer, json!({ "id": 1 }))
            .await
            .map(|_| ())
            .map_err(|error| (error.code, ()))
            .unwrap_err();
        assert_eq!(code, CatalogCode::TooOften, "nor by deployments");
        let listed = listed(&writer, ["a".to_owned()]).await.map(|_| ());
        assert_eq!(
            listed.map_err(|(index, error)| (index, error.code)),
            Err((Some(0), CatalogCode::TooOften))
        );
        put("shop/other", "v".repeat(4000)).await.unwrap();
    });
}
