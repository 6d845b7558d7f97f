//! What looks like a credential: by its name, or by itself.

use std::ops::Range;

use super::Mask;

/// Parts of names, lower case and without punctuation, that announce a credential wherever they stand.
const NAME_PARTS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "accesskey",
    "encryptionkey",
    "signingkey",
    "credential",
    "connectionstring",
];

/// Words that announce a credential only as a word of their own: `auth`, but not `author`.
const NAME_WORDS: [&str; 7] = ["pwd", "pass", "auth", "authorization", "dsn", "connstr", "pat"];

/// Last words of names that speak about a credential without being one: `--token-file`, `SECRET_NAME`.
const HARMLESS_ENDINGS: [&str; 19] = [
    "file",
    "files",
    "path",
    "dir",
    "directory",
    "name",
    "ref",
    "url",
    "uri",
    "endpoint",
    "enabled",
    "ttl",
    "timeout",
    "mode",
    "type",
    "namespace",
    "lifetime",
    "expiration",
    "kubeconfig",
];

/// Names of members that hold a credential themselves, by their end. Narrower than for environment
/// variables: `secretName`, `tokenSecretRef` and their like are references that the graph lives on.
const MEMBER_ENDINGS: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "token",
    "clientsecret",
    "sharedsecret",
    "webhooksecret",
    "appsecret",
    "apisecret",
    "secretaccesskey",
    "privatekey",
    "keydata",
    "connectionstring",
    "authorization",
    "dockerconfigjson",
];

/// Names of members that hold a credential only when they are the whole name: `secret`, but not `tlsSecret`.
const MEMBER_NAMES: [&str; 2] = ["secret", "dockercfg"];

/// How tokens begin whose issuers mark them, ten characters or more following.
const TOKEN_PREFIXES: [&str; 30] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glcbt-",
    "glptt-",
    "glagent-",
    "gloas-",
    "glimt-",
    "glft-",
    "glffct-",
    "glsoat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "xoxr-",
    "xapp-",
    "npm_",
    "hvs.",
    "dckr_pat_",
    "pypi-",
    "sk_live_",
    "rk_live_",
    "SG.",
];

/// How PEM begins once it is in Base64.
const PEM_IN_BASE64: &str = "LS0tLS1CRUdJTi";

/// `PRIVATE KEY` in Base64, by where in a group of three bytes it begins.
const PRIVATE_KEY_IN_BASE64: [&str; 3] = ["UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW"];

/// How whatever was packed with gzip begins once it is in Base64.
const GZIP_IN_BASE64: &str = "H4sI";

/// Whether a variable, flag or parameter of this name holds a credential.
pub(super) fn is_credential_name(name: &str) -> bool {
    // `dbPassword`, `DB_PASSWORD` and `--db-password` are the same letters, with words beginning here:
    let mut letters = String::with_capacity(name.len());
    let mut begins: Vec<usize> = Vec::with_capacity(8);
    let (mut apart, mut after_lower) = (true, false);
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            if apart || (c.is_ascii_uppercase() && after_lower) {
                begins.push(letters.len());
            }
            letters.push(c.to_ascii_lowercase());
        }
        apart = !c.is_ascii_alphanumeric();
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    begins.push(letters.len());
    let mut words = begins.windows(2).map(|ends| &letters[ends[0]..ends[1]]);
    if words.clone().next_back().is_some_and(|last| HARMLESS_ENDINGS.contains(&last)) {
        return false;
    }
    let announced = (0..letters.len()).any(|at| {
        let rest = &letters.as_bytes()[at..];
        NAME_PARTS.iter().any(|part| part.as_bytes()[0] == rest[0] && rest.starts_with(part.as_bytes()))
    });
    announced || words.any(|word| NAME_WORDS.contains(&word))
}

/// Whether a member of this name holds a credential, wherever in an object it stands.
pub(super) fn is_credential_member(name: &str) -> bool {
    let last = name.rsplit(['.', '/']).next().unwrap_or(name);
    let ends_with = |name: &str, ending: &str, whole: bool| {
        let mut letters = name.bytes().rev().filter(u8::is_ascii_alphanumeric);
        let mut ending = ending.bytes().rev();
        ending.all(|b| letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&b)))
            && !(whole && letters.next().is_some())
    };
    MEMBER_ENDINGS.iter().any(|ending| ends_with(name, ending, false))
        || MEMBER_NAMES.iter().any(|whole| ends_with(last, whole, true))
}

/// Whether a value under a credential's name is none: nothing, a switch, a reference, or already hidden.
pub(super) fn is_harmless_value(value: &str) -> bool {
    let reference = |open: &str, close| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(|name: &str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
        })
    };
    value.is_empty()
        || value.eq_ignore_ascii_case("true")
        || value.eq_ignore_ascii_case("false")
        || reference("$(", ')')
        || reference("${", '}')
        || Mask::is_hidden(value)
}

