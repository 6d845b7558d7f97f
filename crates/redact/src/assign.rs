//! Values that are given to names within a line: `TOKEN=x`, `--token x`, `"token": "x"`, `X-Token: x`, `<token>x</token>`.

use std::ops::Range;

use super::calls::{argument, declared, is_field_number, setter};
use super::names::{Meaning, Names, Style};
use super::shapes::{Shape, hides, is_login, is_reference, shape};
use super::text::Setting;

/// Where in a text values are given to names of credentials.
pub(super) fn assignments(text: &str, setting: Setting, names: &Names, found: &mut Vec<Range<usize>>) {
    let scan = Scan { text, setting, names };
    let mut behind = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if at < behind {
            continue;
        }
        let value = match byte {
            b'=' => scan.equals(at),
            b':' => scan.colon(at),
            b' ' => scan.blank(at),
            b'>' => scan.element(at),
            b',' => argument(text, at, setting, names),
            b'(' => setter(text, at, names),
            _ => None,
        };
        if let Some(mut value) = value.filter(|value| !value.is_empty()) {
            if value.len() >= LONGEST {
                value.end += word_end(&text[value.end..]);
            }
            behind = value.end;
            found.push(value);
        }
    }
}

/// As much of a value as is judged: one that is longer goes on to its end, and is read once.
const LONGEST: usize = 1024;

