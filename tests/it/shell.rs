//! What makes the command line at home in a shell: completion with the server's names, manual pages, addresses of pages.

use std::path::Path;

use clap::CommandFactory;
use strandline::cli::Cli;
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::server::{PROGRAM, Result, Server, run};

/// A server that knows three environments of a cluster.
async fn server(folder: &Path) -> Result<(Server, ApiServer)> {
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let environment = |project: &str, name: &str| {
        format!("  - {{project: {project}, name: {name}, cluster: one, namespace: {name}}}\n")
    };
    let config = format!(
        "clusters:\n  - {{name: one, url: '{}'}}\nenvironments:\n{}{}{}",
        cluster.url(),
        environment("shop/web", "production"),
        environment("shop/web", "staging"),
        environment("blog", "production"),
    );
    Ok((Server::start(folder, &config).await?, cluster))
}

/// What bash offers for the last word of a line, by the script that `completion bash` prints.
async fn offered(line: &str, server: &str) -> Result<Vec<String>> {
    let program = Path::new(PROGRAM).parent().ok_or("the program is in a folder")?;
    let path = format!("{}:{}", program.display(), std::env::var("PATH")?);
    // What bash does when the key is pressed: the words, which of them is meant, and the function that was registered.
    let script = r#"
source <(strandline completion bash)
read -ra COMP_WORDS <<<"$1"; [[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
function_name=$(complete -p strandline | sed 's/.*-F \([^ ]*\).*/\1/')
"$function_name" strandline "${COMP_WORDS[COMP_CWORD]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let mut command = Command::new("bash");
    let command = command.args(["--norc", "-c", script, "bash", line]).env("PATH", path);
    let output = command.env("STRANDLINE_SERVER", server).output().await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_completes_the_names_that_the_server_knows() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (server, _cluster) = server(folder.path()).await?;
    let url = server.url();
    assert_eq!(offered("strandline tree shop.", url).await?, ["shop.web.production", "shop.web.staging"]);
    assert_eq!(offered("strandline get environments --project bl", url).await?, ["blog"]);
    assert_eq!(offered("strandline overv", url).await?, ["overview"]);
    assert_eq!(offered("strandline tree nothing.", url).await?, [""; 0]);
    server.stop().await?;
    // Nobody answers: nothing is offered, and nothing is written into the line.
    assert_eq!(offered("strandline tree shop.", "http://127.0.0.1:1").await?, [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_page_is_printed_with_its_time_pinned() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (server, _cluster) = server(folder.path()).await?;
    let url = server.url();
    let opened = async |arguments: &[&str]| {
        let asked: Vec<&str> =
            ["open", "--print", "--server", url].iter().chain(arguments).copied().collect();
        run(&asked, &[]).await.map(|printed| printed.trim_end().to_owned())
    };
    assert_eq!(opened(&[]).await?, format!("{url}/"));
    let page = opened(&["environment/shop.web.production"]).await?;
    assert_eq!(page, format!("{url}/environments/shop.web.production"));
    let past = opened(&["shop.web.production", "--at", "0s"]).await?;
    let (start, offset) = past.split_once("?at=").ok_or("a past page names its moment")?;
    assert_eq!(start, page);
    assert!(offset.parse::<u64>()? > 0, "{past}");
    let unknown = opened(&["shop.web.nope"]).await.expect_err("there is none");
    assert!(unknown.to_string().contains("shop.web.nope"), "{unknown}");
    server.stop().await
}

#[tokio::test]
async fn every_command_has_a_manual_page() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let pages = folder.path().join("share/man1");
    run(&["man", pages.to_str().ok_or("a path of text")?], &[]).await?;
    for command in Cli::command().get_subcommands() {
        let page = std::fs::read_to_string(pages.join(format!("strandline-{}.1", command.get_name())))?;
        assert!(page.contains(".SH SYNOPSIS"), "{}: {page}", command.get_name());
    }
    assert!(pages.join("strandline-get-environments.1").exists() && pages.join("strandline.1").exists());
    Ok(())
}
