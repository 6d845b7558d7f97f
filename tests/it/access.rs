//! `strandline access check` as scripts call it: what it prints, and its exit codes.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::server::{PROGRAM, Result};

/// Runs the command with a configuration on its standard input; exit code, standard output and error.
async fn check(config: &str, args: &[&str]) -> Result<(i32, String, String)> {
    let mut run = Command::new(PROGRAM)
        .args(["access", "check", "--config", "-"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = run.stdin.take().ok_or("no input")?;
    // A configuration that is too long is not read to its end.
    input.write_all(config.as_bytes()).await.or_else(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })?;
    drop(input);
    let output = run.wait_with_output().await?;
    let text = |bytes| String::from_utf8(bytes);
    Ok((output.status.code().unwrap_or(-1), text(output.stdout)?, text(output.stderr)?))
}

fn example(agent: &str) -> Result<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agents/.gitlab/agents");
    Ok(std::fs::read_to_string(folder.join(agent).join("config.yaml"))?)
}

/// Whether a job is allowed, the rule, the namespace and the reason, as a script reads them.
async fn decided(agent: &str, line: &str) -> Result<String> {
    let args: Vec<&str> = line.split(' ').chain(["-o", "json"]).collect();
    let (code, out, _) = check(&example(agent)?, &args).await?;
    let value: Value = serde_json::from_str(&out)?;
    assert_eq!(value["allowed"], code == 0, "{line}: {code}");
    assert!(code < 2, "{line}: {code}");
    assert_eq!(value["warnings"], Value::Array(vec![]), "an example has nothing odd");
    let text = |name: &str| value[name].to_string().replace('"', "");
    Ok(format!("{} {} {} {}", text("allowed"), text("rule"), text("namespace"), text("reason")))
}

#[tokio::test]
async fn the_examples_say_what_their_comments_say() -> Result<()> {
    for (agent, line, expected) in [
        (
            "production",
            "--project shop/web --environment production --ref main --var CI_DEFAULT_BRANCH=main",
            "true 1 web-production rule_matched",
        ),
        (
            "production",
            "--project shop/web --environment production --ref x --var CI_DEFAULT_BRANCH=main",
            "false null null no_rule_matched",
        ),
        ("production", "--project shop/web --environment staging --ref x", "true 2 web-staging rule_matched"),
        ("production", "--project operations/deployment --ref main", "false null null ref_not_protected"),
        (
            "production",
            "--project operations/deployment --ref main --protected --namespace any",
            "true null any no_rules",
        ),
        ("production", "--project shop/api --environment production/eu", "true null shop-api no_rules"),
        (
            "production",
            "--project shop/api --environment production",
            "false null null environment_not_listed",
        ),
        ("production", "--project infra/agents --agent-project infra/agents", "true null null own_project"),
        ("production", "--project infra/other --agent-project infra/agents", "false null null not_listed"),
        ("review", "--project shop/api --environment review/fix --protected", "false 1 null rule_never"),
        ("review", "--project shop/api --environment review/Fix", "false null null no_rule_matched"),
    ] {
        assert_eq!(decided(agent, line).await?, expected, "{agent} {line}");
    }
    Ok(())
}

#[tokio::test]
async fn mistakes_end_with_two_and_are_shown_with_a_caret() -> Result<()> {
    let config = "ci_access:\n  projects:\n    - id: a/b\n      rules:\n        - if: $A = 1\n";
    let (code, out, err) = check(config, &["--project", "a/b"]).await?;
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "error: reading the agent configuration: -:5:18: in \"if\", column 4: invalid operator \"=\": write \"==\" to \
         compare or \"=~\" to match\n                 - if: $A = 1\n                          ^\n"
    );
    let (code, out, _) = check(config, &["--project", "a/b", "-o", "json"]).await?;
    let value: Value = serde_json::from_str(&out)?;
    assert_eq!(code, 2);
    assert_eq!((&value["allowed"], &value["reason"]), (&Value::Bool(false), &Value::from("bad_config")));
    assert_eq!(
        (&value["mistakes"][0]["line"], &value["mistakes"][0]["column"]),
        (&Value::from(5), &Value::from(18))
    );
    let many = format!("ci_access: {{projects: [{}]}}", "{id: /}, ".repeat(30));
    let (code, _, err) = check(&many, &["--project", "a/b"]).await?;
    assert!(
        code == 2 && err.matches(": not the full path").count() == 20 && err.contains("and 10 more"),
        "{err}"
    );
    let (code, _, err) = check(&"#".repeat(2_000_000), &["--project", "a/b"]).await?;
    assert!(code == 2 && err.contains("longer than 1048576 bytes"), "{code} {err}");
    let (code, _, err) = check("", &["--project", "a/b", "--var", "x"]).await?;
    assert!(code == 2 && err.contains("NAME=VALUE"), "{code} {err}");
    Ok(())
}
