//! Environments of namespaces while namespaces, the configuration and other declarations change.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::*;
use strandline_clock::testing::ManualClock;
use strandline_model::EnvironmentId;
use strandline_query::testing::{Thing, apply_all, end, record};

fn namespace(cluster: &str, name: &str) -> Thing {
    Thing { kind: "Namespace".into(), ..Thing::pod(cluster, "", name) }
}

/// The environments that are declared, with their sources and the clusters of their targets.
async fn declared(appender: &Appender) -> Vec<(String, Source, Vec<String>)> {
    let read = |catalog: &mut Catalog<'_, '_>| {
        let mut found = Vec::new();
        for id in catalog.names(CatalogKind::Environment)? {
            let standing = catalog.get(CatalogKind::Environment, &id)?.unwrap();
            let CatalogFact::Environment(spec) = standing.fact else { unreachable!() };
            let clusters =
                spec.targets.iter().map(|target| format!("{}/{}", target.cluster, target.namespace));
            found.push((id, standing.source, clusters.collect()));
        }
        Ok((Vec::new(), found))
    };
    appender.decide(Source::Api, read).await.unwrap().1
}

async fn ids(appender: &Appender) -> Vec<String> {
    declared(appender).await.into_iter().map(|(id, _, _)| id).collect()
}

fn play<F: Future<Output = ()> + Send>(of: impl FnOnce(Appender) -> F) {
    let data = tempfile::tempdir().unwrap();
    record(data.path(), Arc::new(ManualClock::default()), of);
}

#[test]
fn environments_follow_the_namespaces_that_are_recorded() {
    play(|appender| async move {
        let mut reader = NamespaceReader::new(vec![NamespaceEnvironments::whole("one", "local")], 10);
        reader.declare(&appender).await.unwrap();
        assert!(ids(&appender).await.is_empty(), "nothing is recorded yet");
        apply_all(&appender, 1, &[namespace("one", "web"), namespace("one", "db")]).await;
        apply_all(&appender, 1, &[namespace("two", "x")]).await;
        reader.declare(&appender).await.unwrap();
        assert_eq!(
            declared(&appender).await,
            [
                ("local.db".to_owned(), Source::Namespace, vec!["one/db".to_owned()]),
                ("local.web".to_owned(), Source::Namespace, vec!["one/web".to_owned()]),
            ]
        );
        end(&appender, &namespace("one", "db")).await;
        reader.declare(&appender).await.unwrap();
        assert_eq!(ids(&appender).await, ["local.web"]);
        // After a restart, and after the configuration asks for it no longer.
        let head = appender.declare(Source::Folder, Vec::new()).await.unwrap().head;
        NamespaceReader::new(vec![NamespaceEnvironments::whole("one", "local")], 10)
            .declare(&appender)
            .await
            .unwrap();
        assert_eq!(appender.declare(Source::Folder, Vec::new()).await.unwrap().head, head, "nothing changed");
        let mut none = NamespaceReader::new(Vec::new(), 10);
        none.declare(&appender).await.unwrap();
        assert!(none.is_empty() && ids(&appender).await.is_empty());
    });
}

#[test]
fn the_same_namespace_of_two_clusters_is_one_environment_of_a_shared_project() {
    play(|appender| async move {
        for cluster in ["one", "two"] {
            apply_all(&appender, 1, &[namespace(cluster, "web")]).await;
        }
        let clusters =
            vec![NamespaceEnvironments::whole("one", "shop"), NamespaceEnvironments::whole("two", "shop")];
        NamespaceReader::new(clusters, 10).declare(&appender).await.unwrap();
        let both = vec!["one/web".to_owned(), "two/web".to_owned()];
        assert_eq!(declared(&appender).await, [("shop.web".to_owned(), Source::Namespace, both)]);
    });
}

