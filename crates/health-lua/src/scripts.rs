//! Sets of scripts: which there are, and which of them covers a kind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::glob::Glob;
use super::machine;
use super::script::Script;

/// Bytes that one script may have.
pub const SCRIPT_BYTES_MAX: usize = 256 << 10;
/// How many scripts a set may have.
pub const SCRIPTS_MAX: usize = 4096;

/// Scripts of one source: those for a kind, and those for all that match, in the order in which they are asked.
#[derive(Clone, Debug, Default)]
struct Layer {
    exact: BTreeMap<String, usize>,
    globs: Vec<(Glob, usize)>,
}

/// Lua scripts that judge the health of kinds, as Argo CD has them. Cheap to clone.
///
/// A script judges an object when its group and kind are the script's own; else, of those with wildcards, the
/// first that matches: of a folder in the order of their paths, as in Argo CD; of an `argocd-cm` the one that
/// says most letters outright, and of equals the first by name, where Argo CD takes any.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    set: Arc<Set>,
}

#[derive(Debug, Default)]
struct Set {
    scripts: Vec<Script>,
    layers: Vec<Layer>,
}

impl Scripts {
    /// One source's scripts, by their keys; each key is a group and kind or a pattern.
    pub(super) fn of_layer(
        exact: BTreeMap<String, Script>,
        globs: Vec<(Glob, Script)>,
    ) -> Result<Scripts, ScriptsError> {
        let mut layer = Layer::default();
        let mut scripts = Vec::with_capacity(exact.len() + globs.len());
        for (key, script) in exact {
            layer.exact.insert(key, scripts.len());
            scripts.push(script);
        }
        for (glob, script) in globs {
            layer.globs.push((glob, scripts.len()));
            scripts.push(script);
        }
        checked(&scripts)?;
        Ok(Scripts { set: Arc::new(Set { scripts, layers: vec![layer] }) })
    }

    /// These scripts, and those of `others` for what these do not cover.
    #[must_use]
    pub fn merge(&self, others: &Scripts) -> Scripts {
        let (own, other) = (&self.set, &others.set);
        let moved = |place: usize| place + own.scripts.len();
        let behind = other.layers.iter().map(|layer| Layer {
            exact: layer.exact.iter().map(|(key, place)| (key.clone(), moved(*place))).collect(),
            globs: layer.globs.iter().map(|(glob, place)| (glob.clone(), moved(*place))).collect(),
        });
        let layers = own.layers.iter().cloned().chain(behind).collect();
        let scripts = own.scripts.iter().chain(&other.scripts).cloned().collect();
        Scripts { set: Arc::new(Set { scripts, layers }) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.set.scripts.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.set.scripts.len()
    }

    /// Identifies the set: other scripts, other keys or another precedence, another digest. In which order the
    /// scripts of one source came does not matter.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut say = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for layer in &self.set.layers {
            let globs = layer.globs.iter().map(|(_, place)| place);
            let places = layer.exact.values().chain(globs);
            for script in places.filter_map(|place| self.get(*place)) {
                [&script.rule, &script.origin, &script.text].into_iter().for_each(|text| say(text));
            }
            say("");
        }
        *hasher.finalize().as_bytes()
    }

    /// The place of the script that covers a kind.
    pub(super) fn find(&self, group: &str, kind: &str) -> Option<usize> {
        let key = if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") };
        let in_layer = |layer: &Layer| {
            let glob = || layer.globs.iter().find(|(glob, _)| glob.matches(&key)).map(|(_, place)| *place);
            layer.exact.get(&key).copied().or_else(glob)
        };
        self.set.layers.iter().find_map(in_layer)
    }

    /// The script at a place.
    pub(super) fn get(&self, place: usize) -> Option<&Script> {
        self.set.scripts.get(place)
    }
}

/// Refuses what could only ever fail.
fn checked(scripts: &[Script]) -> Result<(), ScriptsError> {
    let mut mistakes: Vec<ScriptMistake> = Vec::new();
    if scripts.len() > SCRIPTS_MAX {
        mistakes.push(ScriptMistake {
            origin: "scripts".to_owned(),
            line: 0,
            message: format!("there are {}, more than {SCRIPTS_MAX}", scripts.len()),
            hint: "one script with wildcards can judge many kinds",
        });
    }
    // What is not used is not compiled either.
    for script in scripts.iter().take(SCRIPTS_MAX) {
        let at = |line, message, hint| ScriptMistake { origin: script.origin.clone(), line, message, hint };
        if script.text.len() > SCRIPT_BYTES_MAX {
            let message = format!("{} bytes, more than {SCRIPT_BYTES_MAX}", script.text.len());
            mistakes.push(at(0, message, "a health script is a page or two"));
        } else if let Some((line, message)) = machine::syntax_error(&script.text) {
            mistakes.push(at(
                line,
                message,
                "scripts are Lua 5.1 with `goto`; fix this line or remove the script",
            ));
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(ScriptsError { mistakes }) }
}

/// Why scripts cannot be used, with everything that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptsError {
    /// At least one, in the order of their names.
    pub mistakes: Vec<ScriptMistake>,
}

/// One mistake in a set of scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptMistake {
    /// The file or key.
    pub origin: String,
    /// Line within the script, from 1; zero when it is none of its lines.
    pub line: u64,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: &'static str,
}

impl ScriptsError {
    /// One mistake that is in no line.
    pub(super) fn one(origin: &str, message: impl fmt::Display, hint: &'static str) -> Self {
        let mistake =
            ScriptMistake { origin: origin.to_owned(), line: 0, message: message.to_string(), hint };
        ScriptsError { mistakes: vec![mistake] }
    }

    /// What to do about the first.
    pub fn hint(&self) -> Option<&'static str> {
        self.mistakes.first().map(|mistake| mistake.hint)
    }
}

impl fmt::Display for ScriptMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.origin, self.message),
            line => write!(f, "{}:{line}: {}", self.origin, self.message),
        }
    }
}

impl fmt::Display for ScriptsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, mistake) in self.mistakes.iter().enumerate() {
            write!(f, "{}{mistake}", if place == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptsError {}
