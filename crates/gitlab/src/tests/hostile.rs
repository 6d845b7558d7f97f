//! What must end in a denial with a reason of its own, and never in a panic.

use proptest::prelude::*;

use super::super::expression::{Expression, MAX_COMPILED_BYTES};
use super::super::{Entry, Grant, LongNamespace, NoMatch, Rule, Variables, When};
use super::{AgentConfig, Job, Reason, ask, config, decide, job};
use strandline_syntax::is_dns_label;

fn with(job: Job, variables: &[(&str, &str)]) -> Job {
    let given = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Job { variables: given.collect(), ..job }
}

fn rule(text: &str) -> String {
    format!("ci_access: {{projects: [{{id: a/b, rules: [{{{text}}}]}}]}}")
}

#[test]
fn each_failure_has_a_reason_of_its_own() {
    let long = "n".repeat(300);
    let doubled: Vec<(String, String)> =
        (0..40).map(|n| (format!("V{n}"), format!("$V{0}-$V{0}-", n + 1))).collect();
    let mut variables = vec![
        ("A", "$B"),
        ("B", "${A}"),
        ("P", "/(x/"),
        ("LONG", &long),
        ("EVIL", "/^(a|aa)+$/"),
        ("UP", "Up/Per"),
    ];
    variables.extend(doubled.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let huge = "a".repeat(100_000);
    variables.push(("HUGE", &huge));
    for (text, reason, said) in [
        ("namespace: $A", Reason::VariableCycle, "A -> B -> A"),
        ("namespace: 'x-${B}'", Reason::VariableCycle, "B -> A -> B"),
        ("roles: ['$A']", Reason::VariableCycle, "`roles`"),
        ("namespace: $V0", Reason::ExpansionTooLong, "too long"),
        ("namespace: $LONG", Reason::LongNamespace, "300 characters"),
        ("namespace: $UP", Reason::BadNamespace, "`Up/Per`"),
        ("namespace: $UNSET", Reason::BadNamespace, "empty"),
        ("if: '$CI_COMMIT_BRANCH =~ $P'", Reason::BadRegex, "$P"),
        ("if: '$HUGE =~ /a/'", Reason::ValueTooLong, "bytes"),
        ("if: '$HUGE == \"a\" || $LONG =~ $EVIL'", Reason::NoRuleMatched, "no rule"),
    ] {
        let decision = ask(&rule(text), &with(job("a/b", "main", "qa"), &variables));
        assert_eq!(decision.reason, reason, "{text}: {}", decision.message);
        assert!(
            !decision.allowed && decision.namespace.is_none() && decision.message.contains(said),
            "{decision:?}"
        );
    }
}

#[test]
fn a_namespace_of_300_characters_is_denied_or_truncated() {
    let long = "n".repeat(300);
    let yaml = |global: &str, own: &str| {
        format!(
            "ci_access: {{long_namespace: {global}, projects: [{{id: a/b, rules: [{{namespace: {long}{own}}}]}}]}}"
        )
    };
    for (global, own, truncated) in [
        ("abort", "", false),
        ("truncate", "", true),
        ("truncate", ", on_long_namespace: abort", false),
        ("abort", ", on_long_namespace: truncate", true),
    ] {
        let decision = ask(&yaml(global, own), &job("a/b", "main", "qa"));
        assert_eq!(decision.allowed, truncated, "{global}{own}");
        if truncated {
            assert!(is_dns_label(&decision.namespace.unwrap()));
            assert_eq!(decision.namespace_before.as_deref(), Some(long.as_str()));
        } else {
            assert_eq!(decision.reason, Reason::LongNamespace);
        }
    }
}

#[test]
fn rules_may_not_match_without_measure_together() {
    let rules = "{if: '$LONG =~ /b/'}, ".repeat(40);
    let yaml = format!("ci_access: {{projects: [{{id: a/b, rules: [{rules}]}}]}}");
    let long = "a".repeat(50_000);
    let decision = ask(&yaml, &with(job("a/b", "main", "qa"), &[("LONG", &long)]));
    assert_eq!((decision.reason, decision.rule), (Reason::ValueTooLong, Some(21)));
}

#[test]
fn an_empty_owner_owns_nothing() {
    assert!(!decide(&config(""), "", &job("a/b", "main", "")).allowed);
    assert!(!decide(&config(""), "", &Job::default()).allowed);
}

fn conditions() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop_oneof![
        Just("$A == $B".to_owned()),
        Just("$A =~ $B".to_owned()),
        Just("$A && !$C".to_owned()),
        Just("$CI_ENVIRONMENT_SLUG =~ /^r/".to_owned()),
        "[$A-C=~!&|()\"'/ ]{0,12}",
    ])
}

prop_compose! {
    fn rules()(
        condition in conditions(),
        namespace in prop::option::of("[a-z$A-C{}]{0,70}"),
        never in any::<bool>(),
        long in prop::option::of(any::<bool>()),
    ) -> Rule {
        let on_long_namespace = long.map(|cut| if cut { LongNamespace::Truncate } else { LongNamespace::Abort });
        let when = if never { When::Never } else { When::Always };
        // What is no expression is refused where a file is read.
        let parse = |text: String| Expression::parse(&text, &mut { MAX_COMPILED_BYTES }).ok();
        let condition = condition.and_then(parse);
        Rule { condition, namespace, when, on_long_namespace, ..Rule::default() }
    }
}

prop_compose! {
    fn configs()(
        entries in prop::collection::vec(prop::collection::vec(rules(), 0..4), 0..3),
        allow in any::<bool>(),
    ) -> AgentConfig {
        let mut config = AgentConfig::default();
        config.ci_access.no_match = if allow { NoMatch::Allow } else { NoMatch::Deny };
        let entry = |rules| Entry { id: "a/b".into(), grant: Grant { rules, ..Grant::default() } };
        config.ci_access.projects = entries.into_iter().map(entry).collect();
        config
    }
}

proptest! {
    #[test]
    fn any_job_is_decided_the_same_twice_and_only_into_a_label(
        config in configs(),
        [a, b, c] in prop::array::uniform3("[/a-z$A-C(]{0,6}"),
        environment in "[a-z/]{0,12}",
    ) {
        let variables: Variables = [("A".to_owned(), a), ("B".to_owned(), b), ("C".to_owned(), c)].into();
        let job = Job { variables, ..job("a/b", "main", &environment) };
        let decision = decide(&config, "ops/agents", &job);
        prop_assert_eq!(&decision, &decide(&config, "ops/agents", &job));
        if let Some(namespace) = &decision.namespace {
            prop_assert!(decision.allowed && is_dns_label(namespace));
        }
        if config.ci_access.projects.is_empty() {
            prop_assert_eq!(decision.reason, Reason::NotListed);
        }
    }
}
