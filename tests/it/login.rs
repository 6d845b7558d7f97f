//! `strandline login` and what follows from it, as people run them: a provider, a server that takes its tokens, and commands that
//! share a file of contexts.

mod provider;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::server::{PROGRAM, Result, Server};
use provider::Provider;

/// Somebody with a folder of their own, and a server where they can log in.
struct World {
    provider: Provider,
    server: Server,
    home: PathBuf,
}

impl World {
    async fn start(folder: &Path) -> Result<Self> {
        let provider = Provider::start().await?;
        let hash = strandline::http::auth::TokenHash::of("sl_static");
        let config = format!(
            "access:\n  tokens:\n    - {{name: static, hash: '{hash}', everything: true}}\n  issuers:\n    - name: people\n      issuer: '{}'\n      audience: web\n      algorithms: [ES256]\n      users: {{}}\n      command_line: {{client_id: cli}}\n",
            provider.url
        );
        let home = folder.join("home");
        std::fs::create_dir(&home)?;
        // Without a token the probe of the server answers, and nothing else.
        Ok(World { server: Server::start(folder, &config).await?, provider, home })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env("XDG_CONFIG_HOME", &self.home).env("NO_COLOR", "1");
        for name in ["STRANDLINE_SERVER", "STRANDLINE_TOKEN", "STRANDLINE_CONTEXT", "STRANDLINE_CA_FILE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> Result<String> {
        printed(self.command(arguments).output().await?)
    }

    /// The same with a text on standard input.
    async fn run_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().ok_or("its input")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        printed(child.wait_with_output().await?)
    }

    fn file(&self) -> PathBuf {
        self.home.join("strandline/contexts.yaml")
    }

    async fn who(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.run(&["whoami", "-o", "json"]).await?)?)
    }
}