struct Scan<'a> {
    text: &'a str,
    setting: Setting,
    names: &'a Names,
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    /// `name=value`, `name = "value"`, `name := value`, `name ||= value`, `name => value`.
    fn equals(&self, at: usize) -> Option<Range<usize>> {
        let before = at.checked_sub(1).map_or(b' ', |at| self.byte(at));
        let mut next = self.byte(at + 1);
        if next == b'=' || matches!(before, b'=' | b'!' | b'<' | b'>' | b'~') {
            return None;
        }
        let operator = |b: &u8| matches!(b, b':' | b'|' | b'?' | b'+');
        let name_end =
            at - self.text.as_bytes()[..at].iter().rev().take(2).take_while(|b| operator(b)).count();
        let mut start = at + 1;
        if next == b'>' {
            start += 1;
            next = self.byte(start);
        }
        let mut name = name_before(self.text, name_end);
        if name == "string" {
            // `var password string = "x"`
            let of = name.as_ptr() as usize - self.text.as_ptr() as usize;
            name = name_before(self.text, of);
        }
        if matches!(next, b'"' | b'\'') && matches!(name, "name" | "key" | "property" | "Name" | "Key") {
            return self.attribute(start);
        }
        let mut meaning = self.names.meaning(name, Style::Variable);
        // Messages name Secrets so: `cannot fetch secret="shop-db"`.
        if self.setting == Setting::Prose && name.ends_with("ecret") {
            meaning = meaning.min(Meaning::Probable);
        }
        let user = matches!(
            name.trim_start_matches('-'),
            "user" | "u" | "proxy-user" | "userpwd" | "login" | "username"
        ) && (name.starts_with('-') || name == "userpwd");
        if meaning == Meaning::Nothing && !user {
            return None;
        }
        // In a shell, `A= b` gives nothing to A.
        if next == b' '
            && (before == b' ' || name_end < at || start > at + 1 || self.setting == Setting::Other)
        {
            start += self.text[start..].bytes().take_while(|b| *b == b' ').count();
        }
        let spaced = before == b' ' || name_end < at || next == b' ';
        let value = self.value(start, spaced);
        let text = &self.text[value.clone()];
        let hidden = hides(meaning, text) && !is_field_number(self.text, name, text);
        (hidden || (user && is_login(text))).then_some(value)
    }

    /// A value, also one between backticks where that is no command.
    fn value(&self, start: usize, spaced: bool) -> Range<usize> {
        template(self.text, start, spaced && self.setting != Setting::Command)
            .unwrap_or_else(|| value_at(self.text, start))
    }

    /// `<add key="Password" value="x"/>`
    fn attribute(&self, start: usize) -> Option<Range<usize>> {
        let named = value_at(self.text, start);
        if named.start == start {
            return None;
        }
        let meaning = self.names.meaning(&self.text[named.clone()], Style::Variable);
        if meaning == Meaning::Nothing {
            return None;
        }
        let rest = self.text.get(named.end + 1..)?;
        let rest = &rest[..rest.find(['>', '\n', '<']).unwrap_or(rest.len())];
        let value =
            ["value=", "Value=", "content="].iter().find_map(|name| Some(rest.find(name)? + name.len()))?;
        let value = value_at(self.text, named.end + 1 + value);
        hides(meaning, &self.text[value.clone()]).then_some(value)
    }

    /// `"name": "value"`, `Name: value`, `-H 'X-Name:value'`.
    fn colon(&self, at: usize) -> Option<Range<usize>> {
        let next = self.byte(at + 1);
        if matches!(next, b':' | b'/' | b'=' | b'\n') {
            return None;
        }
        let before = at.checked_sub(1).map_or(b' ', |at| self.byte(at));
        // A question mark is that of a type: `password?: string = "x"`.
        let name = name_before(self.text, at - usize::from(before == b'?'));
        if name.is_empty() {
            return None;
        }
        let meaning = self.names.meaning(name, Style::Member);
        if meaning == Meaning::Nothing {
            return None;
        }
        let start = at + 1 + self.text[at + 1..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if let Some(value) = declared(self.text, start) {
            let (text, meaning) = (&self.text[value.clone()], self.names.meaning(name, Style::Variable));
            let hidden = match self.setting {
                Setting::Prose => meaning >= Meaning::Probable && shape(text) > Shape::Ordinary,
                Setting::Command | Setting::Other => hides(meaning, text),
            };
            return hidden.then_some(value);
        }
        let value = self.value(start, true);
        let text = &self.text[value.clone()];
        let quoted = matches!(before, b'"' | b'\'') && value.start > start;
        let header =
            name.contains('-') && !name.starts_with('-') && name.contains(|c: char| c.is_ascii_uppercase());
        // `{ password: 'x' }`, `login(password: "x")`
        let start_of_name = name.as_ptr() as usize - self.text.as_ptr() as usize;
        let inline = self.setting == Setting::Other
            && value.start > start
            && self.text[..start_of_name].trim_end_matches([' ', '\n']).ends_with(['{', ',', '(']);
        let sure = quoted
            || inline
            || header
            || (self.setting == Setting::Command && next == b' ' && value.start > start);
        let suspicious = match (sure, meaning) {
            (true, _) => hides(meaning, text),
            (false, Meaning::Certain | Meaning::Probable) => {
                shape(text.trim_end_matches(['.', ',', ')', '}', ']'])) > Shape::Ordinary
            }
            (false, _) => hides(Meaning::Possible, text),
        };
        suspicious.then_some(value)
    }

    /// `--name value`, and in SQL `PASSWORD 'value'`.
    fn blank(&self, at: usize) -> Option<Range<usize>> {
        if at == 0 || !self.byte(at - 1).is_ascii_alphanumeric() {
            return None;
        }
        let next = self.byte(at + 1);
        let name = name_before(self.text, at);
        let flag = name.starts_with('-');
        let quoted = matches!(next, b'\'' | b'"');
        if !flag && !quoted {
            return None;
        }
        if !flag {
            let literal = next == b'\''
                && (name.eq_ignore_ascii_case("password")
                    || (name.eq_ignore_ascii_case("by")
                        && name_before(self.text, at - 2).eq_ignore_ascii_case("identified")));
            let value = value_at(self.text, at + 1);
            return (literal && !is_reference(&self.text[value.clone()])).then_some(value);
        }
        let user = matches!(name, "-u" | "--user" | "--proxy-user" | "-U" | "--userpwd" | "--login");
        let meaning = self.names.meaning(name, Style::Variable);
        if meaning == Meaning::Nothing && !user {
            return None;
        }
        let value = value_at(self.text, at + 1);
        let text = &self.text[value.clone()];
        if text.starts_with('-') {
            return None;
        }
        let named = if self.setting == Setting::Command {
            hides(meaning, text)
        } else {
            meaning > Meaning::Nothing && shape(text) > Shape::Ordinary
        };
        (named || (user && is_login(text))).then_some(value)
    }

    /// `<name>value</name>`, and `<name>token</name><value>x</value>`.
    fn element(&self, at: usize) -> Option<Range<usize>> {
        let name = name_before(self.text, at);
        let open = at.checked_sub(name.len() + 1)?;
        if name.is_empty() || self.byte(open) != b'<' {
            return None;
        }
        let content = |at: usize| {
            let rest = &self.text[at..];
            let content = &rest[..rest.find('<').filter(|end| *end < 4096)?];
            let start = at + content.len() - content.trim_start().len();
            Some(start..start + content.trim().len())
        };
        let mut value = content(at + 1)?;
        let mut meaning = self.names.meaning(name, Style::Member);
        if matches!(name, "name" | "key") {
            meaning = self.names.meaning(&self.text[value.clone()], Style::Variable);
            if meaning == Meaning::Nothing {
                return None;
            }
            let rest = &self.text[value.end..];
            let rest = &rest[..rest.char_indices().nth(120).map_or(rest.len(), |(end, _)| end)];
            let found = rest.find("<value>").or_else(|| rest.find("<string>"))?;
            let begin = value.end + found + rest[found..].find('>')? + 1;
            value = content(begin)?;
        }
        hides(meaning, &self.text[value.clone()]).then_some(value)
    }
}

