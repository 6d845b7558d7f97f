use serde_json::json;

use super::*;

fn default() -> Lens {
    Lens::new(Between::Versions, &[Class::Metadata, Class::Status])
}

#[test]
fn classes_are_told_apart_and_noise_is_hidden_until_asked_for() {
    let before = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "resourceVersion": "1", "generation": 4, "labels": {"a": "1"}},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 4, "replicas": 1, "conditions": [
            {"type": "Progressing", "status": "True", "lastUpdateTime": "10:00", "lastHeartbeatTime": "1"}]},
        "data": {"k": "v"},
    });
    let after = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "resourceVersion": "2", "generation": 5, "labels": {"a": "2"}, "managedFields": []},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 5, "replicas": 2, "conditions": [
            {"type": "Progressing", "status": "False", "lastUpdateTime": "10:01", "lastHeartbeatTime": "2"}]},
        "data": {"k": "w"},
    });
    let found = differences(&before, &after, &default());
    let expected = [
        "~ spec spec.replicas",
        "~ spec data.k",
        "~ metadata metadata.labels.a",
        "~ status status.replicas",
        "~ status status.conditions[type=Progressing].status",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.hidden, Hidden { noise: 6, ..Hidden::default() });
    let spec = differences(&before, &after, &Lens::new(Between::Versions, &[]));
    assert_eq!(told(&spec), expected[..2]);
    assert_eq!(spec.hidden, Hidden { metadata: 1, status: 2, noise: 6, ..Hidden::default() });
    let whole = differences(&before, &after, &Lens::whole());
    assert!(whole.hidden.is_empty());
    assert_eq!(told(&whole).len(), 11);
    assert!(told(&whole).contains(&"~ noise status.conditions[type=Progressing].lastUpdateTime".to_owned()));
}

