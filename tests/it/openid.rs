//! Logins at a provider that we did not write: `oidc-provider`, which is certified for OpenID Connect, on loopback.

mod person;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::checkout::root;
use crate::not_run::not_run;
use crate::server::{PROGRAM, Result, Server, get};
use person::Person;

/// A bound on hanging. Keys that are not known are asked for once in 30 seconds.
const PATIENCE: Duration = Duration::from_secs(180);

/// A provider, and a server where people log in with it.
struct World {
    url: String,
    /// It ends with its standard input.
    _provider: Child,
    server: Server,
    home: PathBuf,
}

/// Where the provider is installed; else this says that the test was not run.
fn installed(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("STRANDLINE_OPENID").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_some() {
        return folder;
    }
    not_run(test, "STRANDLINE_OPENID names no folder; run tests/openid/fetch", "STRANDLINE_REQUIRE_OPENID");
    None
}

impl World {
    async fn start(library: &Path, folder: &Path) -> Result<Self> {
        let mut provider = Command::new("node")
            .arg(root().join("tests/openid/provider.mjs"))
            .arg(library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start node: {error}"))?;
        let mut lines = BufReader::new(provider.stdout.take().ok_or("its output")?).lines();
        let url = lines.next_line().await?.ok_or("the provider ended without an address")?;
        let config = format!(
            "access:\n  issuers:\n    - name: people\n      issuer: '{url}'\n      audience: web\n      algorithms: [ES256]\n\
             \x20     users: {{}}\n      login: {{public_url: 'https://strandline.test'}}\n      command_line: {{client_id: cli}}\n"
        );
        let home = folder.join("home");
        std::fs::create_dir(&home)?;
        Ok(World { url, _provider: provider, server: Server::start(folder, &config).await?, home })
    }

    /// Has the provider do something else; what it was asked so far.
    async fn control(&self, asked: &Value) -> Result<Value> {
        let (_, text) =
            Person::default().send("POST", &format!("{}/control", self.url), &asked.to_string()).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// How often the keys were fetched.
    async fn fetched(&self) -> Result<u64> {
        self.control(&json!({})).await?["keys"].as_u64().ok_or_else(|| "no count".into())
    }

    /// Logs in as somebody with a browser does; where that ends, on our server.
    async fn log_in(&self, person: &mut Person) -> Result<String> {
        let start = format!("{}/login/start?to=%2Fclusters", self.server.url());
        person.visit(&start, Some(("https://strandline.test", self.server.url()))).await
    }

    /// Logs in until that succeeds: keys that are new to the server are asked for in time.
    async fn log_in_at_last(&self, person: &mut Person) -> Result<()> {
        let begun = Instant::now();
        loop {
            let end = self.log_in(person).await?;
            if end.ends_with("/clusters") {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("never logged in: {end}\n{}", self.server.output()).into());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn who(&self, person: &mut Person) -> Result<Value> {
        let (status, text) = person.send("GET", &format!("{}/api/v1/whoami", self.server.url()), "").await?;
        if status == 200 { Ok(serde_json::from_str(&text)?) } else { Ok(json!(status)) }
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_logs_in_at_a_certified_provider_and_out_again() -> Result<()> {
    let Some(library) = installed("a_browser_logs_in_at_a_certified_provider_and_out_again") else {
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let world = World::start(&library, folder.path()).await?;
    let mut alice = Person::default();
    assert_eq!(world.who(&mut alice).await?, 401);
    world.log_in_at_last(&mut alice).await?;
    let who = world.who(&mut alice).await?;
    assert_eq!((&who["user"], &who["method"]), (&json!("alice"), &json!("session")));
    assert_eq!(who["reads"]["groups"], json!(["shop"]));
    // A clock that is a little ahead is one of this world, and one that is two minutes ahead is not.
    world.control(&json!({"skew": 15})).await?;
    assert!(world.log_in(&mut Person::default()).await?.ends_with("/clusters"));
    world.control(&json!({"skew": 120})).await?;
    assert!(world.log_in(&mut Person::default()).await?.ends_with("/login?error=refused"));
    world.control(&json!({"skew": -15})).await?;
    assert!(world.log_in(&mut Person::default()).await?.ends_with("/clusters"));
    // Tokens are signed as the configuration says, by whichever key of the provider.
    world.control(&json!({"skew": 0, "algorithm": "RS256"})).await?;
    assert!(world.log_in(&mut Person::default()).await?.ends_with("/login?error=refused"));
    world.control(&json!({"algorithm": "ES256"})).await?;
    assert!(world.log_in(&mut Person::default()).await?.ends_with("/clusters"));
    // With other keys it is the same provider.
    world.control(&json!({"rotate": true})).await?;
    world.log_in_at_last(&mut Person::default()).await?;
    assert_eq!(world.who(&mut alice).await?["user"], "alice", "a session needs no key");
    // The session ends here, and what it is renewed with ends there.
    let revoked = world.control(&json!({})).await?["revoked"].as_u64();
    let logout = format!("{}/logout", world.server.url());
    let mut thief = alice.clone();
    assert_eq!(alice.send("POST", &logout, "").await?.0, 303);
    assert_eq!((world.who(&mut alice).await?, world.who(&mut thief).await?), (json!(401), json!(401)));
    assert_eq!(world.control(&json!({})).await?["revoked"].as_u64(), revoked.map(|count| count + 1));
    world.server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_logs_in_at_a_certified_provider_and_unknown_keys_are_asked_for_seldom() -> Result<()>
{
    let test = "the_command_line_logs_in_at_a_certified_provider_and_unknown_keys_are_asked_for_seldom";
    let Some(library) = installed(test) else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let world = World::start(&library, folder.path()).await?;
    let mut login = world.command(&["login", "--server", world.server.url(), "--context", "test"]).spawn()?;
    let mut lines = BufReader::new(login.stderr.take().ok_or("its errors")?).lines();
    // It says where to go, and with which code.
    let code = code_of_device(&mut lines).await?;
    let mut person = Person::default();
    person.visit(&format!("{}/device?user_code={code}", world.url), None).await?;
    assert!(person.page.contains("Sign-in Success"), "{}", person.page);
    let output = tokio::time::timeout(PATIENCE, login.wait_with_output()).await??;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("as alice (reader, renewed automatically)"), "{said}");
    let who = world.command(&["whoami", "-o", "json"]).output().await?;
    let who: Value = serde_json::from_slice(&who.stdout)?;
    assert_eq!((&who["user"], &who["method"]), (&json!("alice"), &json!("signed_token")));
    // Tokens that name keys which nobody has: the provider is asked for its keys seldom, and who is in stays in.
    let file = std::fs::read_to_string(world.home.join("strandline/contexts.yaml"))?;
    let file: Value = serde_saphyr::from_str(&file)?;
    let token = file["contexts"][0]["oidc"]["id_token"].as_str().ok_or("a token")?.to_owned();
    let rest = token.split_once('.').ok_or("a token")?.1;
    let (before, begun) = (world.fetched().await?, Instant::now());
    for number in 0..300 {
        let header = json!({"alg": "ES256", "kid": format!("unknown-{number}")}).to_string();
        let header = data_encoding::BASE64URL_NOPAD.encode(header.as_bytes());
        let (status, _) =
            world.server.send("GET", "/whoami", &format!("{header}.{rest}"), &Value::Null).await?;
        assert!([401, 429].contains(&status), "{status}");
    }
    let (asked, halves) = (world.fetched().await? - before, begun.elapsed().as_secs() / 30);
    assert!(asked <= halves + 2, "asked {asked} times");
    assert_eq!(world.server.send("GET", "/whoami", &token, &Value::Null).await?.0, 200);
    // Logging out revokes the login there.
    let out = world.command(&["logout"]).output().await?;
    assert!(
        String::from_utf8_lossy(&out.stdout).contains("revoked"),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    assert_eq!(world.control(&json!({})).await?["revoked"], 1);
    assert!(!world.command(&["whoami"]).output().await?.status.success());
    assert!(!world.server.output().contains(rest));
    assert_eq!(get(&format!("{}/api/v1/whoami", world.server.url())).await?.0, 401);
    world.server.stop().await
}

/// The code of a device, which is two times four letters.
async fn code_of_device(
    lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
) -> Result<String> {
    loop {
        let line = lines.next_line().await?.ok_or("it ended without a code")?;
        let is_code = |word: &&str| {
            word.len() == 9
                && word.char_indices().all(|(at, c)| if at == 4 { c == '-' } else { c.is_ascii_uppercase() })
        };
        if let Some(code) = line.split_whitespace().find(is_code) {
            return Ok(code.to_owned());
        }
    }
}
