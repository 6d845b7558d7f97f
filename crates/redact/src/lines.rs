//! Files within a text, read line by line: YAML with its blocks, HCL with its here documents, INI, properties, `.env`, and
//! what has no separator (see [`statements`](super::statements)).

use std::ops::Range;

use super::assign::{name_before, template};
use super::calls::declared;
use super::names::{Meaning, Names, Style, is_harmless_name, is_naming, is_plural, is_value_name};
use super::shapes::{Shape, hides, is_reference, shape};
use super::statements::{Statements, has_users};
use super::text::Setting;

/// What the lines below a name hold.
#[derive(Clone, Copy)]
struct Block<'a> {
    /// How far its name is indented.
    indent: usize,
    meaning: Meaning,
    /// A text that goes over several lines, as after `|`.
    is_text: bool,
    /// Whether all members are credentials, as those of `tokens:` and of a Secret's `data:`.
    all: bool,
    /// The line that ends a here document.
    end: Option<&'a str>,
}

struct Lines<'a> {
    text: &'a str,
    setting: Setting,
    names: &'a Names,
    statements: Statements<'a>,
    /// Whether there is more than one line.
    several: bool,
    /// Whether somewhere in these lines a Secret is written.
    has_secret: bool,
    block: Option<Block<'a>>,
    /// The meaning that `name:` gave to the `value:` beside it, and how far that is indented.
    named: Option<(usize, Meaning)>,
}

/// Where in a text lines give values to names of credentials.
pub(super) fn settings(text: &str, setting: Setting, names: &Names, found: &mut Vec<Range<usize>>) {
    let several = text.contains('\n');
    let has_secret = several && (text.contains("kind: Secret") || text.contains("kind: \"Secret\""));
    let has_users = text.contains('"') && has_users(text);
    let statements = Statements { setting, names, several, has_users };
    let mut lines = Lines { text, setting, names, statements, several, has_secret, block: None, named: None };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.line(start, line.trim_end_matches(['\n', '\r']), found);
        start += line.len();
    }
}

impl<'a> Lines<'a> {
    fn line(&mut self, start: usize, line: &str, found: &mut Vec<Range<usize>>) {
        let trimmed = line.trim_start();
        if trimmed.is_empty() {
            return;
        }
        let indent = line.len() - trimmed.len();
        let dash = trimmed.starts_with("- ");
        if let Some(block) = self.block {
            if let Some(end) = block.end {
                if trimmed.trim_end_matches([' ', '\t', ';', ',', ')']) == end {
                    self.block = None;
                } else {
                    self.in_block(block, start + indent, trimmed, found);
                }
                return;
            }
            if indent > block.indent || (indent == block.indent && dash && !block.is_text) {
                if self.in_block(block, start + indent, trimmed, found) {
                    return;
                }
            } else {
                self.block = None;
            }
        }
        let dashes = trimmed.len() - trimmed.trim_start_matches(['-', ' ']).len();
        let (indent, content) = if dash { (indent + dashes, &trimmed[dashes..]) } else { (indent, trimmed) };
        let at = start + line.len() - content.len();
        if dash {
            self.named = None;
        }
        if let Some((end, meaning)) = self.here_document(at, content) {
            self.block = Some(Block { indent, meaning, is_text: true, all: true, end: Some(end) });
        } else if let Some(value) = self.setting_in(at, indent, content) {
            found.push(value);
        } else {
            self.statements.line(at, content, found);
        }
    }

    /// A line below a credential's name; false where it has to be read like any other.
    fn in_block(&mut self, block: Block<'a>, at: usize, line: &str, found: &mut Vec<Range<usize>>) -> bool {
        if block.is_text {
            if !is_reference(line) {
                found.push(at..at + line.trim_end().len());
            }
            return true;
        }
        let content = line.strip_prefix("- ").unwrap_or(line);
        let at = at + line.len() - content.len();
        let split = content.split_once(": ").or_else(|| content.strip_suffix(':').map(|name| (name, "")));
        let Some((name, value)) = split.filter(|(name, _)| !name.contains(' ')) else {
            let item = inner(content);
            // A word below a name is an item, or a text that goes on.
            if hides(block.meaning, &content[item.clone()]) && (line.len() > content.len() || block.all) {
                found.push(at + item.start..at + item.end);
            }
            return true;
        };
        let name = name.trim_matches(['"', '\'']);
        let is_own = self.names.meaning(name, Style::Member) > Meaning::Nothing;
        if is_own || value.is_empty() || !(is_value_name(name) || (block.all && !is_harmless_name(name))) {
            return false;
        }
        let start = at + content.len() - value.len();
        let value_range = inner(value);
        if hides(block.meaning, &value[value_range.clone()]) {
            found.push(start + value_range.start..start + value_range.end);
        }
        if matches!(value.trim(), "|" | ">" | "|-" | ">-") {
            let indent = at - (self.text[..at].rfind('\n').map_or(0, |end| end + 1));
            self.block = Some(Block { indent, is_text: true, ..block });
        }
        true
    }

