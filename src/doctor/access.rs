//! Judges who may ask.

use super::report::Check;
use crate::config::Config;
use crate::http::auth::EXPIRY_NOTICE;
use strandline_model::Timestamp;

const SUBJECT: &str = "access";

/// Whether a server would start, and which tokens do not serve for long.
pub(super) fn check(config: &Config, now: Timestamp) -> Vec<Check> {
    let (access, loopback) = (&config.access, config.listen.ip().is_loopback());
    let (tokens, address) = (access.tokens.len(), config.listen);
    let first = match (access.is_guarded(), loopback) {
        (false, true) => Check::ok(SUBJECT, "no tokens configured; local callers have full access"),
        (false, false) if access.allow_anonymous_read => {
            Check::warning(SUBJECT, format!("everyone who can reach {address} can read everything"))
                .hint("generate a token with `strandline token` and add it under `access`")
        }
        (false, false) => Check::problem(
            SUBJECT,
            format!("{address} is reachable from other machines, and no token is configured"),
        )
        .hint("generate a token with `strandline token` and add it under `access`, or listen on 127.0.0.1"),
        (_, true) if access.local.is_some() => Check::warning(
            SUBJECT,
            format!("tokens: {tokens}; callers of {address}, including a proxy, need none"),
        )
        .hint("remove `access.local` if a proxy forwards requests"),
        _ => Check::ok(SUBJECT, format!("tokens: {tokens}")),
    };
    let ends = access.tokens.iter().filter_map(|token| {
        let (name, expires) =
            (&token.name, token.expires.filter(|expires| *expires <= now.plus(EXPIRY_NOTICE))?);
        let check = match expires <= now {
            true => Check::warning(SUBJECT, format!("the token `{name}` expired at {expires}"))
                .hint("remove it from the configuration, or generate another with `strandline token`"),
            false => Check::warning(SUBJECT, format!("the token `{name}` expires at {expires}"))
                .hint("generate another with `strandline token` and add it before this one expires"),
        };
        Some(check)
    });
    std::iter::once(first).chain(ends).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::report::CheckResult;
    use super::*;
    use crate::config::parse;
    use crate::http::auth::TokenHash;

    #[test]
    fn who_could_ask_is_judged_before_anybody_does() {
        use CheckResult::{Ok, Problem, Warning};
        let hash = TokenHash::of("sl_a");
        let token =
            |more: &str| format!("access: {{tokens: [{{name: a, hash: '{hash}', everything: true{more}}}]}}");
        let public = "listen: 0.0.0.0:7979\n";
        let now: Timestamp = "2027-01-20T00:00:00Z".parse().expect("a time");
        for (text, expected) in [
            ("{}".to_owned(), vec![Ok]),
            (public.to_owned(), vec![Problem]),
            (format!("{public}access: {{allow_anonymous_read: true}}"), vec![Warning]),
            (format!("{public}{}", token("")), vec![Ok]),
            (token(""), vec![Ok]),
            (format!("{public}access: {{proxy: {{addresses: [10.0.0.7]}}}}"), vec![Ok]),
            (token("").replace("{tokens", "{local: read, tokens"), vec![Warning]),
            (token(", expires: 2027-01-31"), vec![Ok, Warning]),
            (token(", expires: 2027-01-19"), vec![Ok, Warning]),
            (token(", expires: 2027-03-01"), vec![Ok]),
        ] {
            let config = parse(&text, Path::new("c.yaml")).expect("a configuration");
            let checks = check(&config, now);
            let results: Vec<_> = checks.iter().map(|check| check.result).collect();
            assert_eq!(results, expected, "{text}: {checks:?}");
        }
    }
}
