//! Where scripts come from: a folder in Argo CD's layout, or its ConfigMap `argocd-cm`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::glob::{Glob, is_glob};
use super::script::Script;
use super::scripts::{Scripts, ScriptsError};
use strandline_syntax::diagnostics::of_syntax;

/// The file of a script.
const FILE: &str = "health.lua";
/// The key of a ConfigMap that holds customizations, and the beginning of those that hold one each.
const CUSTOMIZATIONS: &str = "resource.customizations";
/// What Argo CD lets people customize; only health concerns us.
const CUSTOMIZED: [&str; 6] =
    ["health", "useOpenLibs", "actions", "ignoreDifferences", "ignoreResourceUpdates", "knownTypeFields"];

impl Scripts {
    /// Reads Argo CD's `resource_customizations`: paths relative to it, with `/`, and the texts of the files.
    ///
    /// A script is `<group>/<Kind>/health.lua`, or `<Kind>/health.lua` for the core group, and `_` in a folder's
    /// name matches anything. All other files are left alone.
    ///
    /// # Errors
    /// With every script that cannot be compiled or is too large.
    pub fn from_folder(files: impl IntoIterator<Item = (String, String)>) -> Result<Scripts, ScriptsError> {
        let mut exact = BTreeMap::new();
        let mut globs = BTreeMap::new();
        for (path, text) in files {
            let Some(folder) = path.strip_suffix(FILE).and_then(|folder| folder.strip_suffix('/')) else {
                continue;
            };
            if folder.is_empty() || folder.split('/').count() > 2 {
                continue;
            }
            let into = if folder.contains('_') { &mut globs } else { &mut exact };
            let script = Script { rule: format!("lua/{folder}"), origin: path.clone(), text };
            into.insert(folder.to_owned(), script);
        }
        // Sorted by their paths, as in Argo CD.
        let globs = globs.into_iter().map(|(folder, script)| (Glob::of_folder(&folder), script)).collect();
        Scripts::of_layer(exact, globs)
    }

    /// Reads the ConfigMap `argocd-cm`, in YAML or JSON: `resource.customizations`, a map from `group/Kind` (or
    /// `Kind`, or a pattern such as `*.crossplane.io/*`), and `resource.customizations.health.<group>_<Kind>`,
    /// which is stronger; `all` there means `*/*`.
    ///
    /// `useOpenLibs` is read and changes nothing: every script has the harmless libraries, and none has others.
    ///
    /// # Errors
    /// When it is no such ConfigMap, when Argo CD would refuse a key, or with every script that cannot be
    /// compiled or is too large.
    pub fn from_customizations(yaml: &str) -> Result<Scripts, ScriptsError> {
        let hint = "give the ConfigMap as `kubectl get configmap argocd-cm -n argocd -o yaml` prints it";
        let map: ConfigMap = serde_saphyr::from_str(yaml).map_err(|error| told("argocd-cm", &error, hint))?;
        if map.kind.as_deref().is_some_and(|kind| kind != "ConfigMap") {
            return Err(ScriptsError::one("argocd-cm", "not a ConfigMap", hint));
        }
        let mut scripts = customizations(&map.data)?;
        for (key, text) in &map.data {
            if let Some(target) = split_key(key)? {
                scripts.insert(target, Script::of_key(key, text));
            }
        }
        // An empty script is none, so that a wildcard may speak.
        scripts.retain(|_, script| !script.text.is_empty());
        of_keys(scripts)
    }
}

/// What is read of a ConfigMap.
#[derive(Debug, Deserialize)]
struct ConfigMap {
    kind: Option<String>,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

/// What is read of a customization.
#[derive(Debug, Deserialize)]
struct Customization {
    #[serde(rename = "health.lua")]
    health: Option<String>,
}

impl Script {
    fn of_key(key: &str, text: &str) -> Script {
        Script {
            rule: format!("lua/argocd-cm/{key}"),
            origin: format!("argocd-cm {key}"),
            text: text.to_owned(),
        }
    }
}

fn told(origin: &str, error: &serde_saphyr::Error, hint: &'static str) -> ScriptsError {
    ScriptsError::one(origin, of_syntax(error), hint)
}

/// The scripts of the one key that holds many.
fn customizations(data: &BTreeMap<String, String>) -> Result<BTreeMap<String, Script>, ScriptsError> {
    let text = data.get(CUSTOMIZATIONS).map(String::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    let origin = format!("argocd-cm {CUSTOMIZATIONS}");
    let entries: BTreeMap<String, Option<Customization>> = serde_saphyr::from_str(text).map_err(|error| {
        told(&origin, &error, "its text is a YAML map from `group/Kind` to `health.lua: |`")
    })?;
    let script = |(key, entry): (String, Option<Customization>)| {
        let text = entry?.health?;
        let script =
            Script { rule: format!("lua/argocd-cm/{key}"), origin: format!("{origin} {key} {FILE}"), text };
        Some((key, script))
    };
    Ok(entries.into_iter().filter_map(script).collect())
}

/// Of which kinds a key holds the script, if it holds one.
fn split_key(key: &str) -> Result<Option<String>, ScriptsError> {
    let Some((of, target)) = key
        .strip_prefix(CUSTOMIZATIONS)
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.split_once('.'))
    else {
        return Ok(None);
    };
    let refused = |message: &str| {
        let hint = "keys are `resource.customizations.health.<group>_<Kind>`, or `…health.<Kind>` for the core group";
        Err(ScriptsError::one(&format!("argocd-cm {key}"), message, hint))
    };
    if !CUSTOMIZED.contains(&of) {
        return refused(&format!("`{of}` cannot be customized"));
    }
    let names: Vec<&str> = target.split('_').collect();
    let target = match names[..] {
        ["all"] => "*/*".to_owned(),
        [kind] if !kind.is_empty() => kind.to_owned(),
        [group, kind] => format!("{group}/{kind}"),
        _ => return refused("it names no group and kind"),
    };
    Ok((of == "health").then_some(target))
}

/// A set of customizations, the most precise pattern first.
fn of_keys(scripts: BTreeMap<String, Script>) -> Result<Scripts, ScriptsError> {
    let mut exact = BTreeMap::new();
    let mut globs = Vec::new();
    for (key, script) in scripts {
        if !is_glob(&key) {
            exact.insert(key, script);
            continue;
        }
        let glob = Glob::of_key(&key).map_err(|problem| {
            let message = format!("the pattern `{key}` makes no sense: {problem}");
            ScriptsError::one(&script.origin, message, "patterns have `*`, `?`, `[a-z]` and `{a,b}`")
        })?;
        globs.push((glob, script));
    }
    globs.sort_by_key(|(glob, _)| Reverse(glob.letters()));
    Scripts::of_layer(exact, globs)
}
