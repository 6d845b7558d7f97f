//! Which script covers a kind, and which sets are refused.

use super::judged;
use crate::{Judge, Patience, Scripts, ScriptsError};
use serde_json::json;

/// A folder in which each script says where it is.
fn folder(paths: &[&str]) -> Scripts {
    let script =
        |path: &&str| ((*path).to_owned(), format!("return {{status = 'Healthy', message = '{path}'}}"));
    Scripts::from_folder(paths.iter().map(script)).unwrap()
}

/// A script that says a word, as a line of YAML.
fn says(word: &str) -> String {
    format!("return {{status = 'Healthy', message = '{word}'}}")
}

fn rule(scripts: &Scripts, api_version: &str, kind: &str) -> String {
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {}});
    let verdict = judged(&Judge::new(scripts, Patience::default()), &object);
    if verdict.rule.starts_with("lua/") {
        format!("{} says {}", verdict.rule, verdict.message)
    } else {
        verdict.rule
    }
}

#[test]
fn a_folder_is_read_as_argo_cd_reads_it() {
    let scripts = folder(&[
        "rds.aws.crossplane.io/Instance/health.lua",
        "_.crossplane.io/_/health.lua",
        "_.aws.crossplane.io/_/health.lua",
        "_.crossplane.io/Special/health.lua",
        "Pod/health.lua",
        "apps/Deployment/actions/restart/action.lua",
        "apps/Deployment/actions/discovery.lua",
        "apps/Deployment/health_test.yaml",
        "apps/Deployment/deeper/still/health.lua",
        "health.lua",
    ]);
    assert_eq!(scripts.len(), 5, "other files are left alone");
    for (api_version, kind, expected) in [
        ("rds.aws.crossplane.io/v1", "Instance", "lua/rds.aws.crossplane.io/Instance"),
        ("rds.aws.crossplane.io/v1", "Other", "lua/_.aws.crossplane.io/_"),
        ("x.crossplane.io/v1", "Special", "lua/_.crossplane.io/Special"),
        ("x.crossplane.io/v1", "Other", "lua/_.crossplane.io/_"),
        ("v1", "Pod", "lua/Pod"),
    ] {
        let expected = format!("{expected} says {}/health.lua", expected.trim_start_matches("lua/"));
        assert_eq!(rule(&scripts, api_version, kind), expected);
    }
    assert_eq!(rule(&scripts, "apps/v1", "Deployment"), "builtin/Deployment");
}

/// An `argocd-cm` with customizations in both forms.
fn config_map() -> String {
    let many = [
        ("\"*/*\"", "everything"),
        ("\"*.crossplane.io/*\"", "crossplane"),
        ("\"*.aws.crossplane.io/*\"", "aws"),
        ("cert-manager.io/Certificate", "inline"),
        ("Service", "service"),
    ];
    let many: String = many
        .map(|(key, word)| {
            format!("    {key}:\n      health.lua: |\n        {}\n      actions: |\n        x\n", says(word))
        })
        .concat();
    let split = [("cert-manager.io_Certificate", "split"), ("Pod", "pod")];
    let split: String = split
        .map(|(key, word)| format!("  resource.customizations.health.{key}: {}\n", json!(says(word))))
        .concat();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: argocd-cm}}\ndata:\n  url: https://example.org\n  \
         resource.customizations.useOpenLibs.Pod: 'true'\n  resource.customizations.ignoreDifferences.all: |\n    a: b\n  \
         resource.customizations: |\n    apps/Deployment:\n      ignoreDifferences: |\n        jsonPointers: []\n{many}{split}"
    )
}

#[test]
fn customizations_are_read_as_argo_cd_reads_them() {
    let scripts = Scripts::from_customizations(&config_map()).unwrap();
    for (api_version, kind, expected) in [
        (
            "cert-manager.io/v1",
            "Certificate",
            "resource.customizations.health.cert-manager.io_Certificate says split",
        ),
        ("v1", "Pod", "resource.customizations.health.Pod says pod"),
        ("v1", "Service", "Service says service"),
        ("x.aws.crossplane.io/v1", "It", "*.aws.crossplane.io/* says aws"),
        ("x.crossplane.io/v1", "It", "*.crossplane.io/* says crossplane"),
        ("apps/v1", "Deployment", "*/* says everything"),
    ] {
        assert_eq!(rule(&scripts, api_version, kind), format!("lua/argocd-cm/{expected}"));
    }
    assert_eq!(rule(&scripts, "v1", "Namespace"), "builtin/Namespace", "`*/*` has a group");
    let all = "data:\n  resource.customizations.health.all: return {status = 'Suspended'}\n";
    let all = Scripts::from_customizations(all).unwrap();
    assert_eq!(rule(&all, "a/v1", "B"), "lua/argocd-cm/resource.customizations.health.all says ");
}

