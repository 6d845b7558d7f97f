//! What the name of a value announces: one list of words for variables, flags, members, settings, headers and
//! parameters.
//!
//! A name is split into words by case and punctuation. The last word says what the value is, as in any compound: a
//! `token_issuer` is an issuer, a `SIGNING_KEY` a key. The words before it say how certain that is.

use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// What a value is, judged by its name; in the order of certainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    /// Nothing that has to be hidden.
    Nothing,
    /// A credential only where the value looks like one.
    Possible,
    /// A credential unless the value plainly is something else.
    Probable,
    /// A credential, unless the value only refers to one.
    Certain,
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A variable, a flag, a parameter: the value is what is meant.
    Variable,
    /// A member of an object, whose value refers to another object as often as not: `tlsSecret: shop-tls`.
    Member,
}

/// Names of which the operators know better.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    hide: Vec<Vec<String>>,
    keep: Vec<Vec<String>>,
}

/// The lists of words, each word with the lists that it is in.
struct Vocabulary {
    lists: HashMap<&'static str, u16>,
    /// Ends of names that are written in one word: `ROOTPW`, `USERPASS`, `secretkey`.
    endings: Vec<&'static str>,
    /// In a name that matters one of these stands.
    roots: Option<AhoCorasick>,
}

/// A list of words, by its place in [`LISTS`].
#[derive(Clone, Copy)]
enum List {
    Credential,
    Likely,
    Ordinary,
    Harmless,
    Modifier,
    StrongKey,
    OpenKey,
    OpenToken,
    NamedSecret,
    OwnSecret,
}

/// What the lists are called in the file.
const LISTS: [&str; 10] = [
    "credential",
    "likely",
    "ordinary",
    "harmless",
    "modifier",
    "strong-key",
    "open-key",
    "open-token",
    "named-secret",
    "own-secret",
];

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let (mut lists, mut endings, mut roots) = (HashMap::<&str, u16>::new(), Vec::new(), Vec::new());
    let mut list = "";
    for line in include_str!("words.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            list = name;
            continue;
        }
        for word in line.split_whitespace() {
            match LISTS.iter().position(|name| *name == list) {
                Some(bit) => *lists.entry(word).or_default() |= 1 << bit,
                None if list == "ending" => endings.push(word),
                None => roots.push(word),
            }
        }
    }
    // Made of words of ours, so that it is there in every test or in none; without it the corpus would not be found.
    let roots = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(roots)
        .ok();
    Vocabulary { lists, endings, roots }
});

fn is(word: &str, list: List) -> bool {
    VOCABULARY.lists.get(word).is_some_and(|lists| lists & (1 << list as u16) != 0)
}

/// More words than any name has that is looked at.
const MAX_WORDS: usize = 12;

/// A longer text is no name; its end is looked at.
const MAX_NAME: usize = 128;

/// What kind of noun a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noun {
    Credential,
    Likely,
    Key,
    Harmless,
    Other,
}

fn noun(word: &str) -> Noun {
    if matches!(word, "key" | "keys") {
        return Noun::Key;
    }
    if is(word, List::Harmless) {
        return Noun::Harmless;
    }
    if is(word, List::Credential) {
        return Noun::Credential;
    }
    if is(word, List::Likely) {
        return Noun::Likely;
    }
    if is(word, List::Ordinary) {
        return Noun::Other;
    }
    if VOCABULARY.endings.iter().any(|ending| word.ends_with(ending)) {
        return Noun::Credential;
    }
    if let Some(rest) = word.strip_prefix("password").or_else(|| word.strip_prefix("passwd")) {
        return if is(rest, List::Harmless) { Noun::Harmless } else { Noun::Credential };
    }
    Noun::Other
}

/// A name in lower case, with its words.
struct Words {
    letters: [u8; MAX_NAME],
    ends: [(u8, u8); MAX_WORDS],
    count: usize,
}

