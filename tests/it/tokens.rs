//! Tokens of the whole program: made by one command, taken by the server, sent by the others, and kept by nothing.

use strandline::demo::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

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
    assert!(refused.contains("hint: give a token with --token-file"), "{refused}");
    let wrong = server.cli_as(&LIST, "sl_CANARY").await.err().ok_or("any token serves")?.to_string();
    assert!(wrong.contains("not one that this server knows") && !wrong.contains("CANARY"), "{wrong}");
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
    assert!(output.contains("a token that is not known was presented"), "{output}");
    server.stop().await?;
    assert_nowhere(folder.path(), &[&token, "CANARY"])
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_needs_no_token_but_a_wrong_one_is_wrong() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let (token, entry) = made(&["--name", "ci", "--project", "other/web"]).await?;
    let server = Server::start(folder.path(), &configuration(&cluster, &entry)).await?;
    let seen = server.cli(&LIST).await?;
    assert!(seen.contains("shop.web.production") && seen.contains("other.web.production"), "{seen}");
    let seen = server.cli_as(&LIST, &token).await?;
    assert!(!seen.contains("shop.web.production") && seen.contains("other.web.production"), "{seen}");
    assert!(server.cli_as(&LIST, "sl_other").await.is_err());
    server.stop().await
}
