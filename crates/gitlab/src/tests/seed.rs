//! Every YAML example of seed 004, decided as the seed says.

use super::{Reason, ask, job, read_agent_config, short};
use strandline_syntax::slug;

const NAMESPACES: &str = r#"
# .gitlab/agents/my-agent/config.yaml
ci_access:
  projects:
    # Single namespace for all environments
    - id: group/project1
      rules:
        - namespace: gitlab-deploy

    # All environments use a seperate namespace
    - id: group/project2
      rules:
        - namespace: $CI_ENVIRONMENT_SLUG

    # Create production namespace only
    - id: group/project3
      rules:
        - if: $CI_ENVIRONMENT_SLUG == "production"
          namespace: myapp-production

    # Review apps share a namespace, all others use separate namespaces
    - id: group/project4
      rules:
        - if: $CI_ENVIRONMENT_SLUG =~ /^review/
          namespace: review-apps
        - namespace: myapp-$CI_ENVIRONMENT_SLUG
"#;

const OPTION_A: &str = r#"
# .gitlab/agents/my-agent/config.yaml
ci_access:
  projects:
    # Any job on the default branch
    - id: group/project5
      rules:
        - if: $CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH

    # Any job deploying to staging or production
    - id: group/project6
      rules:
        - if: $CI_ENVIRONMENT_SLUG == "production" || $CI_ENVIRONMENT_SLUG == "staging"

    # Any job on the default branch that is deploying to an environment
    - id: group/project7
      rules:
        - if: $CI_ENVIRONMENT_SLUG && $CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH
"#;

const OPTION_B: &str = r#"
# .gitlab/agents/my-agent/config.yaml
ci_access:
  projects:
    # Any job on the default branch
    - id: group/project6
      rules:
        - if: $CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH
        - when: never

    # Any job deploying to staging or production
    - id: group/project7
      rules:
        - if: $CI_ENVIRONMENT_SLUG == "production" || $CI_ENVIRONMENT_SLUG == "staging"
        - when: never

    # Any job on the default branch that is deploying to an environment
    - id: group/project7
      rules:
        - if: $CI_ENVIRONMENT_SLUG && $CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH
        - when: never
"#;

/// The same file with option B set.
fn with_b(yaml: &str) -> String {
    yaml.replace("ci_access:\n", "ci_access:\n  no_match: allow\n")
}

/// Project, branch, environment; then reason, rule and namespace.
type Row<'a> = (&'a str, &'a str, &'a str, Reason, Option<usize>, Option<&'a str>);

fn table(yaml: &str, rows: &[Row<'_>]) {
    for (project, branch, environment, reason, rule, namespace) in rows {
        let decision = ask(yaml, &job(&format!("group/{project}"), branch, environment));
        let row = format!("{project} {branch} {environment}: {}", decision.message);
        assert_eq!(short(&decision), (*reason, *rule, *namespace), "{row}");
    }
}

#[test]
fn namespaces_are_managed() {
    use Reason::{BadNamespace, NoRuleMatched, RuleMatched};
    let us = slug("production/us");
    let mine = format!("myapp-{us}");
    table(
        NAMESPACES,
        &[
            ("project1", "main", "staging", RuleMatched, Some(1), Some("gitlab-deploy")),
            ("project1", "main", "", RuleMatched, Some(1), Some("gitlab-deploy")),
            ("project2", "main", "staging", RuleMatched, Some(1), Some("staging")),
            ("project2", "main", "production/us", RuleMatched, Some(1), Some(&us)),
            ("project2", "main", "", BadNamespace, Some(1), None),
            ("project3", "main", "production", RuleMatched, Some(1), Some("myapp-production")),
            ("project3", "main", "staging", NoRuleMatched, None, None),
            ("project4", "x", "review/fix", RuleMatched, Some(1), Some("review-apps")),
            ("project4", "main", "staging", RuleMatched, Some(2), Some("myapp-staging")),
            ("project4", "main", "production/us", RuleMatched, Some(2), Some(&mine)),
            ("project9", "main", "staging", Reason::NotListed, None, None),
        ],
    );
}

#[test]
fn option_b_allows_what_no_rule_matches() {
    use Reason::{NoMatchAllowed, RuleMatched};
    table(
        &with_b(NAMESPACES),
        &[
            ("project3", "main", "production", RuleMatched, Some(1), Some("myapp-production")),
            ("project3", "main", "staging", NoMatchAllowed, None, None),
        ],
    );
}

#[test]
fn option_a_denies_what_no_rule_matches() {
    use Reason::{NoMatchAllowed, NoRuleMatched, RuleMatched};
    let rows = |unmatched| {
        [
            ("project5", "main", "", RuleMatched, Some(1), None),
            ("project5", "x", "", unmatched, None, None),
            ("project6", "x", "staging", RuleMatched, Some(1), None),
            ("project6", "x", "production", RuleMatched, Some(1), None),
            ("project6", "main", "qa", unmatched, None, None),
            ("project6", "main", "", unmatched, None, None),
            ("project7", "main", "qa", RuleMatched, Some(1), None),
            ("project7", "main", "", unmatched, None, None),
            ("project7", "x", "qa", unmatched, None, None),
        ]
    };
    table(OPTION_A, &rows(NoRuleMatched));
    table(&with_b(OPTION_A), &rows(NoMatchAllowed));
}

#[test]
fn when_never_denies_with_both_options() {
    use Reason::{RuleMatched, RuleNever};
    let rows = [
        ("project6", "main", "", RuleMatched, Some(1), None),
        ("project6", "x", "production", RuleNever, Some(2), None),
        // The first of the two entries of the project decides, because its last rule matches every job.
        ("project7", "x", "staging", RuleMatched, Some(1), None),
        ("project7", "main", "qa", RuleNever, Some(2), None),
        ("project7", "x", "qa", RuleNever, Some(2), None),
    ];
    table(OPTION_B, &rows);
    table(&with_b(OPTION_B), &rows);
}

#[test]
fn the_project_that_the_seed_lists_twice_is_a_warning() {
    for yaml in [NAMESPACES, OPTION_A] {
        assert!(read_agent_config(yaml).unwrap().warnings.is_empty());
    }
    let warnings = read_agent_config(OPTION_B).unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!((warnings[0].line, warnings[0].code), (18, "duplicate"));
}

#[test]
fn groups_take_the_same_rules() {
    let yaml = NAMESPACES.replace("projects:", "groups:").replace("group/project", "group/team");
    let decision = ask(&yaml, &job("group/team4/app", "x", "review/fix"));
    assert_eq!(short(&decision), (Reason::RuleMatched, Some(1), Some("review-apps")));
}
