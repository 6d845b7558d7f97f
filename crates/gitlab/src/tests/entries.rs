//! Which entry is for a job, and what its keys do.

use serde_json::json;

use super::super::{AccessAs, EntryKind};
use super::{Job, OWNER, Reason, ask, job, short};

const LEVELS: &str = "
ci_access:
  projects:
    - {id: shop/front/web, default_namespace: project, environments: [staging]}
  groups:
    - {id: shop, default_namespace: group}
    - {id: Shop/Front, default_namespace: subgroup, access_as: {ci_job: {}}, resource_management: {enabled: true}}
  instance: {default_namespace: everyone}
";

#[test]
fn the_nearest_entry_is_for_the_job() {
    for (project, environment, kind, id, expected) in [
        (
            "shop/front/web",
            "staging",
            EntryKind::Project,
            "shop/front/web",
            (Reason::NoRules, Some("project")),
        ),
        (
            "SHOP/front/Web",
            "staging",
            EntryKind::Project,
            "shop/front/web",
            (Reason::NoRules, Some("project")),
        ),
        // What a nearer entry refuses no farther one allows.
        ("shop/front/web", "qa", EntryKind::Project, "shop/front/web", (Reason::EnvironmentNotListed, None)),
        ("shop/front/api", "qa", EntryKind::Group, "Shop/Front", (Reason::NoRules, Some("subgroup"))),
        ("shop/front/x/api", "qa", EntryKind::Group, "Shop/Front", (Reason::NoRules, Some("subgroup"))),
        ("shop/api", "qa", EntryKind::Group, "shop", (Reason::NoRules, Some("group"))),
        ("shopping/api", "qa", EntryKind::Instance, "", (Reason::NoRules, Some("everyone"))),
        (OWNER, "qa", EntryKind::OwnProject, OWNER, (Reason::OwnProject, None)),
        ("OPS/Agents", "qa", EntryKind::OwnProject, "OPS/Agents", (Reason::OwnProject, None)),
    ] {
        let decision = ask(LEVELS, &job(project, "main", environment));
        assert_eq!((decision.reason, decision.namespace.as_deref()), expected, "{project}");
        let entry = decision.entry.unwrap();
        assert_eq!((entry.kind, entry.id.as_str(), entry.block), (kind, id, 1), "{project}");
    }
    let decision = ask(LEVELS, &job("shop/front/api", "main", "qa"));
    assert_eq!((decision.access_as, decision.resource_management), (Some(AccessAs::CiJob {}), true));
}

#[test]
fn the_agents_own_project_is_allowed_unless_it_is_listed() {
    assert_eq!(short(&ask("", &job(OWNER, "x", ""))), (Reason::OwnProject, None, None));
    assert_eq!(short(&ask("", &job("ops/other", "x", ""))).0, Reason::NotListed);
    let listed = "ci_access: {projects: [{id: ops/agents, environments: [production]}], groups: [{id: ops}]}";
    assert_eq!(short(&ask(listed, &job(OWNER, "x", "qa"))).0, Reason::EnvironmentNotListed);
    let by_group = "ci_access: {groups: [{id: ops, environments: [production]}]}";
    assert_eq!(short(&ask(by_group, &job(OWNER, "x", "qa"))).0, Reason::OwnProject);
}

#[test]
fn more_groups_than_the_path_tells_of_can_be_given() {
    let yaml = "ci_access: {groups: [{id: deploy}]}";
    let member = Job { groups: vec!["deploy/europe".into()], ..job("shop/web", "main", "") };
    assert_eq!(short(&ask(yaml, &member)).0, Reason::NoRules);
    assert_eq!(short(&ask(yaml, &job("shop/web", "main", ""))).0, Reason::NotListed);
}

#[test]
fn environments_are_named_or_like_a_pattern() {
    for (pattern, environment, expected) in [
        ("staging", "staging", true),
        ("staging", "Staging", false),
        ("staging", "staging-2", false),
        ("review/*", "review/fix", true),
        ("review/*", "review/a/b", true),
        ("review/*", "review/", true),
        ("review/*", "review", false),
        ("review/*", "prod/review/x", false),
        ("*", "anything", true),
        ("*", "", false),
        ("*/us-*", "production/us-region", true),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("a*ab*b", "aab", false),
        ("**", "x", true),
        ("pro.uction", "production", false),
    ] {
        let yaml = format!("ci_access: {{projects: [{{id: a/b, environments: ['{pattern}']}}]}}");
        let allowed = ask(&yaml, &job("a/b", "main", environment)).allowed;
        assert_eq!(allowed, expected, "{pattern} {environment}");
    }
}