#[test]
fn customizations_go_before_the_folder() {
    let folder = folder(&["cert-manager.io/Certificate/health.lua", "cert-manager.io/Issuer/health.lua"]);
    let glob = "data:\n  resource.customizations: |\n    'cert-manager.io/C*':\n      health.lua: return {status = 'Healthy', message = 'glob'}\n";
    let scripts = Scripts::from_customizations(glob).unwrap().merge(&folder);
    assert_eq!(scripts.len(), 3);
    assert_eq!(
        rule(&scripts, "cert-manager.io/v1", "Certificate"),
        "lua/argocd-cm/cert-manager.io/C* says glob"
    );
    let issuer = "lua/cert-manager.io/Issuer says cert-manager.io/Issuer/health.lua";
    assert_eq!(rule(&scripts, "cert-manager.io/v1", "Issuer"), issuer);
    assert!(Scripts::default().merge(&Scripts::default()).is_empty());
}

#[test]
fn a_digest_tells_sets_apart_and_not_their_order() {
    let (one, two) = ("a/B/health.lua", "_.c/_/health.lua");
    assert_eq!(folder(&[one, two]).digest(), folder(&[two, one]).digest());
    let (one, two) = (folder(&[one]), folder(&[two]));
    let digests = [
        Scripts::default().digest(),
        one.digest(),
        two.digest(),
        one.merge(&two).digest(),
        two.merge(&one).digest(),
    ];
    let different: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(different.len(), digests.len(), "precedence is part of it");
    let text =
        |text: &str| Scripts::from_folder([("a/B/health.lua".to_owned(), text.to_owned())]).unwrap().digest();
    assert_ne!(text("return nil"), text("return  nil"));
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let told = |outcome: Result<Scripts, ScriptsError>| outcome.unwrap_err().to_string();
    let files = [
        ("a/B/health.lua", "local x = 1\nif then"),
        ("a/C/health.lua", "goto nowhere"),
        ("a/D/health.lua", ""),
    ];
    let error = told(Scripts::from_folder(files.map(|(path, text)| (path.to_owned(), text.to_owned()))));
    assert_eq!(
        error,
        "a/B/health.lua:2: unexpected symbol near 'then'\n\
         a/C/health.lua:1: no visible label 'nowhere' for <goto> at line 1"
    );
    let large = [("a/B/health.lua".to_owned(), "-".repeat(300_000))];
    assert_eq!(told(Scripts::from_folder(large)), "a/B/health.lua: 300000 bytes, more than 262144");
    let many = (0..5000).map(|n| (format!("a/K{n}/health.lua"), String::new()));
    assert_eq!(told(Scripts::from_folder(many)), "scripts: there are 5000, more than 4096");
    for (yaml, error) in [
        ("kind: Secret", "argocd-cm: not a ConfigMap"),
        (
            "data: {resource.customizations.health.a_b_c: x}",
            "argocd-cm resource.customizations.health.a_b_c: it names no group and kind",
        ),
        (
            "data: {resource.customizations.heath.Pod: x}",
            "argocd-cm resource.customizations.heath.Pod: `heath` cannot be customized",
        ),
        (
            "data: {resource.customizations.health.Pod: 'if'}",
            "argocd-cm resource.customizations.health.Pod:1: unexpected symbol near <eof>",
        ),
        (
            "data: {resource.customizations: '{\"[a/B\": {health.lua: return}}'}",
            "argocd-cm resource.customizations [a/B health.lua: the pattern `[a/B` makes no sense: unclosed `[`",
        ),
    ] {
        assert_eq!(told(Scripts::from_customizations(yaml)), error, "{yaml}");
    }
    assert!(told(Scripts::from_customizations("data: [")).starts_with("argocd-cm: "));
    for another in [
        "CANARY",
        "- CANARY",
        "data: CANARY",
        "data: [CANARY]",
        "data: {a: 1, CANARY: 2, CANARY: 3}",
        "kind: [CANARY]",
    ] {
        let error = told(Scripts::from_customizations(another));
        assert!(error.starts_with("argocd-cm: ") && !error.contains("CANARY"), "{another}: {error}");
    }
    assert!(
        told(Scripts::from_customizations("data: {resource.customizations: '['}"))
            .starts_with("argocd-cm resource.customizations: ")
    );
}
