//! Variables in values: `$VAR`, `${VAR}`, and `$$` for a dollar sign.

use std::collections::{BTreeSet, HashMap};

use super::variables::Variables;

/// The longest text that comes out, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The most bytes that are written on the way, over all variables.
const MAX_WORK: usize = 1024 * 1024;

/// How many variables may be in one another.
const MAX_DEPTH: usize = 100;

/// Why a value cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A variable contains itself; from the first to where it comes back.
    #[error("the variables refer to each other in a cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// What comes out is longer than 64 KiB, or 1 MiB was written on the way.
    #[error("the expanded value is too long")]
    TooLong,
    /// More than 100 variables are in one another.
    #[error("variables are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// Puts the values of variables into a text, and into these values too.
///
/// Variables that are not set become nothing, as in GitLab's `ExpandVariables`; a name begins with a letter or `_`, and a
/// dollar sign before anything else means itself.
///
/// # Errors
/// When variables contain each other, or the result has no measure.
pub fn expand(text: &str, variables: &Variables) -> Result<String, ExpandError> {
    let mut expander = Expander { variables, done: HashMap::new(), open: Vec::new(), written: 0 };
    let mut out = String::new();
    expander.write(text, &mut out)?;
    Ok(out)
}

/// The names of all variables that a text asks for, by itself or in the values of others.
pub(super) fn names<'a>(text: &'a str, variables: &'a Variables) -> BTreeSet<&'a str> {
    let (mut found, mut unread) = (BTreeSet::new(), vec![text]);
    while let Some(text) = unread.pop() {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('$') {
            rest = match reference(after) {
                Some((name, after)) => {
                    if found.insert(name) {
                        unread.extend(variables.get(name).map(String::as_str));
                    }
                    after
                }
                None => after.strip_prefix('$').unwrap_or(after),
            };
        }
    }
    found
}

struct Expander<'a> {
    variables: &'a Variables,
    /// Values that were expanded before.
    done: HashMap<&'a str, String>,
    /// Variables that are being expanded, each inside of the one before.
    open: Vec<&'a str>,
    written: usize,
}

impl<'a> Expander<'a> {
    fn write(&mut self, text: &str, out: &mut String) -> Result<(), ExpandError> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            self.push(before, out)?;
            rest = match reference(after) {
                Some((name, after)) => {
                    self.value(name, out)?;
                    after
                }
                None => {
                    self.push("$", out)?;
                    after.strip_prefix('$').unwrap_or(after)
                }
            };
        }
        self.push(rest, out)
    }

    fn push(&mut self, text: &str, out: &mut String) -> Result<(), ExpandError> {
        self.written += text.len();
        if out.len() + text.len() > MAX_BYTES || self.written > MAX_WORK {
            return Err(ExpandError::TooLong);
        }
        out.push_str(text);
        Ok(())
    }

    /// Writes the value of a variable.
    fn value(&mut self, name: &str, out: &mut String) -> Result<(), ExpandError> {
        let Some((name, value)) = self.variables.get_key_value(name) else { return Ok(()) };
        let expanded = match self.done.remove(name.as_str()) {
            Some(expanded) => expanded,
            None => self.expanded(name, value)?,
        };
        self.push(&expanded, out)?;
        self.done.insert(name, expanded);
        Ok(())
    }

    fn expanded(&mut self, name: &'a str, value: &str) -> Result<String, ExpandError> {
        if let Some(first) = self.open.iter().position(|open| *open == name) {
            let around = self.open.iter().skip(first).chain([&name]);
            return Err(ExpandError::Cycle(around.map(|name| (*name).to_owned()).collect()));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(ExpandError::TooDeep);
        }
        self.open.push(name);
        let mut out = String::new();
        self.write(value, &mut out)?;
        self.open.pop();
        Ok(out)
    }
}

/// The name that follows a dollar sign, and what follows the name.
fn reference(after: &str) -> Option<(&str, &str)> {
    match after.strip_prefix('{') {
        Some(inside) => {
            let (name, rest) = inside.split_once('}')?;
            (!name.is_empty() && name_length(name) == name.len()).then_some((name, rest))
        }
        None => Some(after.split_at(name_length(after))).filter(|(name, _)| !name.is_empty()),
    }
}

/// How many bytes of a text are a name.
fn name_length(text: &str) -> usize {
    let length = text.bytes().take_while(|b| *b == b'_' || b.is_ascii_alphanumeric()).count();
    if text.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { length }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_are_replaced_and_dollar_signs_kept_where_they_name_nothing() {
        let known =
            variables(&[("A", "x"), ("AB", "y"), ("B", "<$A>"), ("D", "$$A"), ("EMPTY", ""), ("_1", "u")]);
        for (text, expected) in [
            ("plain", "plain"),
            ("$A", "x"),
            ("$AB", "y"),
            ("${A}B", "xB"),
            ("$A-$AB", "x-y"),
            ("$B$B", "<x><x>"),
            ("$$A", "$A"),
            ("$D", "$A"),
            ("$$$A", "$x"),
            ("[$UNSET][${UNSET}][$EMPTY]", "[][][]"),
            ("$", "$"),
            ("a$ b", "a$ b"),
            ("$1", "$1"),
            ("$_1", "u"),
            ("${A", "${A"),
            ("${}", "${}"),
            ("${A B}", "${A B}"),
            ("%A%", "%A%"),
            ("$Aé", "xé"),
        ] {
            assert_eq!(expand(text, &known).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_cycle_is_named_from_where_it_begins() {
        let known = variables(&[("IN", "$A"), ("A", "${B}"), ("B", "-$C"), ("C", "$A"), ("SELF", "$SELF:x")]);
        let cycle = |names: &[&str]| Err(ExpandError::Cycle(names.iter().map(|n| (*n).to_owned()).collect()));
        assert_eq!(expand("$IN", &known), cycle(&["A", "B", "C", "A"]));
        assert_eq!(expand("$SELF", &known), cycle(&["SELF", "SELF"]));
        assert_eq!(
            expand("$A", &known).map_err(|e| e.to_string()),
            Err("the variables refer to each other in a cycle: A -> B -> C -> A".into())
        );
        assert_eq!(expand("$$SELF", &known).as_deref(), Ok("$SELF"));
    }

    #[test]
    fn what_grows_without_measure_is_refused() {
        let doubled: Variables =
            (0..64).map(|n| (format!("V{n}"), format!("$V{}$V{}", n + 1, n + 1))).collect();
        let mut laughs = doubled;
        laughs.insert("V64".into(), "ha".into());
        assert_eq!(expand("$V0", &laughs), Err(ExpandError::TooLong));
        let chain: Variables = (0..10_000).map(|n| (format!("V{n}"), format!("$V{}", n + 1))).collect();
        assert_eq!(expand("$V0", &chain), Err(ExpandError::TooDeep));
        assert_eq!(expand(&"x".repeat(MAX_BYTES + 1), &Variables::new()), Err(ExpandError::TooLong));
        assert!(expand(&"x".repeat(MAX_BYTES), &Variables::new()).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[$A-C{}a ]{0,40}", a in "[$A-C{}]{0,8}", b in "[$A-C{}]{0,8}", c in "[$A-C{}]{0,8}") {
            let known = variables(&[("A", &a), ("B", &b), ("C", &c)]);
            prop_assert_eq!(expand(&text, &known), expand(&text, &known));
        }

        #[test]
        fn a_text_without_dollar_signs_stays(text in "[^$]{0,80}") {
            prop_assert_eq!(expand(&text, &Variables::new()), Ok(text));
        }
    }
}
