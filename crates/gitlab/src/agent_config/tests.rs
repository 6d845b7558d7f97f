//! What files say, and how mistakes in them are reported.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serde_json::json;

use super::super::expression::{Expression, MAX_COMPILED_BYTES};
use super::super::{UserAccess, UserAccessAs};
use super::{
    AccessAs, AgentConfig, Entry, ExtraKeyVal, Grant, Impersonate, LongNamespace, MAX_CONFIG_BYTES, NoMatch,
    Rule, When, read_agent_config,
};

fn read(yaml: &str) -> AgentConfig {
    read_agent_config(yaml).unwrap().config
}

/// Place, code and what is said of every mistake.
fn mistakes(yaml: &str) -> Vec<String> {
    let error = read_agent_config(yaml).unwrap_err();
    let shown = error.mistakes.iter().map(|m| format!("{}:{} {}: {}", m.line, m.column, m.code, m.message));
    shown.collect()
}

fn warnings(yaml: &str) -> Vec<String> {
    let read = read_agent_config(yaml).unwrap();
    read.warnings.iter().map(|m| format!("{}:{} {}: {}", m.line, m.column, m.code, m.message)).collect()
}

const GITLAB: &str = "
gitops: {manifest_projects: [{id: a/b, paths: [{glob: '**'}]}]}
observability: {logging: {level: debug}}
remote_development: {enabled: true}
flux: {}
container_scanning: {cadence: '0 0 * * *'}
workspaces:
ci_access:
  projects:
    - id: path/to/project-1
    - id: path/to/project-2
      default_namespace: ns
      access_as: {ci_job: {}}
      environments: [staging, review/*]
      protected_branches_only: true
      resource_management: {enabled: true}
  groups:
    - id: path/to/group-1
      access_as:
        impersonate:
          username: me
          uid: u1
          groups: [g]
          extra: [{key: k, val: [v, w]}]
  instance: {}
user_access:
  access_as: {user: {}}
  projects: [{id: group-1/project-1}]
  groups: [{id: group-2}, {id: group-3/subgroup}]
";

#[test]
fn gitlabs_keys_are_read() {
    let config = read(GITLAB);
    let ci_access = &config.ci_access;
    assert_eq!(ci_access.projects[0], Entry { id: "path/to/project-1".into(), grant: Grant::default() });
    let second = Grant {
        default_namespace: Some("ns".into()),
        access_as: Some(AccessAs::CiJob {}),
        environments: vec!["staging".into(), "review/*".into()],
        protected_branches_only: true,
        resource_management: true,
        rules: vec![],
    };
    assert_eq!(ci_access.projects[1].grant, second);
    let impersonate = AccessAs::Impersonate(Impersonate {
        username: "me".into(),
        uid: Some("u1".into()),
        groups: vec!["g".into()],
        extra: vec![ExtraKeyVal { key: "k".into(), val: vec!["v".into(), "w".into()] }],
    });
    assert_eq!(ci_access.groups[0].grant.access_as, Some(impersonate));
    assert_eq!(ci_access.instance, Some(Grant::default()));
    let user_access = UserAccess {
        access_as: Some(UserAccessAs::User {}),
        projects: vec!["group-1/project-1".into()],
        groups: vec!["group-2".into(), "group-3/subgroup".into()],
    };
    assert_eq!(config.user_access, Some(user_access));
    assert!(warnings(GITLAB).is_empty());
}

#[test]
fn rules_and_settings_are_read() {
    let config = read(
        "
ci_access:
  no_match: allow
  long_namespace: truncate
  projects:
    - id: a/b
      rules:
        - if: $CI_COMMIT_TAG
          namespace: $CI_ENVIRONMENT_SLUG
          on_long_namespace: abort
          roles: [edit, {name: view, kind: ClusterRole}]
        - when: never
",
    );
    assert_eq!(config.ci_access.no_match, NoMatch::Allow);
    assert_eq!(config.ci_access.long_namespace, LongNamespace::Truncate);
    let first = Rule {
        condition: Expression::parse("$CI_COMMIT_TAG", &mut 0).ok(),
        namespace: Some("$CI_ENVIRONMENT_SLUG".into()),
        roles: json!(["edit", {"name": "view", "kind": "ClusterRole"}]),
        when: When::Always,
        on_long_namespace: Some(LongNamespace::Abort),
    };
    assert_eq!(
        config.ci_access.projects[0].grant.rules,
        [first, Rule { when: When::Never, ..Rule::default() }]
    );
}

#[test]
fn a_file_of_too_many_large_regular_expressions_is_refused_once_at_its_line() {
    let rules = |n: usize| {
        let rules =
            (0..n).map(|n| format!("        - if: $CI_COMMIT_BRANCH =~ /^{n}([a-z]{{60}}){{20}}$/\n"));
        format!("ci_access:\n  projects:\n    - id: a/b\n      rules:\n{}", rules.collect::<String>())
    };
    let few = read_agent_config(&rules(10)).unwrap();
    assert_eq!(few.config.ci_access.projects[0].grant.rules.len(), 10);
    let each = few.compiled_bytes / 10;
    assert!(each > 16 * 1024, "it is large: {each}");
    let told = mistakes(&rules(990));
    let line = 5 + MAX_COMPILED_BYTES / each;
    assert_eq!(told.len(), 1, "the first that is too much is told: {told:?}");
    let place: usize = told[0].split(':').next().unwrap().parse().unwrap();
    assert!(
        place.abs_diff(line) <= 2 && told[0].contains("too_large: in `if`, column 22:"),
        "{line}: {told:?}"
    );
    // As many small ones are within the bounds.
    let small =
        (0..990).map(|n| format!("{{if: '$CI_COMMIT_BRANCH =~ /^v{n}\\.\\d+$/'}}")).collect::<Vec<_>>();
    let read =
        read_agent_config(&format!("ci_access: {{projects: [{{id: a/b, rules: [{}]}}]}}", small.join(", ")));
    assert!(read.unwrap().compiled_bytes < MAX_COMPILED_BYTES);
}

#[test]
fn nothing_is_sound() {
    for yaml in ["", "# nothing\n", "ci_access:\n", "ci_access: {projects: [], groups: }\nuser_access:\n"] {
        assert_eq!(read(yaml), AgentConfig::default(), "{yaml}");
    }
}

#[test]
fn unknown_keys_have_a_line_and_what_may_be_meant() {
    for (yaml, expected, hint) in [
        ("ci_access:\n  project: []", "2:3 unknown_key: unknown key", "did you mean `projects`?"),
        (
            "ci_access:\n  projects:\n    - id: a/b\n      rule: []",
            "4:7 unknown_key: unknown key",
            "did you mean `rules`?",
        ),
        (
            "ci_access:\n  projects:\n    - id: a/b\n      rules:\n        - namespaces: x",
            "5:11 unknown_key: unknown key",
            "did you mean `namespace`?",
        ),
        (
            "user_access:\n  access_as: {agents: {}}",
            "2:15 unknown_word: unknown word",
            "did you mean `agent`?",
        ),
        ("ci_access: {no_match: alow}", "1:23 unknown_word: unknown word", "did you mean `allow`?"),
        (
            "ci_access: {projects: [{id: a/b, rules: [{when: manual}]}]}",
            "1:49 unknown_word: unknown word",
            "valid words are always, never",
        ),
    ] {
        assert_eq!(mistakes(yaml), [expected], "{yaml}");
        let error = read_agent_config(yaml).unwrap_err();
        assert_eq!(error.mistakes[0].hint.as_deref(), Some(hint), "{yaml}");
    }
}

#[test]
fn an_unknown_section_is_a_warning_and_the_others_hold() {
    let of = |yaml: &str| read_agent_config(yaml).unwrap();
    for (yaml, expected, hint) in [
        ("future: {a: [b], ci_access: 1}", "1:1", "remove it, or move it to the section it belongs to"),
        ("future:", "1:1", "remove it, or move it to the section it belongs to"),
        ("flux: {}\nci_acces: {}", "2:1", "did you mean `ci_access`?"),
        ("user_acess:\n  projects: [{id: a/b}]", "1:1", "did you mean `user_access`?"),
    ] {
        let with = of(&format!("{yaml}\nci_access: {{projects: [{{id: a/b}}]}}\n"));
        assert_eq!(with.config, read("ci_access: {projects: [{id: a/b}]}"), "{yaml}");
        let told: Vec<_> =
            with.warnings.iter().map(|m| format!("{}:{} {}", m.line, m.column, m.code)).collect();
        assert_eq!(told, [format!("{expected} unknown_section")], "{yaml}");
        assert_eq!(with.warnings[0].hint.as_deref(), Some(hint), "{yaml}");
    }
    // What decides is read whole or not at all, also in a file with a section that nobody knows.
    for wrong in
        ["ci_access: {future: 1}", "user_access: {future: 1}", "ci_access: {projects: [{id: a, future: 1}]}"]
    {
        assert_eq!(mistakes(&format!("future: 1\n{wrong}")).len(), 1, "{wrong}");
    }
    assert!(mistakes("future: 1\nfuture: 2")[0].contains("duplicate key"));
}

#[test]
fn a_wrong_expression_is_told_where_it_stands() {
    for (condition, expected) in [
        // Plain, quoted in both ways, and as a block.
        ("$A = 1", "5:18 bad_expression: in `if`, column 4:"),
        ("'$A = 1'", "5:19 bad_expression: in `if`, column 4:"),
        ("\"$A = 1\"", "5:19 bad_expression: in `if`, column 4:"),
        ("|\n            $A = 1\n", "6:16 bad_expression: in `if`, column 4:"),
        ("|\n            $A &&\n            $B = 1\n", "7:16 bad_expression: in `if`, column 10:"),
        ("$A =~ /(x/", "5:21 bad_regex: in `if`, column 7:"),
        ("$é == 'x'", "5:15 bad_expression: in `if`, column 1:"),
        ("$A == 'é' &", "5:25 bad_expression: in `if`, column 11:"),
        ("''", "5:15 bad_expression: in `if`, column 1:"),
        (
            "|\n            $A == $B &&\n            $B &&\n            ($B\n",
            "8:16 bad_expression: in `if`, column 22:",
        ),
        (">\n            $A &&\n            $B = 1\n", "6:13 bad_expression: in `if`, column 10:"),
        // With an escape the place inside of the file is not known.
        ("\"$A \\u003d 1\"", "5:15 bad_expression: in `if`, column 4:"),
    ] {
        let yaml =
            format!("ci_access:\n  projects:\n    - id: a/b\n      rules:\n        - if: {condition}\n");
        let told = mistakes(&yaml);
        assert!(told.len() == 1 && told[0].starts_with(expected), "{condition}: {told:?}");
    }
}

#[test]
fn all_mistakes_are_told_in_the_order_of_the_file() {
    let told = mistakes(
        "
ci_access:
  long_namespace: cut
  projects:
    - default_namespace: x
    - id: /a
      environments: ['']
      rules:
        - if: $A =
        - if: ($A
  groups:
    - id: a b
  instance: {id: a}
user_access:
  projects: [{id: ''}]
",
    );
    let expected = [
        "3:19 unknown_word",
        "5:7 missing_key",
        "6:11 bad_path",
        "7:22 bad_name",
        "9:18 bad_expression",
        "10:18 bad_expression",
        "12:11 bad_path",
        "13:18 unknown_key",
        "15:19 bad_path",
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{told} is not {expected}");
    }
}

#[test]
fn what_may_not_be_meant_is_a_warning() {
    let told = warnings(
        "
ci_access:
  projects:
    - id: group/project7
    - id: Group/Project7
      rules:
        - namespace: Not-A-Label
        - if: $A == production
        - if: $A
          namespace: UPPER
          on_long_namespace: truncate
  groups:
    - id: group
    - id: group
user_access:
  instance: {}
",
    );
    let expected = [
        "5:11 duplicate: duplicate project, first in line 4",
        "7:22 bad_namespace: invalid namespace, so all its jobs are denied",
        "8:11 unreachable: this rule is never reached: rule 1 matches every job",
        "8:21 odd_expression: in `if`, column 7: an unquoted word is a variable; quote \
         strings",
        "9:11 unreachable: this rule is never reached: rule 1 matches every job",
        "14:11 duplicate: duplicate group, first in line 13",
        "16:13 not_heeded: `instance` is not supported yet, so it grants no access",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_has_no_measure_is_refused_or_cut() {
    assert_eq!(
        mistakes(&"#".repeat(MAX_CONFIG_BYTES + 1)),
        [format!("0:0 too_long: the file is longer than {MAX_CONFIG_BYTES} bytes")]
    );
    let entries: String = (0..502).map(|n| format!("    - id: a/p{n}\n")).collect();
    let yaml = format!("ci_access:\n  projects:\n{entries}");
    assert_eq!(read(&yaml).ci_access.projects.len(), 500);
    assert_eq!(warnings(&yaml), ["503:11 too_many: only the first 500 projects are used, as in GitLab"]);
    let rules = "        - if: $A\n".repeat(1001);
    let yaml = format!("ci_access:\n  projects:\n    - id: a/b\n      rules:\n{rules}");
    assert_eq!(mistakes(&yaml), ["1005:11 too_many: the file has more than 1000 rules"]);
    let deep = format!(
        "ci_access: {{projects: [{{id: a/b, rules: [{{roles: {}{}}}]}}]}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    assert_eq!(read_agent_config(&deep).unwrap_err().mistakes.len(), 1);
    let long =
        format!("ci_access: {{projects: [{{id: a/b, rules: [{{if: '$A{}'}}]}}]}}", " && $A".repeat(170_000));
    assert!(mistakes(&long)[0].contains("too_long"), "{:?}", mistakes(&long));
}

#[test]
fn nothing_of_a_file_is_quoted() {
    // What such a file looks like that is none of an agent's, and values in each place of one that is.
    for yaml in [
        "canary:x:0:0:canary:/canary:/bin/sh\n",
        "-----BEGIN CANARY KEY-----\ncanary\n-----END CANARY KEY-----\n",
        "\"canary",
        "'canary\ncanary",
        "canary",
        "[canary]",
        "{canary",
        "*canary",
        "!canary x",
        "&canary [*canary",
        "canary: 1\ncanary: 2",
        "[canary]: 1",
        "ci_access: canary",
        "ci_access: [canary]",
        "ci_access: {canary: 1}",
        "ci_access: {no_match: canary}",
        "ci_access: {long_namespace: {canary: 1}}",
        "ci_access: {projects: canary}",
        "ci_access: {projects: [canary]}",
        "ci_access: {projects: [{id: /canary}]}",
        "ci_access: {projects: [{id: a, canary: 1}]}",
        "ci_access: {projects: [{id: a, protected_branches_only: canary}]}",
        "ci_access: {projects: [{id: a, access_as: canary}]}",
        "ci_access: {projects: [{id: a, access_as: {canary: {}}}]}",
        "ci_access: {projects: [{id: a, environments: canary}]}",
        "ci_access: {projects: [{id: a, rules: [{if: canary}]}]}",
        "ci_access: {projects: [{id: a, rules: [{if: $A == canary canary}]}]}",
        "ci_access: {projects: [{id: a, rules: [{if: '$A =~ /canary(/'}]}]}",
        "ci_access: {projects: [{id: a, rules: [{when: canary}]}]}",
        "user_access: {projects: [{id: /canary}]}",
        "user_access: {access_as: canary}",
    ] {
        let told = format!("{:?}", read_agent_config(yaml).expect_err(yaml));
        assert!(!told.to_lowercase().contains("canary"), "{yaml}: {told}");
    }
    for yaml in [
        "canary: {canary: [canary]}",
        "ci_access: {projects: [{id: canary}, {id: canary}]}",
        "ci_access: {projects: [{id: a, default_namespace: CANARY}]}",
        "ci_access: {projects: [{id: a, rules: [{if: $A == canary}, {if: $A =~ 'canary'}]}]}",
    ] {
        let told = warnings(yaml).join("\n").to_lowercase();
        assert!(!told.is_empty() && !told.contains("canary"), "{yaml}: {told}");
    }
}