/// Where in a text credentials stand that show by themselves what they are.
pub(super) fn tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            // After a scheme the token itself begins.
            b'B' => match authorization_at(text, at) {
                Some(token) => {
                    at = token.start;
                    Some(token.end)
                }
                None => None,
            },
            b'-' | b'A' | b'H' | b'L' | b'S' => token_at(text, at),
            b'd' | b'e' | b'g' | b'h' | b'n' | b'p' | b'r' | b's' | b'x' => token_at(text, at),
            b':' if bytes[at..].starts_with(b"://") => match userinfo_at(text, at + 3) {
                Some(end) => {
                    at += 3;
                    Some(end)
                }
                None => None,
            },
            _ => None,
        };
        match end {
            Some(end) => {
                found.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// The end of the token that begins here.
fn token_at(text: &str, at: usize) -> Option<usize> {
    let bytes = text.get(at..)?.as_bytes();
    let run = |from: usize, allowed: fn(u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().position(|&b| !allowed(b)).unwrap_or(rest.len())
    };
    let starts = |prefix: &&str| bytes.starts_with(prefix.as_bytes());
    // Or else a long text of one beginning after the other would be searched again and again.
    let begins = |part: fn(u8) -> bool| !text[..at].bytes().next_back().is_some_and(part);
    // Most bytes begin nothing, so the first one decides what is looked for at all.
    let end = match bytes.first()? {
        b'A' if ["AKIA", "ASIA"].iter().any(starts) => {
            let end = run(4, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
            (end >= 20).then_some(end)
        }
        b'e' if starts(&"eyJ") && begins(is_word) => json_web_token(bytes, run),
        b'-' if starts(&"-----BEGIN ") => private_key(text.get(at..)?),
        b'L' if starts(&PEM_IN_BASE64) && begins(is_base64) => {
            let end = run(0, is_base64);
            let encoded = text.get(at..at + end)?;
            PRIVATE_KEY_IN_BASE64.iter().any(|label| encoded.contains(label)).then_some(end)
        }
        // What is packed cannot be searched; Helm and others keep whole manifests so.
        b'H' if starts(&GZIP_IN_BASE64) && begins(is_base64) => {
            let end = run(0, is_base64);
            (end >= 24).then_some(end)
        }
        b'A' if starts(&"AIza") && begins(is_word) => {
            let end = run(0, is_word);
            (end >= 39).then_some(end)
        }
        _ => {
            let prefix = TOKEN_PREFIXES.iter().find(|prefix| starts(prefix))?;
            let end = run(prefix.len(), |b| is_word(b) || b == b'.');
            // A full stop behind it belongs to the sentence.
            let end = text.get(at..at + end)?.trim_end_matches('.').len();
            (end >= prefix.len() + 10).then_some(end)
        }
    };
    end.map(|end| at + end)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// What follows `Authorization: Bearer` or `Authorization: Basic`, of which the scheme begins here.
fn authorization_at(text: &str, at: usize) -> Option<Range<usize>> {
    let (before, rest) = text.split_at_checked(at)?;
    let scheme = ["Bearer ", "Basic "].into_iter().find(|scheme| rest.starts_with(scheme))?;
    let header = before.trim_end_matches([' ', '\'', '"', '=']).strip_suffix(':')?;
    let header = header.trim_end_matches(['"', '\'']).as_bytes();
    let name = header.len().checked_sub("authorization".len()).and_then(|start| header.get(start..))?;
    let start = at + scheme.len();
    let token = text[start..].split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).next()?;
    (name.eq_ignore_ascii_case(b"authorization") && !is_harmless_value(token))
        .then_some(start..start + token.len())
}

/// Three parts with dots between them, the first two of which are JSON objects in Base64.
fn json_web_token(bytes: &[u8], run: impl Fn(usize, fn(u8) -> bool) -> usize) -> Option<usize> {
    let header = run(0, is_word);
    let payload = (header >= 8 && bytes.get(header) == Some(&b'.')).then(|| run(header + 1, is_word))?;
    (payload >= header + 4 && bytes.get(payload) == Some(&b'.')).then(|| run(payload + 1, is_word))
}

/// From the first dash to the last, or to the end of the text when the key has none.
fn private_key(text: &str) -> Option<usize> {
    let label = text.strip_prefix("-----BEGIN ")?;
    let label = &label[..label.bytes().take(60).position(|b| b == b'-')?];
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let closing = format!("-----END {label}-----");
    Some(text.find(&closing).map_or(text.len(), |found| found + closing.len()))
}

/// The end of a URL's `user:password`, which begins here.
fn userinfo_at(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let authority = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>\\`".contains(c)).unwrap_or(rest.len());
    let userinfo = &rest[..rest[..authority].rfind('@')?];
    let (_, password) = userinfo.split_once(':')?;
    (!is_harmless_value(password) && !Mask::is_hidden(userinfo)).then_some(at + userinfo.len())
}

/// Where in a command line values are given to names of credentials: `--password=x`, `TOKEN=x`, `--token x`.
pub(super) fn assignments(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices(['=', ' ']) {
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let name = name_before(text, at);
        let flag = name.starts_with('-');
        // A blank separates name and value only behind a flag, else every sentence would be a command.
        if (bytes[at] == b' ' && !flag) || !is_credential_name(name) {
            continue;
        }
        let value = value_at(text, at + 1);
        let looks_like_flag = bytes[at] == b' ' && text[value.clone()].starts_with('-');
        if !looks_like_flag && !is_harmless_value(&text[value.clone()]) {
            found.push(value);
        }
    }
    found
}

fn name_before(text: &str, end: usize) -> &str {
    let before = &text[..end];
    let start = before
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    &before[start..]
}

/// A value: what stands between quotes, or up to the next blank or end of a command.
fn value_at(text: &str, start: usize) -> Range<usize> {
    let rest = &text[start..];
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let end = rest[1..].find(quote).map_or(rest.len(), |at| at + 1);
        return start + 1..start + end;
    }
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|' | '&'));
    start..start + end.unwrap_or(rest.len())
}