impl Words {
    fn of(name: &str) -> Self {
        let mut words = Words { letters: [0; MAX_NAME], ends: [(0, 0); MAX_WORDS], count: 0 };
        let bytes = name.as_bytes();
        let bytes = &bytes[bytes.len().saturating_sub(MAX_NAME)..];
        let mut start = None;
        for (at, &byte) in bytes.iter().enumerate() {
            let before = at.checked_sub(1).map_or(b' ', |at| bytes[at]);
            let after = bytes.get(at + 1).copied().unwrap_or(b' ');
            let begins = byte.is_ascii_uppercase()
                && (before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
            if let Some(from) = start.filter(|_| begins || !byte.is_ascii_alphanumeric()) {
                words.push(from, at);
                start = None;
            }
            if byte.is_ascii_alphanumeric() {
                words.letters[at] = byte.to_ascii_lowercase();
                start.get_or_insert(at);
            }
        }
        if let Some(from) = start {
            words.push(from, bytes.len());
        }
        words
    }

    /// Takes a word without the number at its end; of too many the first are forgotten.
    fn push(&mut self, from: usize, to: usize) {
        let digits = self.letters[from..to].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let to = if to - from > digits + 1 { to - digits } else { to };
        if self.letters[from..to].iter().all(u8::is_ascii_digit) {
            return;
        }
        if self.count == MAX_WORDS {
            self.ends.rotate_left(1);
            self.count -= 1;
        }
        // Both are below MAX_NAME.
        self.ends[self.count] = (from as u8, to as u8);
        self.count += 1;
    }

    fn get(&self, at: usize) -> &str {
        let (from, to) = self.ends[..self.count].get(at).copied().unwrap_or_default();
        std::str::from_utf8(&self.letters[usize::from(from)..usize::from(to)]).unwrap_or_default()
    }

    /// Whether these are the last words.
    fn end_with(&self, words: &[String]) -> bool {
        words.len() <= self.count
            && words.iter().rev().enumerate().all(|(n, word)| self.get(self.count - 1 - n) == word)
    }
}

impl Names {
    /// Those of operators who know no better.
    pub(super) const NONE: Names = Names { hide: Vec::new(), keep: Vec::new() };

    pub(super) fn new(hide: &[String], keep: &[String]) -> Self {
        let split = |name: &String| {
            let words = Words::of(name);
            (0..words.count).map(|at| words.get(at).to_owned()).collect::<Vec<_>>()
        };
        let split = |names: &[String]| names.iter().map(split).filter(|words| !words.is_empty()).collect();
        Names { hide: split(hide), keep: split(keep) }
    }

