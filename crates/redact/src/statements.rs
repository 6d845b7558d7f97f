//! Lines whose words stand without a separator: `requirepass x`, `ENV TOKEN x`, `machine h login u password x`,
//! `user u insecure-password x`, `"u" "x"`, `[host]:587 u:x`, `host:5432:db:u:x`.

use std::ops::Range;

use super::Mask;
use super::names::{Meaning, Names, Style};
use super::remembered::is_login_name;
use super::shapes::{Shape, is_login, is_reference, shape};
use super::text::Setting;

/// What is known of the lines.
pub(super) struct Statements<'a> {
    pub(super) setting: Setting,
    pub(super) names: &'a Names,
    /// Whether there is more than one line.
    pub(super) several: bool,
    /// Whether each is a user and a password in quotes.
    pub(super) has_users: bool,
}

impl Statements<'_> {
    /// Finds the credentials in a line that begins here.
    pub(super) fn line(&self, at: usize, line: &str, found: &mut Vec<Range<usize>>) {
        if !line.contains([' ', '\t']) {
            found.extend(pgpass(line).map(|value| at + value.start..at + value.end));
            return;
        }
        if self.setting == Setting::Prose {
            return;
        }
        let mut push = |value: &str| {
            let start = at + value.as_ptr() as usize - line.as_ptr() as usize;
            found.push(start..start + value.len());
        };
        if let Some(value) = self.statement(line, true) {
            return push(value);
        }
        // Several statements on a line: `key k { algorithm a; secret "x"; };`
        if line.contains(['{', ';']) && !line.contains("{{") {
            let (mut quote, mut from) = (None, 0);
            for (end, c) in line.char_indices() {
                match (quote, c) {
                    (Some(open), _) if open == c => quote = None,
                    (None, '"' | '\'') => quote = Some(c),
                    (None, '{' | '}' | ';') => {
                        self.statement(line[from..end].trim(), false).into_iter().for_each(&mut push);
                        from = end + 1;
                    }
                    _ => {}
                }
            }
            self.statement(line[from..].trim(), false).into_iter().for_each(&mut push);
        }
    }

    /// The credential in a statement; `alone` on its line it needs less to be one.
    fn statement<'l>(&self, line: &'l str, alone: bool) -> Option<&'l str> {
        let line_of_netrc = line.find("machine ").filter(|_| line.contains(" password "));
        let (first, rest) = word(&line[line_of_netrc.unwrap_or(0)..])?;
        match first {
            "machine" | "default" => {
                let mut rest = rest;
                while let Some((name, behind)) = word(rest) {
                    if name == "password" {
                        return quoted_or_word(behind).filter(|value| !is_reference(value));
                    }
                    rest = behind;
                }
                return None;
            }
            "user" | "username" => return self.user(rest),
            _ => {}
        }
        if let Some(password) = self.of_user(line).or_else(|| of_relay(first, rest)) {
            return Some(password);
        }
        // `auth admin:x`, `stats auth admin:x`
        if is_login_name(first)
            && let Some((_, password)) = login(rest)
        {
            return Some(password);
        }
        let (second, behind) = word(rest)?;
        if is_login_name(second)
            && let Some((_, password)) = login(behind)
        {
            return Some(password);
        }
        let sets = Sets::of(first);
        sets.and_then(|sets| self.named(after_flags(rest), alone, Some(sets)))
            .or_else(|| self.named(line, alone, None))
    }

    /// A name and its value.
    fn named<'l>(&self, text: &'l str, alone: bool, sets: Option<Sets>) -> Option<&'l str> {
        let (name, rest) = word(text)?;
        if !is_name(name) {
            return None;
        }
        let meaning = self.names.meaning(name, Style::Variable);
        if meaning == Meaning::Nothing {
            return None;
        }
        let (value, is_quoted) = value(rest, sets == Some(Sets::Line))?;
        let sure = match sets {
            Some(Sets::Variable | Sets::Line) => true,
            _ if !alone => is_quoted,
            _ => self.several || name.contains("pass") || self.setting == Setting::Command,
        };
        let hidden = if sure && meaning == Meaning::Certain {
            !is_reference(value)
        } else {
            meaning >= Meaning::Probable && shape(value) > Shape::Ordinary
        };
        hidden.then_some(value)
    }

    /// `user u on >x`, `user u insecure-password x`, `username u privilege 15 secret 5 x`
    fn user<'l>(&self, line: &'l str) -> Option<&'l str> {
        let (_, mut rest) = word(line)?;
        while let Some((name, behind)) = word(rest) {
            rest = behind;
            if let Some(password) = name.strip_prefix('>') {
                if password.len() > 2 && !is_reference(password) {
                    return Some(password);
                }
                continue;
            }
            if !is_name(name) || self.names.meaning(name, Style::Variable) < Meaning::Certain {
                continue;
            }
            // A digit says how it is written.
            let kind = word(behind).filter(|(kind, behind)| {
                kind.len() == 1 && kind.as_bytes()[0].is_ascii_digit() && !behind.is_empty()
            });
            let behind = kind.map_or(behind, |(_, behind)| behind);
            let Some(value) = quoted_or_word(behind) else { continue };
            let sure = name.contains(['-', '_']) || behind.starts_with(['"', '\'']);
            if !is_reference(value) && (sure || shape(value) > Shape::Ordinary) {
                return Some(value);
            }
        }
        None
    }

    /// The password in `"user" "password"`.
    fn of_user<'l>(&self, line: &'l str) -> Option<&'l str> {
        let (_, password) = user_and_password(line)?;
        let hidden = if self.has_users {
            !is_reference(password)
        } else {
            shape(password) > Shape::Ordinary && !password.contains(' ')
        };
        hidden.then_some(password)
    }
}