#[test]
fn patterns_and_namespaces_that_are_watched_by_name_count() {
    play(|appender| async move {
        let all: Vec<_> =
            ["web-1", "web-2", "kube-system", "db"].map(|name| namespace("one", name)).into_iter().collect();
        apply_all(&appender, 1, &all).await;
        let some = NamespaceEnvironments {
            names: vec!["web-*".parse().unwrap(), "named".parse().unwrap(), "kube-*".parse().unwrap()],
            watched: vec!["named".into(), "unnamed".into()],
            excluded: vec!["kube-system".into()],
            ..NamespaceEnvironments::whole("one", "p")
        };
        NamespaceReader::new(vec![some.clone()], 10).declare(&appender).await.unwrap();
        assert_eq!(ids(&appender).await, ["p.named", "p.web-1", "p.web-2"]);
        // Where only some namespaces are watched, the others are nobody's environments.
        let narrow = NamespaceEnvironments { listed: false, ..some };
        NamespaceReader::new(vec![narrow], 10).declare(&appender).await.unwrap();
        assert_eq!(ids(&appender).await, ["p.named"]);
    });
}

/// Whoever may create namespaces could otherwise displace the environments of others, or fill the log.
#[test]
fn more_namespaces_than_the_limit_displace_none_that_are_there() {
    play(|appender| async move {
        apply_all(&appender, 1, &[namespace("one", "web"), namespace("one", "shop")]).await;
        let mut reader = NamespaceReader::new(vec![NamespaceEnvironments::whole("one", "p")], 3);
        reader.declare(&appender).await.unwrap();
        let flood: Vec<_> = (0..300).map(|n| namespace("one", &format!("a-{n:03}"))).collect();
        apply_all(&appender, 2, &flood).await;
        reader.declare(&appender).await.unwrap();
        assert_eq!(ids(&appender).await, ["p.a-000", "p.shop", "p.web"]);
        end(&appender, &namespace("one", "web")).await;
        reader.declare(&appender).await.unwrap();
        assert_eq!(ids(&appender).await, ["p.a-000", "p.a-001", "p.shop"]);
    });
}

#[test]
fn what_somebody_else_declared_stays_theirs() {
    play(|appender| async move {
        let fact = |name: &str| CatalogFact::from(EnvironmentSpec::new("p", name));
        let renamed =
            EnvironmentSpec { id: EnvironmentId::new("p.other"), ..EnvironmentSpec::new("p", "db") };
        let fact_of_renamed = CatalogFact::from(renamed.clone());
        let theirs = move |_: &mut Catalog<'_, '_>| {
            let shop = CatalogFact::from(EnvironmentSpec::new("p", "shop"));
            Ok((vec![CatalogChange::Declare(fact_of_renamed.clone()), CatalogChange::Declare(shop)], ()))
        };
        appender.decide(Source::Api, theirs).await.unwrap();
        appender.declare(Source::Config, vec![fact("web")]).await.unwrap();
        apply_all(&appender, 1, &["db", "shop", "web", "x"].map(|name| namespace("one", name))).await;
        let mut reader = NamespaceReader::new(vec![NamespaceEnvironments::whole("one", "p")], 10);
        reader.declare(&appender).await.unwrap();
        let sources = |found: Vec<(String, Source, Vec<String>)>| -> Vec<_> {
            found.into_iter().map(|(id, source, _)| (id, source)).collect()
        };
        let own = |id: &str, source| (id.to_owned(), source);
        assert_eq!(
            sources(declared(&appender).await),
            [
                own(renamed.id.as_str(), Source::Api),
                own("p.shop", Source::Api),
                own("p.web", Source::Config),
                own("p.x", Source::Namespace),
            ]
        );
        // Once it is withdrawn, the namespace is shown, though no namespace changed.
        let gone = |catalog: &mut Catalog<'_, '_>| {
            catalog.get(CatalogKind::Environment, "p.shop")?;
            Ok((vec![CatalogChange::Withdraw(CatalogKind::Environment, "p.shop".to_owned())], ()))
        };
        appender.decide(Source::Api, gone).await.unwrap();
        for _ in 0..LOOKS_AT_OTHERS {
            reader.declare(&appender).await.unwrap();
        }
        assert!(sources(declared(&appender).await).contains(&own("p.shop", Source::Namespace)));
    });
}