    /// What a value of this name is.
    pub(super) fn meaning(&self, name: &str, style: Style) -> Meaning {
        // An annotation's name is what follows its domain; a template's checksum of a Secret is none.
        let name = match name.rsplit_once('/') {
            Some((domain, _)) if domain.ends_with("checksum") || domain.ends_with("hash") => "",
            Some((_, name)) => name,
            None => name,
        };
        let own = !self.hide.is_empty() || !self.keep.is_empty();
        if !own && !VOCABULARY.roots.as_ref().is_none_or(|roots| roots.is_match(name)) {
            return Meaning::Nothing;
        }
        let words = Words::of(name);
        if own {
            if self.keep.iter().any(|keep| words.end_with(keep)) {
                return Meaning::Nothing;
            }
            if self.hide.iter().any(|hide| words.end_with(hide)) {
                return Meaning::Certain;
            }
        }
        let screaming =
            name.bytes().any(|b| b.is_ascii_uppercase()) && !name.bytes().any(|b| b.is_ascii_lowercase());
        of_words(&words, if screaming { Style::Variable } else { style }, name.starts_with('-'))
    }
}

fn of_words(words: &Words, style: Style, is_flag: bool) -> Meaning {
    let member = style == Style::Member;
    let mut head = words.count;
    while head > 1 && is(words.get(head - 1), List::Modifier) {
        head -= 1;
    }
    let Some(last) = head.checked_sub(1) else { return Meaning::Nothing };
    let before = |n: usize| last.checked_sub(n).map_or("", |at| words.get(at));
    let word = words.get(last);
    match (before(2), before(1), word) {
        ("access", "key", "id") | (_, "secret", "id") | (_, "pass", "word" | "phrase" | "code") => {
            return Meaning::Certain;
        }
        (_, "webhook" | "hook", "url" | "uri" | "endpoint") => return Meaning::Possible,
        _ => {}
    }
    match noun(word) {
        Noun::Harmless => Meaning::Nothing,
        Noun::Credential => of_credential(word, before(1), member, is_flag && last == 0),
        Noun::Likely
            if matches!(word, "secrets" | "cookie" | "session" | "license" | "licence" | "nonce") =>
        {
            Meaning::Possible
        }
        Noun::Likely if member && matches!(word, "auth" | "pat" | "login" | "hook" | "authentication") => {
            Meaning::Possible
        }
        Noun::Likely => Meaning::Probable,
        Noun::Key => of_key(words, last, member),
        Noun::Other => {
            // `connection string` has no string behind it any more, as `string` is a modifier.
            if matches!(word, "connection" | "conn") && matches!(words.get(head), "string" | "str") {
                return Meaning::Probable;
            }
            let announced = (0..last).any(|at| match noun(words.get(at)) {
                Noun::Credential => !is(words.get(at.saturating_sub(1)), List::OpenToken),
                Noun::Key => at > 0 && matches!(words.get(at - 1), "api" | "secret" | "access" | "private"),
                _ => false,
            });
            match (announced, member) {
                (false, _) => Meaning::Nothing,
                (true, true) => Meaning::Possible,
                (true, false) => Meaning::Probable,
            }
        }
    }
}

fn of_credential(word: &str, before: &str, member: bool, bare_flag: bool) -> Meaning {
    match word {
        "token" | "tokens" if is(before, List::OpenToken) => Meaning::Nothing,
        "tokens" => Meaning::Probable,
        "secret" if bare_flag => Meaning::Probable,
        "secret" if is(before, List::NamedSecret) => Meaning::Possible,
        "secret" if member && is(before, List::OwnSecret) => Meaning::Certain,
        "secret" | "credential" | "credentials" | "cred" | "creds" | "pin" | "otp" | "totp" | "mnemonic"
            if member =>
        {
            Meaning::Probable
        }
        // `nginx.ingress.kubernetes.io/auth-tls-secret` and its like name Secrets.
        _ if member && word.ends_with("secret") && word != "secret" => Meaning::Probable,
        _ if member && word.ends_with("key") && matches!(word, "secretkey" | "accesskey") => {
            Meaning::Probable
        }
        _ => Meaning::Certain,
    }
}

fn of_key(words: &Words, last: usize, member: bool) -> Meaning {
    let Some(kind) = last.checked_sub(1).map(|at| words.get(at)) else {
        return if member { Meaning::Possible } else { Meaning::Probable };
    };
    // PagerDuty calls so what lets everybody send, and queues what says where to.
    if kind == "routing" {
        return Meaning::Possible;
    }
    if is(kind, List::OpenKey) {
        return Meaning::Nothing;
    }
    if is(kind, List::StrongKey) {
        let own = matches!(kind, "api" | "private" | "encryption" | "signing")
            || (kind == "access" && last > 1 && words.get(last - 2) == "secret")
            || (member && words.count > last + 1);
        return if !member || own { Meaning::Certain } else { Meaning::Probable };
    }
    // A `passwordKey` is the key under which a Secret has the password.
    if member { Meaning::Possible } else { Meaning::Probable }
}

/// Whether a name is one word, and that a credential's.
pub(super) fn is_credential_word(name: &str) -> bool {
    let words = Words::of(name);
    words.count == 1 && is(words.get(0), List::Credential)
}

/// Names under which the value of something stands that is named above them.
pub(super) fn is_value_name(name: &str) -> bool {
    const VALUES: [&str; 18] = [
        "value",
        "plain",
        "plaintext",
        "literal",
        "content",
        "contents",
        "data",
        "raw",
        "current",
        "previous",
        "inline",
        "text",
        "stringvalue",
        "default",
        "defaultvalue",
        "parametervalue",
        "val",
        "string",
    ];
    name.len() <= 16 && VALUES.iter().any(|value| value.eq_ignore_ascii_case(name))
}

/// Names under which the name of something stands that has its value beside it.
pub(super) fn is_naming(name: &str) -> bool {
    const NAMING: [&str; 9] = [
        "name",
        "key",
        "parametername",
        "parameterkey",
        "header",
        "headername",
        "variable",
        "varname",
        "setting",
    ];
    name.len() <= 16 && NAMING.iter().any(|naming| naming.eq_ignore_ascii_case(name))
}

/// Whether a name ends with a noun of what is harmless.
pub(super) fn is_harmless_name(name: &str) -> bool {
    let words = Words::of(name);
    let last = words.count.checked_sub(1).map_or("", |last| words.get(last));
    matches!(
        last,
        "key" | "property" | "description" | "title" | "example" | "items" | "properties" | "pattern"
    ) || noun(last) == Noun::Harmless
}

/// Whether what stands under this name refers to something: `secretKeyRef`, `remoteRef`, `matchExpressions`.
pub(super) fn is_reference_name(name: &str) -> bool {
    let words = Words::of(name);
    let last = words.count.checked_sub(1).map_or("", |last| words.get(last));
    matches!(
        last,
        "ref" | "refs" | "reference" | "selector" | "from" | "items" | "tolerations" | "expressions"
    )
}

/// Whether several credentials stand under this name.
pub(super) fn is_plural(name: &str) -> bool {
    let last = name.rsplit(['.', '/', '_', '-']).next().unwrap_or(name);
    last.ends_with('s') && !last.ends_with("pass") && !last.ends_with("Pass")
}