/// What a word says that stands before a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sets {
    /// The rest of the line is the value.
    Line,
    /// A variable, a parameter or a constant.
    Variable,
    /// Anything.
    Other,
}

impl Sets {
    fn of(word: &str) -> Option<Self> {
        if word.len() > 32 {
            return None;
        }
        let lower = word.to_ascii_lowercase();
        match &*lower {
            "env" if word == "ENV" => Some(Sets::Line),
            "setx" | "#define" => Some(Sets::Variable),
            "set" | "config" | "option" => (*word == *lower).then_some(Sets::Other),
            lower if lower.contains("env") || lower.contains("param") => Some(Sets::Variable),
            lower if lower.contains("header") => Some(Sets::Other),
            _ => None,
        }
    }
}

/// Whether a text, but for its remarks, has a user and a password in quotes on each line, as PgBouncer reads them.
pub(super) fn has_users(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with([';', '#']));
    let mut none = true;
    for line in lines {
        if user_and_password(line).is_none() {
            return false;
        }
        none = false;
    }
    !none
}

fn user_and_password(line: &str) -> Option<(&str, &str)> {
    let (user, rest) = line.strip_prefix('"')?.split_once('"')?;
    let password = rest.trim_start().strip_prefix('"')?.trim_end().strip_suffix('"')?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'@' | b'*' | b'$');
    // A quote within is written twice.
    let one = !password.contains('"') || !password.replace("\"\"", "").contains('"');
    (!user.is_empty() && user.bytes().all(plain) && rest.starts_with([' ', '\t']) && one)
        .then_some((user, password))
}

/// The two parts of a login; what stands for a hidden value only looks like one.
fn login(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|_| is_login(text) && !Mask::is_hidden(text))
}

/// The password in `[host]:port user:password`, as Postfix has it.
fn of_relay<'l>(host: &str, text: &'l str) -> Option<&'l str> {
    let (user, password) = login(text.trim_end())?;
    let is_host = |host: &str| {
        host.contains('.')
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'@'))
    };
    let bracketed = host.starts_with('[') && host.contains(']') && host.contains(['.', ':']);
    let with_port = host.rsplit_once(':').filter(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
    });
    let sure = bracketed || with_port.is_some_and(|(host, _)| is_host(host));
    let suspicious = user.contains('@') || shape(password) > Shape::Ordinary;
    let hidden = sure || (suspicious && (with_port.is_some() || is_host(host)));
    hidden.then_some(password)
}

/// The next word, and what is behind it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

fn after_flags(mut text: &str) -> &str {
    while let Some((_, behind)) = word(text).filter(|(flag, _)| flag.starts_with('-')) {
        text = behind;
    }
    text
}

fn is_name(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        && !word.starts_with('-')
}

/// What begins here up to the next blank, or what stands between quotes.
fn quoted_or_word(text: &str) -> Option<&str> {
    match text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        Some(quote) => text[1..].split(quote).next(),
        None => word(text).map(|(value, _)| value.trim_end_matches([',', ';'])),
    }
}

/// The one value that is left of a statement, and whether it is quoted; `all` takes several words.
fn value(text: &str, all: bool) -> Option<(&str, bool)> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (value, behind) = text[1..].split_once(quote).unwrap_or((&text[1..], ""));
        let behind = behind.trim_start();
        let ends = behind.trim_matches([';', ',', '}', ' ']).is_empty()
            || behind.starts_with(['#', '/'])
            || behind.starts_with("always");
        return ends.then_some((value, true));
    }
    let text = text.split(" #").next().unwrap_or(text).trim_end();
    if all {
        return Some((text, false));
    }
    let text = text.trim_end_matches([',', ';']);
    (!text.contains([' ', '\t'])).then_some((text, false))
}

/// The password in a line of `.pgpass`.
fn pgpass(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split(':');
    let (host, port, database) = (fields.next()?, fields.next()?, fields.next()?);
    let (user, password) = (fields.next()?, fields.next()?);
    let is_one = fields.next().is_none()
        && (port == "*" || (!port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit())))
        && !host.is_empty()
        && !database.is_empty()
        && !user.is_empty()
        && !host.bytes().all(|b| b.is_ascii_digit())
        && !is_reference(password);
    is_one.then(|| line.len() - password.len()..line.len())
}
