//! Tokens, good and bad.

use super::*;
use crate::http::auth::{AccessConfig, LocalAccess, TokenHash};

const HASH: &str = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

#[test]
fn a_token_is_known_by_its_hash_and_says_what_it_sees() {
    let text = format!(
        "
access:
  tokens:
    - name: ci-of-shop
      hash: {HASH}
      user: alice
      projects: [shop/web, shop/web]
      groups: [shop]
      write: true
    - {{name: admin, hash: '{}', everything: true}}
",
        TokenHash::of("other")
    );
    let tokens = read(&text).unwrap().access.tokens;
    let ci = &tokens[0];
    assert_eq!((ci.name.as_str(), ci.user.as_deref()), ("ci-of-shop", Some("alice")));
    assert_eq!(ci.hash, TokenHash::of("foo"), "SHA-256 of the token's text");
    assert_eq!(ci.hash.to_string(), HASH, "written as it is read");
    assert_eq!(ci.projects.iter().collect::<Vec<_>>(), ["shop/web"]);
    assert_eq!(ci.groups.iter().collect::<Vec<_>>(), ["shop"]);
    assert!(ci.write && !ci.everything && tokens[1].everything && !tokens[1].write);
    assert_eq!(tokens[1].hash, TokenHash::of("other"));
    assert!(read("access: {tokens: []}\n").unwrap().access.tokens.is_empty());
    assert!(read("{}\n").unwrap().access.tokens.is_empty());
}

#[test]
fn hashes_are_read_with_capitals_and_nothing_else() {
    let capitals = HASH.replace("2c26b46b68", "2C26B46B68");
    assert_eq!(capitals.parse(), Ok(TokenHash::of("foo")));
    let digits = HASH.trim_start_matches("sha256:");
    let short = &HASH[..HASH.len() - 1];
    let bad = [
        digits.to_owned(),
        short.to_owned(),
        format!("{HASH}0"),
        format!("md5:{digits}"),
        format!(" {HASH}"),
        format!("{short}g"),
        "sha256:".to_owned(),
        "sha256:é".to_owned(),
        String::new(),
    ];
    for text in bad {
        assert_eq!(text.parse::<TokenHash>(), Err(()), "{text}");
    }
}

#[test]
fn mistakes_in_tokens_are_told_with_their_lines() {
    check("access: {token: []}\n", &["1:10: unknown key"], Some("did you mean `tokens`?"));
    check(
        &format!("access: {{tokens: [{{name: a, hash: '{HASH}', everything: true, wirte: true}}]}}\n"),
        &["1:128: unknown key"],
        Some("did you mean `write`?"),
    );
    check(
        &format!(
            "access:\n  tokens:\n  - {{name: a, hash: '{HASH}', everything: true}}\n  \
             - {{name: a, hash: '{HASH}', projects: [x]}}\n  - {{name: c, hash: '{}', write: true}}\n",
            TokenHash::of("c")
        ),
        &[
            "4:12: duplicate token `a`, first in line 3",
            "4:21: duplicate hash, first in line 3",
            "5:12: the token `c` has no access",
        ],
        Some("generate a token for each entry"),
    );
    check(
        &format!(
            "access:\n  tokens:\n  - {{name: a, hash: '{HASH}', projects: [/shop, 'a b'], groups: [shop//x, '']}}\n"
        ),
        &[
            "3:107: `/shop` is not the full path of a project",
            "3:114: `a b` is not the full path of a project",
            "3:131: `shop//x` is not the full path of a group",
            "3:140: `` is not the full path of a group",
        ],
        Some("use the path of its URL, such as shop/web, without slashes at the ends"),
    );
}

#[test]
fn a_token_written_where_its_hash_belongs_is_not_repeated() {
    let token = "sl_c0ffee";
    let text =
        format!("access: {{tokens: [{{name: {token}, hash: {token}, user: '', everything: true}}]}}\n");
    check(
        &text,
        &[
            "1:26: invalid token name",
            "1:43: invalid hash: expected `sha256:` and 64 hex digits",
            "1:60: the token's `user` is empty or has control characters",
        ],
        Some("use letters, digits, `-`, `_` and `.`, and never the token itself"),
    );
    let error = read(&text).unwrap_err();
    assert!(!format!("{error}{error:?}").contains(token), "{error}");
}

#[test]
fn a_token_expires_at_a_time_or_at_the_beginning_of_a_day() {
    let of = |expires: &str| {
        let entry = format!(
            "access: {{tokens: [{{name: a, hash: '{HASH}', everything: true, expires: {expires}}}]}}"
        );
        read(&entry).map(|config| config.access.tokens[0].expires.map(|time| time.to_string()))
    };
    for (written, expected) in [
        ("2027-01-31", "2027-01-31T00:00:00Z"),
        ("2027-01-31T14:05:00Z", "2027-01-31T14:05:00Z"),
        ("'2027-01-31T14:05:00+02:00'", "2027-01-31T12:05:00Z"),
    ] {
        assert_eq!(of(written).unwrap().as_deref(), Some(expected), "{written}");
    }
    for written in ["soon", "90d", "2027-02-30", "''", "1"] {
        let error = of(written).unwrap_err().to_string();
        assert!(error.contains("the token's `expires` is not a time"), "{written}: {error}");
    }
}

#[test]
fn who_may_ask_without_a_token_is_said_in_words() {
    let access = |text: &str| read(&format!("access: {{{text}}}\n")).unwrap().access;
    assert_eq!(access(""), AccessConfig::default());
    assert_eq!(access("local: read").local, Some(LocalAccess::Read));
    assert_eq!(access("local: write").local, Some(LocalAccess::Write));
    assert!(
        access("allow_anonymous_read: true").allow_anonymous_read && access("audit_reads: true").audit_reads
    );
    check(
        "access: {local: yes}\n",
        &["1:17: invalid local access `yes`"],
        Some("use `read` or `write`, or omit it to require a token from everyone"),
    );
}

#[test]
fn who_may_ask_is_read_without_the_rest() {
    let text = format!(
        "clusters: [{{name: a, url: 'ftp://x'}}]\naccess: {{tokens: [{{name: a, hash: '{HASH}', everything: true}}]}}\n"
    );
    assert!(read(&text).is_err(), "the cluster cannot be reached");
    let access = parse_access(&text, Path::new("c.yaml")).unwrap();
    assert_eq!(access.tokens.len(), 1);
    let error = parse_access("access: {tokens: [{name: a, hash: x, everything: true}]}", Path::new("c.yaml"));
    assert_eq!(
        error.unwrap_err().to_string(),
        "c.yaml:1:35: invalid hash: expected `sha256:` and 64 hex digits"
    );
}