/// The name that ends here, without quotes and blanks behind it.
pub(super) fn name_before(text: &str, end: usize) -> &str {
    let bytes = text.as_bytes();
    let mut end = end;
    let floor = end.saturating_sub(8);
    while end > floor && matches!(bytes[end - 1], b' ' | b'\t' | b'"' | b'\'' | b']') {
        end -= 1;
    }
    let mut start = end;
    let floor = end.saturating_sub(128);
    while start > floor
        && (bytes[start - 1].is_ascii_alphanumeric() || matches!(bytes[start - 1], b'_' | b'-' | b'.'))
    {
        start -= 1;
    }
    text.get(start..end).unwrap_or_default()
}

/// A value: what stands between quotes, or up to the next blank or end of a command.
pub(super) fn value_at(text: &str, start: usize) -> Range<usize> {
    let mut end = text.len().min(start + LONGEST);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let rest = text.get(start..end).unwrap_or_default();
    // What a command prints is no value, and the command is read by itself.
    if rest.starts_with("$(") && rest.find([')', ' ', '\n']).is_none_or(|end| rest.as_bytes()[end] != b')') {
        return start..start;
    }
    let escaped = rest.starts_with("\\\"") || rest.starts_with("\\'");
    if escaped {
        let end = rest[2..].find('\\').map_or(rest.len(), |at| at + 2);
        return start + 2..start + end;
    }
    if let Some(long) = ["\"\"\"", "'''"].iter().find(|quotes| rest.starts_with(**quotes)) {
        return start + 3..start + 3 + rest[3..].find(long).unwrap_or(rest.len() - 3);
    }
    if let Some(quote) = rest.bytes().next().filter(|c| matches!(c, b'"' | b'\'')) {
        let bytes = rest.as_bytes();
        let mut at = 1;
        while at < bytes.len() && bytes[at] != quote {
            at += if bytes[at] == b'\\' && quote == b'"' { 2 } else { 1 };
        }
        let mut end = at.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        return start + 1..start + end;
    }
    start..start + word_end(rest)
}

/// Where a word of a command ends.
fn word_end(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|' | '&' | '<' | '>'));
    end.unwrap_or(text.len())
}

/// What stands between backticks here. In a shell that is a command: `sure` where it cannot be one.
pub(super) fn template(text: &str, start: usize, sure: bool) -> Option<Range<usize>> {
    let rest = text.get(start..)?.strip_prefix('`')?;
    let length = rest.bytes().take(LONGEST).position(|b| b == b'`')?;
    let inside = &rest[..length];
    let is_text = sure || (!inside.contains(char::is_whitespace) && shape(inside) > Shape::Ordinary);
    is_text.then_some(start + 1..start + 1 + length)
}

/// What stands between quotes here, and what is behind them.
pub(super) fn quoted(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let quotes = match bytes.get(start)? {
        b'"' | b'\'' | b'`' => 1,
        b'\\' if matches!(bytes.get(start + 1), Some(b'"' | b'\'')) => 2,
        _ => return None,
    };
    let value = template(text, start, true).unwrap_or_else(|| value_at(text, start));
    // Of three quotes as of one.
    let quotes = quotes.max(value.start - start);
    let behind = (value.end + quotes).min(text.len());
    text.is_char_boundary(behind).then_some((value, behind))
}
