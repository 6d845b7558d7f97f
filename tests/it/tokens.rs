//! Tokens of the whole program: made by one command, taken by the server, sent by the others, and kept by nothing.

use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::bad_input::refused;
use crate::server::{PROGRAM, Result, Server, assert_nowhere, get};

/// A token and its entry for the configuration.
async fn made(arguments: &[&str]) -> Result<(String, String)> {
    let output = Command::new(PROGRAM).arg("token").args(arguments).output().await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    let (token, entry) = printed.split_once("\n\n").ok_or("a token, an empty line, and its entry")?;
    Ok((token.to_owned(), entry.to_owned()))
}

fn configuration(cluster: &ApiServer, entry: &str) -> String {
    let environment = |project: &str| {
        format!(
            "  - {{project: {project}, name: production, cluster: one, namespace: {}}}\n",
            project.replace('/', "-")
        )
    };
    format!(
        "clusters:\n  - {{name: one, url: '{}'}}\nenvironments:\n{}{}{entry}",
        cluster.url(),
        environment("shop/web"),
        environment("other/web")
    )
}

const LIST: [&str; 4] = ["get", "environments", "-o", "name"];

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_made_opens_what_it_says_and_nothing_else() -> Result<()> {
    let (folder, keys) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let (token, entry) = made(&["--name", "ci", "--project", "shop/web"]).await?;
    let server = Server::start_public(folder.path(), &configuration(&cluster, &entry)).await?;
    let (status, body) = get(&format!("{}/api/v1/environments", server.url())).await?;
    assert!(status == 401 && body.contains("unauthorized"), "{status} {body}");
    let refused = server.cli(&LIST).await.err().ok_or("no token was needed")?.to_string();
    assert!(refused.contains("set --token-file or STRANDLINE_TOKEN"), "{refused}");
    let wrong = server.cli_as(&LIST, "sl_CANARY").await.err().ok_or("any token serves")?.to_string();
    assert!(wrong.contains("unknown token") && !wrong.contains("CANARY"), "{wrong}");
    let file = keys.path().join("token");
    std::fs::write(&file, format!("{token}\n"))?;
    let file = file.display().to_string();
    let with_file = [&LIST[..], &["--token-file", &file]].concat();
    let ways = [
        server.cli_as(&LIST, &token).await?,
        server.cli(&[&LIST[..], &["--token", &token]].concat()).await?,
        server.cli_as(&with_file, "sl_CANARY").await?,
    ];
    for seen in ways {
        assert!(seen.contains("shop.web.production") && !seen.contains("other.web"), "{seen}");
    }
    let output = server.output();
    assert!(output.contains("unknown token presented"), "{output}");
    server.stop().await?;
    assert_nowhere(folder.path(), &[&token, "CANARY"])
}

#[tokio::test(flavor = "multi_thread")]
async fn once_there_are_tokens_this_machine_needs_one_too() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let (token, entry) = made(&["--name", "ci", "--project", "other/web"]).await?;
    let open = entry.replacen("access:", "access:\n  local: read", 1);
    let server = Server::start(folder.path(), &configuration(&cluster, &open)).await?;
    let seen = server.cli(&LIST).await?;
    assert!(seen.contains("shop.web.production") && seen.contains("other.web.production"), "{seen}");
    let seen = server.cli_as(&LIST, &token).await?;
    assert!(!seen.contains("shop.web.production") && seen.contains("other.web.production"), "{seen}");
    assert!(server.cli_as(&LIST, "sl_other").await.is_err(), "a wrong token is wrong all the same");
    server.stop().await?;
    let server = Server::start(folder.path(), &configuration(&cluster, &entry)).await?;
    let refused = server.cli(&LIST).await.err().ok_or("no token was needed")?.to_string();
    assert!(refused.contains("this request needs a token"), "{refused}");
    assert!(server.cli_as(&LIST, &token).await?.contains("other.web.production"));
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_let_in_without_a_token_only_where_somebody_said_so() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (code, printed) = refused(folder.path(), "{}\n", "0.0.0.0:0").await?;
    assert_eq!(code, 2, "{printed}");
    assert!(
        printed.contains("no token is configured") && printed.contains("--allow-anonymous-read"),
        "{printed}"
    );
    assert!(!folder.path().join("data").exists(), "nothing was begun");
    let server = Server::start_public(folder.path(), "access: {allow_anonymous_read: true}\n").await?;
    server.ask("/environments").await?;
    let output = server.output();
    assert!(output.contains("everyone who can reach this address can read everything"), "{output}");
    server.stop().await
}

/// Asks with a token until the status is this one.
async fn until_answered(server: &Server, token: &str, wanted: bool) -> Result<()> {
    let begun = std::time::Instant::now();
    while server.cli_as(&LIST, token).await.is_ok() != wanted {
        if begun.elapsed() > std::time::Duration::from_secs(60) {
            return Err(format!("never {wanted}: {}", server.output()).into());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_taken_out_of_the_configuration_ends_without_a_restart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let (one, entry) = made(&["--name", "one", "--project", "shop/web", "--expires", "90d"]).await?;
    let (two, other) = made(&["--name", "two", "--everything"]).await?;
    let other = other.split_once("tokens:\n").ok_or("an entry")?.1;
    let both = configuration(&cluster, &format!("{entry}\n{other}\n"));
    let server = Server::start(folder.path(), &both).await?;
    let write = |text: &str| std::fs::write(folder.path().join("config.yaml"), text);
    until_answered(&server, &one, true).await?;
    until_answered(&server, &two, true).await?;
    write(&configuration(&cluster, &format!("access:\n  tokens:\n{other}\n")))?;
    until_answered(&server, &one, false).await?;
    until_answered(&server, &two, true).await?;
    // A file that cannot be used changes nothing, and it is said.
    write("access: {tokens: [{name: two\n")?;
    let said = "reloading the configuration failed";
    let begun = std::time::Instant::now();
    while !get(&format!("{}/readyz?verbose", server.url())).await?.1.contains(said) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "never said: {}", server.output());
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    until_answered(&server, &two, true).await?;
    write(&both)?;
    until_answered(&server, &one, true).await?;
    let (_, ready) = get(&format!("{}/readyz?verbose", server.url())).await?;
    assert!(!ready.contains(said), "{ready}");
    assert!(server.output().contains(said), "{}", server.output());
    // The last ones that go open nothing.
    write(&configuration(&cluster, "access: {tokens: []}\n"))?;
    until_answered(&server, &two, false).await?;
    assert!(server.cli(&LIST).await.is_err(), "nobody without a token either");
    let output = server.output();
    server.stop().await?;
    assert!(!output.contains(&one) && !output.contains(&two), "{output}");
    Ok(())
}