fn printed(output: Output) -> Result<String> {
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_logs_in_by_device_is_somebody_until_they_log_out() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let world = World::start(folder.path()).await?;
    let url = world.server.url().to_owned();
    let nobody = world.run(&["get", "environments", "--server", &url]).await.expect_err("nobody").to_string();
    assert!(nobody.contains("strandline login"), "{nobody}");
    world.provider.state().pending = 1;
    let output = world.command(&["login", "--server", &url, "--context", "test"]).output().await?;
    let asked = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(asked.contains("ABCD-EFGH") && asked.contains(&world.provider.url), "{asked}");
    let said = printed(output)?;
    assert!(said.contains("as alice (reader, renewed automatically); context test"), "{said}");
    assert_eq!(std::fs::metadata(world.file())?.permissions().mode() & 0o777, 0o600);
    let who = world.who().await?;
    assert_eq!(
        (&who["method"], &who["reads"]["groups"][0]),
        (&Value::from("signed_token"), &Value::from("shop"))
    );
    assert!(world.run(&["whoami"]).await?.contains("reads    shop/**\n"));
    world.run(&["get", "environments"]).await?;
    let listed: Value = serde_json::from_str(&world.run(&["context", "list", "-o", "json"]).await?)?;
    assert_eq!((&listed["items"][0]["name"], &listed["items"][0]["login"]), (&"test".into(), &"oidc".into()));
    assert!(!listed.to_string().contains("refresh-"), "{listed}");
    // Nothing that any command printed, and nothing in the server's log, has a token.
    let file: Value = serde_saphyr::from_str(&std::fs::read_to_string(world.file())?)?;
    let token = file["contexts"][0]["oidc"]["id_token"].as_str().ok_or("a token")?.to_owned();
    assert!(token.len() > 100 && !format!("{asked}{said}{}", world.server.output()).contains(&token));
    let said = world.run(&["logout"]).await?;
    assert!(said.contains("revoked"), "{said}");
    assert_eq!(world.provider.state().revoked.len(), 1);
    let file = std::fs::read_to_string(world.file())?;
    assert!(!file.contains("id_token") && file.contains(&url), "{file}");
    assert!(world.who().await.is_err());
    world.run(&["context", "delete", "test"]).await?;
    assert!(!std::fs::read_to_string(world.file())?.contains(&url));
    world.server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_at_the_same_time_renew_a_login_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let world = World::start(folder.path()).await?;
    // So short that each command finds it due.
    world.provider.state().lasts = 30;
    world.run(&["login", "--server", world.server.url()]).await?;
    assert_eq!(world.provider.state().renewed, 0);
    // As if an hour had passed.
    let age = |text: &str| -> String {
        let line = |line: &str| match line.trim().starts_with("expires:") {
            true => format!("{}2026-01-01T00:00:00Z", &line[..line.find("expires: ").unwrap_or(0) + 9]),
            false => line.to_owned(),
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    let file = std::fs::read_to_string(world.file())?;
    std::fs::write(world.file(), age(&file))?;
    let many = (0..6).map(|_| world.command(&["whoami", "-o", "json"]).spawn());
    for child in many.collect::<Vec<_>>() {
        let who: Value = serde_json::from_str(&printed(child?.wait_with_output().await?)?)?;
        assert_eq!(who["user"], "alice");
    }
    let (renewed, refused) = world.provider.counts();
    assert_eq!((renewed, refused), (1, 0));
    // The provider ended the login.
    world.provider.state().good.clear();
    let file = std::fs::read_to_string(world.file())?;
    std::fs::write(world.file(), age(&file))?;
    let ended = world.who().await.expect_err("it is over").to_string();
    assert!(ended.contains("invalid_grant") && ended.contains("strandline login --context"), "{ended}");
    world.server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_on_this_machine_brings_the_login_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let world = World::start(folder.path()).await?;
    let login = ["login", "--flow", "browser", "--no-browser", "--server", world.server.url()];
    let mut child = world.command(&login).spawn()?;
    let mut lines = BufReader::new(child.stderr.take().ok_or("its errors")?).lines();
    let address = loop {
        let line = lines.next_line().await?.ok_or("it ended without an address")?;
        if let Some(address) = line.strip_prefix("Open ") {
            break address.to_owned();
        }
    };
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .build_http::<http_body_util::Empty<bytes::Bytes>>();
    let sent_back = client.get(address.parse()?).await?;
    let back = sent_back.headers()["location"].to_str()?.to_owned();
    assert_eq!(crate::server::get(&back).await?.0, 200);
    let mut said = String::new();
    child.stdout.take().ok_or("its output")?.read_to_string(&mut said).await?;
    let mut wrong = String::new();
    lines.into_inner().read_to_string(&mut wrong).await?;
    assert!(child.wait().await?.success() && said.contains("as alice"), "{said}{wrong}");
    assert_eq!(world.who().await?["user"], "alice");
    world.server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_kept_where_the_server_takes_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let world = World::start(folder.path()).await?;
    let url = world.server.url().to_owned();
    let login = ["login", "--token-stdin", "--server", &url];
    assert!(world.run_with(&login, "sl_wrong\n").await.is_err());
    assert!(!world.file().exists(), "nothing is kept of a token that is refused");
    assert!(
        world.run_with(&["login", "--flow", "token", "--server", &url], "sl_static").await.is_err(),
        "no terminal"
    );
    assert!(world.run_with(&login, "sl_static\n").await?.contains("as static (reader)"));
    assert_eq!(world.who().await?["reads"]["everything"], true);
    // What is said otherwise overrides it, and another server never gets it.
    let wrong = world.command(&["whoami"]).env("STRANDLINE_TOKEN", "sl_other").output().await?;
    assert_eq!(wrong.status.code(), Some(2));
    let other = url.replace("127.0.0.1", "localhost");
    let elsewhere = world.command(&["whoami", "--server", &other]).output().await?;
    assert_eq!(elsewhere.status.code(), Some(2));
    let plain = world.run_with(&["login", "--token-stdin", "--server", "http://example.test"], "sl_1").await;
    assert!(plain.expect_err("unencrypted").to_string().contains("https"));
    assert!(world.run(&["logout"]).await?.contains("the token is removed"));
    assert!(!std::fs::read_to_string(world.file())?.contains("sl_static"));
    world.server.stop().await
}
