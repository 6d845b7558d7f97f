//! Logins within addresses: `postgres://app:x@db`, `app:x@tcp(db)`, `jdbc:oracle:thin:app/x@db`.

use std::ops::Range;

use super::Mask;
use super::shapes::{Shape, is_reference, shape};

/// As far as a login is looked for, so that a long text is read once.
const LONGEST: usize = 512;

/// Where in a text logins stand.
pub(super) fn logins(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, byte) in text.bytes().enumerate() {
        let range = match byte {
            b':' if text[at..].starts_with("://") => userinfo(text, at + 3),
            b'@' => login_before(text, at),
            _ => None,
        };
        found.extend(range);
    }
}

fn cut(text: &str, from: usize, to: usize) -> &str {
    let mut to = to.min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    text.get(from..to).unwrap_or_default()
}

/// A URL's `user:password`, or a user that is a token, which begins here.
fn userinfo(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = cut(text, at, at + LONGEST);
    let stop = |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`');
    let ends = |b: u8| stop(b) || matches!(b, b'/' | b'?' | b'#');
    let authority = &rest[..rest.bytes().position(ends).unwrap_or(rest.len())];
    let userinfo = match authority.rfind('@') {
        Some(end) => &authority[..end],
        // A password may hold what ends an authority; a port has digits only.
        None => {
            let (_, port) = authority.split_once(':')?;
            let whole = &rest[..rest.bytes().position(stop).unwrap_or(rest.len())];
            let end =
                whole.rfind('@').filter(|_| !port.is_empty() && !port.bytes().all(|b| b.is_ascii_digit()))?;
            &whole[..end]
        }
    };
    if Mask::is_hidden(userinfo) {
        return None;
    }
    let hidden = match userinfo.split_once(':') {
        Some((_, password)) => !is_reference(password) && !Mask::is_hidden(password),
        None => {
            shape(userinfo) == Shape::Random || (userinfo.len() >= 20 && shape(userinfo) == Shape::Unclear)
        }
    };
    hidden.then_some(at..at + userinfo.len())
}

/// `user:password` before this `@`, without a scheme.
fn login_before(text: &str, at: usize) -> Option<Range<usize>> {
    let behind = &text[at + 1..];
    let host = behind.as_bytes().first()?;
    if !(host.is_ascii_alphanumeric() || matches!(host, b'(' | b'[' | b'/')) || behind.starts_with("sha") {
        return None;
    }
    let mut from = at.saturating_sub(LONGEST / 4);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = &text[from..at];
    let start =
        before.rfind(|c: char| c.is_whitespace() || "\"'<>\\`(),;=@".contains(c)).map_or(0, |at| at + 1);
    let login = before.get(start..)?;
    if let Some(rest) = login.strip_prefix("jdbc:oracle:thin:") {
        let hidden = rest.contains('/') && !Mask::is_hidden(rest);
        return hidden.then_some(at - rest.len()..at);
    }
    let (user, password) = login.split_once(':')?;
    let named = !user.is_empty()
        && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
        && !matches!(user, "mailto" | "acct" | "sip" | "sips" | "xmpp" | "system" | "ssh" | "git");
    let sure = behind.starts_with("tcp(") || behind.starts_with("unix(");
    let suspicious = !password.starts_with("//")
        && !password.contains('/')
        && !is_reference(password)
        && (sure || shape(password) > Shape::Ordinary);
    (named && suspicious && !Mask::is_hidden(login)).then_some(at - login.len()..at)
}

/// A text without the logins in its addresses, for logs and messages.
pub fn without_logins(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        shown.push_str(before);
        rest = behind.get(login_length(behind)..).unwrap_or_default();
    }
    shown.push_str(rest);
    shown
}

/// Whether an address has a login in it.
pub fn has_login(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| login_length(rest) > 0)
}

/// How long the login is at the beginning of what follows a scheme, with its `@`.
fn login_length(rest: &str) -> usize {
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c)).unwrap_or(rest.len());
    rest[..end].rfind('@').map_or(0, |at| at + 1)
}
