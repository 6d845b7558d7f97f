//! `strandline token`: makes a token, and the entry by which a configuration knows it.

use data_encoding::HEXLOWER;
use serde::Serialize;

use super::args::{TokenArgs, times};
use super::error::{CliError, Exit};
use super::output::write;
use crate::http::auth::{TOKEN_PREFIX, TokenHash};
use strandline_model::{At, TimeContext};

/// How many random bytes a token holds: too many to guess, so that its plain hash may be in a configuration.
const RANDOM_BYTES: usize = 32;

/// The part of a configuration that holds tokens.
#[derive(Serialize)]
struct File<'a> {
    access: Access<'a>,
}

#[derive(Serialize)]
struct Access<'a> {
    tokens: [Entry<'a>; 1],
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    projects: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    write: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    everything: bool,
}

/// Makes a token and prints it, then its entry.
pub(super) fn run(args: &TokenArgs) -> Result<(), CliError> {
    let token = random().map_err(|error| CliError::new("generating a token", error))?;
    write(&format!("{token}\n\n{}\n", entry(args, &token, &times())?))
}

fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{TOKEN_PREFIX}{}", HEXLOWER.encode(&bytes)))
}

/// Until when a token is good, of what was asked for: whole seconds, as people read it.
fn expiry(text: &str, times: &TimeContext) -> Result<String, CliError> {
    // A duration is one from now on, the only one that has a meaning here.
    let time = match times.read(text) {
        Ok(At::Ago(duration)) if !text.contains(['-', ' ']) => Some(times.now.plus(duration)),
        Ok(At::Time(time)) => Some(time),
        _ => None,
    };
    let time = time.filter(|time| *time > times.now).map(|time| time.to_the_second().to_string());
    time.ok_or_else(|| {
        CliError::new("generating a token", format!("`{text}` is no duration and no time in the future"))
            .hint("use --expires 90d, --expires 2027-01-31 or --expires '2027-01-31 14:05'")
            .exit(Exit::Usage)
    })
}

/// The entry as YAML, under a comment that says what to do with it.
fn entry(args: &TokenArgs, token: &str, times: &TimeContext) -> Result<String, CliError> {
    let entry = Entry {
        name: &args.name,
        hash: TokenHash::of(token).to_string(),
        user: args.user.as_deref(),
        expires: args.expires.as_deref().map(|text| expiry(text, times)).transpose()?,
        projects: &args.project,
        groups: &args.group,
        write: args.write,
        everything: args.everything,
    };
    let blind = args.project.is_empty() && args.group.is_empty() && !args.everything;
    let file = File { access: Access { tokens: [entry] } };
    let yaml = serde_saphyr::to_string(&file)
        .map_err(|error| CliError::new("writing the configuration entry", error))?;
    let mut text = String::from(
        "# Keep the token above: it cannot be shown again. Add this entry to the configuration:\n",
    );
    if blind {
        text.push_str("# Add what the token may access: `projects`, `groups`, or `everything: true`.\n");
    }
    Ok(text + yaml.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use std::path::Path;
    use strandline_model::Timestamp;

    const NOW: Timestamp = Timestamp::from_micros(1_795_176_000_000_000);

    #[test]
    fn a_token_expires_after_a_duration_or_at_a_time() {
        let times = TimeContext::utc(NOW);
        let of = |text: &str| expiry(text, &times).map_err(|error| error.exit);
        assert_eq!(
            of("90d").as_deref(),
            Ok(NOW.plus(std::time::Duration::from_secs(90 * 24 * 3600)).to_string().as_str())
        );
        assert_eq!(of("2027-01-31").as_deref(), Ok("2027-01-31T00:00:00Z"));
        assert_eq!(of("2027-01-31T14:05:00+02:00").as_deref(), Ok("2027-01-31T12:05:00Z"));
        for text in ["", "soon", "2027-13-01", "90", "-1h", "1h ago", "14:05", "yesterday", "0s"] {
            assert_eq!(of(text), Err(Exit::Usage), "{text}");
        }
    }

    fn args() -> TokenArgs {
        TokenArgs {
            name: "ci".into(),
            user: Some("yes: no #1".into()),
            expires: Some("90d".into()),
            project: vec!["shop/web".into(), "shop/db".into()],
            group: vec!["other".into()],
            write: true,
            everything: false,
        }
    }

    #[test]
    fn the_entry_is_one_that_a_configuration_takes() {
        let token = random().expect("random bytes");
        assert!(token.starts_with("sl_") && token.len() == 3 + 2 * RANDOM_BYTES, "{token}");
        assert_ne!(Ok(token.clone()), random(), "each is another");
        let text = entry(&args(), &token, &TimeContext::utc(NOW)).expect("an entry");
        assert!(!text.contains(&token), "{text}");
        let config = parse(&text, Path::new("c.yaml")).expect("a configuration");
        let [read] = config.access.tokens.as_slice() else { panic!("{text}") };
        assert_eq!((read.name.as_str(), read.hash), ("ci", TokenHash::of(&token)));
        assert_eq!(read.user.as_deref(), Some("yes: no #1"));
        assert_eq!(read.expires.map(|expires| expires.since(NOW).as_secs()), Some(90 * 24 * 3600));
        assert_eq!((read.projects.len(), read.groups.len(), read.write), (2, 1, true));
    }

    #[test]
    fn an_entry_that_sees_nothing_says_what_is_missing() {
        let blind = TokenArgs { project: vec![], group: vec![], ..args() };
        let text = entry(&blind, "sl_1", &TimeContext::utc(NOW)).expect("an entry");
        assert!(text.contains("everything: true"), "{text}");
        let error = parse(&text, Path::new("c.yaml")).expect_err("nothing to see").to_string();
        assert!(error.contains("has no access"), "{error}");
        let all = TokenArgs { everything: true, ..blind };
        assert!(
            parse(&entry(&all, "sl_1", &TimeContext::utc(NOW)).expect("an entry"), Path::new("c.yaml"))
                .is_ok()
        );
    }
}