#[test]
fn insertions_do_not_make_the_rest_differ() {
    let before = json!({"spec": {"containers": [
        {"name": "web", "image": "web:1", "args": ["--a", "--v=1", "--z"], "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}});
    let after = json!({"spec": {"containers": [
        {"name": "proxy", "image": "proxy:1"},
        {"name": "web", "image": "web:2", "args": ["--new", "--a", "--v=2", "--z"],
            "ports": [{"containerPort": 9090, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP", "name": "http"}]}]}});
    let found = differences(&before, &after, &default());
    let expected = [
        "+ spec spec.containers[name=proxy]",
        "~ spec spec.containers[name=web].image",
        "+ spec spec.containers[name=web].args[0]",
        "~ spec spec.containers[name=web].args[2]",
        "+ spec spec.containers[name=web].ports[containerPort=9090,protocol=TCP]",
        "+ spec spec.containers[name=web].ports[containerPort=80,protocol=TCP].name",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.differences[1].pointer, "/spec/containers/1/image");
    assert_eq!(
        (&found.differences[1].before, &found.differences[1].after),
        (&Some("web:1".into()), &Some("web:2".into()))
    );
}

#[test]
fn order_is_told_only_where_it_counts() {
    let state = |names: [&str; 3]| {
        let named: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"spec": {"volumes": named, "initContainers": named, "finalizers": names}})
    };
    let found = differences(&state(["a", "b", "c"]), &state(["b", "c", "a"]), &default());
    assert_eq!(told(&found), ["> spec spec.initContainers[name=a]"]);
    assert_eq!(
        (&found.differences[0].before, &found.differences[0].after),
        (&Some(0.into()), &Some(2.into()))
    );
}

#[test]
fn what_is_there_at_one_moment_only_is_told_whole_without_its_noise() {
    let object = json!({
        "kind": "Deployment", "metadata": {"name": "web", "uid": "u", "resourceVersion": "1"}, "spec": {"replicas": 1},
        "status": {"observedGeneration": 1},
    });
    let gone = compare(&deployment(), Some(&object), None, &default());
    assert_eq!(told(&gone), ["- spec kind", "- spec spec", "- metadata metadata"]);
    assert_eq!(gone.differences[2].before, Some(json!({"name": "web"})));
    assert_eq!(gone.hidden.noise, 3);
    let came = compare(&deployment(), None, Some(&object), &default());
    assert_eq!(told(&came), ["+ spec kind", "+ spec spec", "+ metadata metadata"]);
    assert!(compare(&deployment(), None, None, &default()).is_empty());
}

#[test]
fn rules_hide_what_they_name_and_are_counted() {
    let before = json!({"metadata": {"annotations": {"a.io/x": "1", "b.io/x": "1"}}, "spec": {"replicas": 1, "paused": false}});
    let after = json!({"metadata": {"annotations": {"a.io/x": "2", "b.io/x": "2", "a.io/y": "1"}}, "spec": {"replicas": 2}});
    let lens = |rules: &[&str]| default().ignoring(rules.iter().filter_map(|rule| rule.parse().ok()));
    let found = differences(&before, &after, &lens(&["spec.replicas", "metadata.annotations[a.io/*]"]));
    assert_eq!(told(&found), ["- spec spec.paused", "~ metadata metadata.annotations[b.io/x]"]);
    assert_eq!(found.hidden.ignored, 3);
    let other = differences(&before, &after, &lens(&["StatefulSet.apps:spec.replicas"]));
    assert_eq!(other.hidden.ignored, 0, "a rule of another kind says nothing");
    let own = differences(&before, &after, &lens(&["Deployment.apps:spec", "metadata"]));
    assert!(own.is_empty());
}

#[test]
fn between_environments_what_has_to_differ_is_noise() {
    let names = NameMap::new(["staging:production".parse::<NamePair>()].into_iter().flatten());
    let state = |environment: &str, uid: &str, image: &str| {
        json!({
            "metadata": {"name": format!("web-{environment}"), "namespace": environment, "uid": uid,
                "ownerReferences": [{"kind": "App", "name": "web", "uid": uid}],
                "labels": {"env": environment, "pod-template-hash": uid}},
            "spec": {"containers": [{"name": format!("web-{environment}"), "image": image,
                "env": [{"name": "URL", "value": format!("https://{environment}.example.org")}]}]},
        })
    };
    let lens = Lens::new(Between::Environments, &[Class::Metadata]).mapping(names);
    let (staging, production) = (state("staging", "1", "web:2"), state("production", "2", "web:1"));
    let found = differences(&staging, &production, &lens);
    assert_eq!(told(&found), ["~ spec spec.containers[name=web-production].image"]);
    let plain = Lens::new(Between::Environments, &[Class::Metadata]);
    let found = differences(&staging, &production, &plain);
    let expected = [
        "- spec spec.containers[name=web-staging]",
        "+ spec spec.containers[name=web-production]",
        "~ metadata metadata.labels.env",
    ];
    let mut short = told(&found);
    short.sort_by_key(|line| expected.iter().position(|one| one == line));
    assert_eq!(short, expected, "without a map only what the cluster gives out is left out");
}

#[test]
fn mapped_names_are_told_as_they_were() {
    let lens = Lens::new(Between::Environments, &[]).mapping(NameMap::new(NamePair::words("a", "b")));
    let found = differences(
        &json!({"spec": {"x": "a-1", "gone": {"y": "a"}}}),
        &json!({"spec": {"x": "b-2"}}),
        &lens,
    );
    let before: Vec<_> = found.differences.iter().map(|difference| difference.before.clone()).collect();
    assert_eq!(before, [Some("a-1".into()), Some(json!({"y": "a"}))]);
}

#[test]
fn a_difference_is_read_back_as_it_was_written() {
    let found = differences(&json!({"a": null, "b": 1}), &json!({"a": 1, "b": null}), &default());
    let text = serde_json::to_string(&found).unwrap_or_default();
    assert_eq!(serde_json::from_str::<Comparison>(&text).ok(), Some(found), "{text}");
}

#[test]
fn a_patch_tells_what_the_lens_tells() {
    let before = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}, "spec": {"replicas": 1,
        "containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}, "status": {"x": 1}});
    let after = json!({"metadata": {"resourceVersion": "2", "labels": {"a": "2"}}, "spec": {"replicas": 2,
        "containers": [{"name": "c", "image": "c:1"}, {"name": "b", "image": "b:2"}]}, "status": {"x": 2}});
    let lens = Lens::new(Between::Versions, &[]).ignoring("spec.replicas".parse::<PathRule>());
    let operations = patch(&deployment(), Some(&before), Some(&after), &lens);
    let expected = json!([
        {"op": "remove", "path": "/spec/containers/0"},
        {"op": "add", "path": "/spec/containers/0", "value": {"name": "c", "image": "c:1"}},
        {"op": "replace", "path": "/spec/containers/1/image", "value": "b:2"},
    ]);
    assert_eq!(serde_json::to_value(&operations).ok(), Some(expected));
}

#[test]
fn texts_that_are_the_same_but_for_names_are_counted() {
    let before = json!({"metadata": {"name": "web-a", "labels": {"env": "a"}}, "spec": {"x": "a-1", "y": ["a", "q"], "z": 1}});
    let after = json!({"metadata": {"name": "web-b", "labels": {"env": "b"}}, "spec": {"x": "b-1", "y": ["b", "q"], "z": 2}});
    let renamed = |include: &[Class], pairs: Option<NamePair>| {
        let lens = Lens::new(Between::Environments, include).mapping(NameMap::new(pairs));
        let found = differences(&before, &after, &lens);
        (found.differences.len(), found.hidden.renamed)
    };
    let names = || NamePair::words("a", "b");
    assert_eq!(renamed(&[Class::Metadata], names()), (1, 3), "the name of the object is noise");
    assert_eq!(renamed(&[], names()), (1, 2), "what was not asked for is not counted");
    assert_eq!(renamed(&[Class::Metadata], None).1, 0);
}