    /// The word that ends a credential's here document which begins on this line: `<<EOF`, `<<-EOF`, `<<~EOF`, `<<<'EOF'`.
    fn here_document(&self, at: usize, line: &str) -> Option<(&'a str, Meaning)> {
        let (before, behind) = line.rsplit_once("<<")?;
        let word = behind.trim_start_matches(['-', '~', '"', '\'']);
        let is_word = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
        let length = word.bytes().take_while(is_word).count();
        if length == 0 || word[length..].starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        let before = before.trim_end_matches(['<', ' ']);
        let style = if before.ends_with(':') { Style::Member } else { Style::Variable };
        let name = name_before(before, before.strip_suffix([':', '='])?.len());
        let meaning = self.names.meaning(name, style);
        let start = at + line.len() - word.len();
        (meaning > Meaning::Nothing).then_some((self.text.get(start..start + length)?, meaning))
    }

    /// `name: value`, `name = value`, `export NAME=value`.
    fn setting_in(&mut self, at: usize, indent: usize, line: &str) -> Option<Range<usize>> {
        let separator = line.bytes().take(160).position(|b| matches!(b, b':' | b'='))?;
        let (before, rest) = (&line[..separator], line.get(separator + 1..)?);
        if rest.starts_with(['/', '=', ':']) {
            return None;
        }
        let commented = before.trim_start_matches(['#', ';', '/', ' ']);
        let name = commented.trim_matches(['"', '\'', ' ', '\t']);
        let name = [
            "export ",
            "set ",
            "setenv ",
            "env ",
            "ENV ",
            "ARG ",
            "SET ",
            "local ",
            "readonly ",
            "declare -x ",
            "const ",
            "let ",
            "var ",
        ]
        .iter()
        .find_map(|word| name.strip_prefix(word))
        .unwrap_or(name)
        .trim_start();
        if name.is_empty()
            || name.len() > 96
            || !name.bytes().all(|b| {
                b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'$' | b'[' | b']')
            })
        {
            return None;
        }
        let yaml = line.as_bytes()[separator] == b':';
        let before_value = separator + 1 + rest.len() - rest.trim_start().len();
        // Between a name and its value stands a type, and both are found by themselves.
        if yaml && declared(line, before_value).is_some() {
            return None;
        }
        let start = at + before_value;
        let spaced = yaml || before.ends_with(' ') || rest.starts_with(' ');
        let sure = spaced && self.setting != Setting::Command;
        let range = template(rest.trim(), 0, sure).unwrap_or_else(|| inner(rest.trim()));
        let value = rest.trim().get(range.clone())?;
        if yaml && self.several {
            if let Some((of, meaning)) = self.named
                && of == indent
                && is_value_name(name)
            {
                self.named = None;
                if matches!(value, "|" | ">" | "|-" | ">-") {
                    self.block = Some(Block { indent, meaning, is_text: true, all: true, end: None });
                    return None;
                }
                return hides(meaning, value).then_some(start + range.start..start + range.end);
            }
            if is_naming(name) {
                let meaning = self.names.meaning(value, Style::Member);
                self.named = (meaning > Meaning::Nothing).then_some((indent, meaning));
                return None;
            }
            if matches!(name, "data" | "stringData")
                && value.is_empty()
                && (self.has_secret || name == "stringData")
            {
                let meaning = Meaning::Certain;
                self.block = Some(Block { indent, meaning, is_text: false, all: true, end: None });
                return None;
            }
        }
        let meaning = self.names.meaning(name, if yaml { Style::Member } else { Style::Variable });
        if meaning == Meaning::Nothing {
            return None;
        }
        if yaml && self.several && before.len() == commented.len() {
            let is_text = matches!(value.as_bytes().first(), Some(b'|' | b'>')) && value.len() <= 4;
            if is_text || value.is_empty() || value.starts_with(['&', '!']) {
                self.block = Some(Block { indent, meaning, is_text, all: is_plural(name), end: None });
                return None;
            }
        }
        let whole = start + range.start..start + range.end;
        if value.starts_with(['[', '{']) {
            let inside = value
                .split([',', '[', ']', '{', '}'])
                .map(|item| item.rsplit(": ").next().unwrap_or(item).trim());
            let mut inside = inside.map(|item| item.trim_matches(['"', '\'']));
            return (meaning >= Meaning::Probable && inside.any(|item| shape(item) > Shape::Ordinary))
                .then_some(whole);
        }
        // A sentence is no setting.
        let unsure = self.setting == Setting::Prose || !self.several || before.len() != commented.len();
        let hidden = if unsure && range.start == 0 {
            meaning >= Meaning::Probable && shape(value) > Shape::Ordinary || hides(Meaning::Possible, value)
        } else {
            hides(meaning, value)
        };
        hidden.then_some(whole)
    }
}

/// A value without what surrounds it: quotes, a comment, or what ends a statement.
fn inner(text: &str) -> Range<usize> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return 1..text[1..].find(quote).map_or(text.len(), |end| end + 1);
    }
    let text = text.split(" #").next().unwrap_or(text);
    0..text.trim_end().trim_end_matches([',', ';']).len()
}