#[test]
fn protected_branches_may_be_asked_for() {
    let yaml = "ci_access: {projects: [{id: a/b, protected_branches_only: true}]}";
    let job = job("a/b", "main", "");
    assert_eq!(short(&ask(yaml, &job)).0, Reason::RefNotProtected);
    assert_eq!(short(&ask(yaml, &Job { protected: true, ..job })).0, Reason::NoRules);
}

#[test]
fn entries_of_one_project_are_tried_in_order() {
    let yaml = "
ci_access:
  projects:
    - {id: a/b, environments: [production], rules: [{if: $CI_COMMIT_TAG, namespace: one}]}
    - {id: a/b, rules: [{if: '$CI_COMMIT_BRANCH == \"x\"', namespace: two}, {if: $STOP, when: never}]}
    - {id: A/B, rules: [{namespace: three}]}
";
    let decided = |job: &Job| {
        let decision = ask(yaml, job);
        (decision.entry.map_or(0, |entry| entry.block), decision.rule, decision.namespace)
    };
    let tag = Job { tag: true, ..job("a/b", "v1", "production") };
    assert_eq!(decided(&tag), (1, Some(1), Some("one".into())));
    assert_eq!(decided(&Job { tag: true, ..job("a/b", "v1", "qa") }), (3, Some(1), Some("three".into())));
    assert_eq!(decided(&job("a/b", "x", "production")), (2, Some(1), Some("two".into())));
    let mut stopped = job("a/b", "main", "qa");
    stopped.variables.insert("STOP".into(), "1".into());
    assert_eq!(decided(&stopped), (2, Some(2), None));
}

#[test]
fn a_job_may_ask_for_a_namespace_that_no_rule_contradicts() {
    let yaml = "
ci_access:
  projects:
    - {id: a/b, default_namespace: default-$CI_PROJECT_NAME}
    - {id: a/c, rules: [{namespace: $CI_ENVIRONMENT_SLUG}]}
    - {id: a/d, default_namespace: fallback, rules: [{if: '$CI_COMMIT_TAG == null'}]}
";
    for (project, asked, expected) in [
        ("a/b", None, (Reason::NoRules, None, Some("default-b"))),
        ("a/b", Some("own"), (Reason::NoRules, None, Some("own"))),
        ("a/b", Some("$CI_ENVIRONMENT_SLUG-x"), (Reason::NoRules, None, Some("qa-x"))),
        ("a/b", Some("Not A Label"), (Reason::BadNamespace, None, None)),
        ("a/c", Some("qa"), (Reason::RuleMatched, Some(1), Some("qa"))),
        ("a/c", Some("other"), (Reason::NamespaceNotGranted, Some(1), None)),
        ("a/d", None, (Reason::RuleMatched, Some(1), Some("fallback"))),
        ("a/d", Some("own"), (Reason::RuleMatched, Some(1), Some("own"))),
        (OWNER, Some("own"), (Reason::OwnProject, None, Some("own"))),
    ] {
        let job = Job { namespace: asked.map(str::to_owned), ..job(project, "main", "qa") };
        assert_eq!(short(&ask(yaml, &job)), expected, "{project} {asked:?}");
    }
}

#[test]
fn roles_are_carried_with_their_variables() {
    let yaml = "
ci_access:
  projects:
    - {id: a/b, rules: [{roles: [edit, {name: '$CI_ENVIRONMENT_SLUG-admin', count: 1}]}]}
";
    let decision = ask(yaml, &job("a/b", "main", "qa"));
    assert_eq!(decision.roles, json!(["edit", {"name": "qa-admin", "count": 1}]));
}

#[test]
fn a_decision_is_written_for_answers() {
    let yaml = "ci_access: {projects: [{id: a/b, rules: [{if: $CI_COMMIT_BRANCH == $MAIN}, {when: never}]}]}";
    let decision = ask(yaml, &job("a/b", "x", "qa"));
    let expected = json!({
        "allowed": false, "rule": 2, "namespace": null, "reason": "rule_never",
        "message": "rule 2 matched with `when: never`",
        "entry": {"kind": "project", "id": "a/b", "block": 1},
        "namespace_before": null, "roles": null, "access_as": null, "resource_management": false,
        "unset": ["MAIN"], "unverified": ["CI_COMMIT_BRANCH", "MAIN"],
    });
    assert_eq!(serde_json::to_value(&decision).unwrap(), expected);
    assert_eq!(json!(decision.reason), json!(decision.reason.as_str()));
}
