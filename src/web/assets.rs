//! What pages load besides themselves: one style sheet, one script and an icon, all from the binary; and once something is
//! searched for, the module that suggests matches.
//!
//! Both are written as several files and joined here, so that a page takes three requests. A style sheet is added to
//! `STYLES`, a module to `SCRIPTS` after those that it imports. The modules are ordinary ES modules, for editors and linters;
//! joined they are one module, so their `import` lines and the word `export` go, and a name at the top level is used once.

use std::sync::LazyLock;

use http::header::{CACHE_CONTROL, HeaderValue};

use crate::http::params::Parameter;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{Response, tagged};

/// The version of an asset that its address names.
pub(super) const VERSION: Parameter = Parameter::one("v");

/// How pages look: what all share, then what each has for itself.
const STYLES: [&str; 12] = [
    include_str!("assets/style/tokens.css"),
    include_str!("assets/style/base.css"),
    include_str!("assets/style/parts.css"),
    include_str!("assets/style/header.css"),
    include_str!("assets/style/rail.css"),
    include_str!("assets/style/start.css"),
    include_str!("assets/style/environment.css"),
    include_str!("assets/style/resource.css"),
    include_str!("assets/style/compare.css"),
    include_str!("assets/style/changes.css"),
    include_str!("assets/style/search.css"),
    include_str!("assets/style/lists.css"),
];

/// A colour of the style sheet as it is on a light page; what has one colour in both is not asked for.
pub(super) fn light(name: &str) -> &'static str {
    let start = format!("--{name}: light-dark(");
    let value = STYLES[0].split(&start).nth(1).and_then(|rest| rest.split(',').next());
    value.unwrap_or("currentColor")
}

/// What makes pages more comfortable.
const SCRIPTS: [&str; 10] = [
    include_str!("assets/script/island.js"),
    include_str!("assets/script/settings.js"),
    include_str!("assets/script/times.js"),
    include_str!("assets/script/copy.js"),
    include_str!("assets/script/chart.js"),
    include_str!("assets/script/graph.js"),
    include_str!("assets/script/patch.js"),
    include_str!("assets/script/live.js"),
    include_str!("assets/script/rail.js"),
    include_str!("assets/script/search.js"),
];

/// What the search field loads when it is used first.
const SUGGEST_SCRIPTS: [&str; 1] = [include_str!("assets/script/suggest.js")];

/// Something that pages load.
pub(super) struct Asset {
    name: &'static str,
    content_type: &'static str,
    body: String,
    /// A digest of what it holds.
    version: String,
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("style.css", "text/css; charset=utf-8", join_styles(&STYLES)));

pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("script.js", "text/javascript; charset=utf-8", join_modules(&SCRIPTS)));

pub(super) static SUGGEST: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("suggest.js", "text/javascript; charset=utf-8", join_modules(&SUGGEST_SCRIPTS))
});

/// The sign of the program.
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg").to_owned()));

impl Asset {
    fn new(name: &'static str, content_type: &'static str, body: String) -> Self {
        let version = blake3::hash(body.as_bytes()).to_hex()[..16].to_owned();
        Asset { name, content_type, body, version }
    }

    /// Its address, another one for every content.
    pub(super) fn address(&self) -> String {
        format!("/assets/{}?v={}", self.name, self.version)
    }
}

fn join_styles(styles: &[&str]) -> String {
    let lines = styles.iter().flat_map(|style| style.lines()).map(str::trim);
    lines.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

/// The modules as one, without what only their authors read.
fn join_modules(modules: &[&str]) -> String {
    let mut joined = String::new();
    for line in modules.iter().flat_map(|module| module.lines()).map(str::trim) {
        // A comment behind code holds no quotes here; in a text there would be one behind it.
        let comment = line.rfind(" // ").filter(|at| !line[*at..].contains(['"', '\'', '`']));
        let line = comment.map_or(line, |at| line[..at].trim_end());
        if line.starts_with("import ") || line.starts_with("//") || line.is_empty() {
            continue;
        }
        joined.push_str(line.strip_prefix("export ").unwrap_or(line));
        // Behind these nothing ends that a line has to end.
        if !line.ends_with(['{', ';', ',', '(']) {
            joined.push('\n');
        }
    }
    joined
}

/// `/assets/{name}`.
pub(super) async fn asset(request: Request) -> Result<Response, Problem> {
    let mut assets = [&STYLE, &SCRIPT, &SUGGEST, &ICON].into_iter();
    let asset = assets.find(|asset| asset.name == request.argument(0));
    let asset = asset.ok_or_else(|| Problem::no_such_address(&request.context.path))?;
    let mut response = tagged(&request.context, asset.content_type, asset.body.clone().into_bytes());
    if request.query.one(VERSION) == Some(&asset.version) {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What a module may send, all together.
    const SCRIPT_BYTES_MAX: usize = 25 * 1024;
    const SUGGEST_BYTES_MAX: usize = 5 * 1024;

    #[test]
    fn the_script_is_small_and_names_nothing_twice() {
        assert!(SCRIPT.body.len() <= SCRIPT_BYTES_MAX, "{} bytes", SCRIPT.body.len());
        assert!(SUGGEST.body.len() <= SUGGEST_BYTES_MAX, "{} bytes", SUGGEST.body.len());
        let mut names = BTreeSet::new();
        for line in SCRIPTS.iter().flat_map(|module| module.lines()) {
            let line = line.strip_prefix("export ").unwrap_or(line);
            let declared = ["const ", "let ", "class ", "function ", "async function "]
                .iter()
                .find_map(|word| line.strip_prefix(word));
            let name =
                declared.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                assert!(names.insert(name.to_owned()), "{name} is declared by two modules");
            }
        }
        assert!(names.contains("Island"));
        for word in ["import ", "export ", "innerHTML", "eval(", "insertAdjacentHTML", "document.write"] {
            assert!(!SCRIPT.body.contains(word), "{word}");
            assert!(!SUGGEST.body.contains(word), "{word}");
        }
    }

    #[test]
    fn a_module_is_joined_after_those_that_it_imports() {
        let files =
            ["island", "settings", "times", "copy", "chart", "graph", "patch", "live", "rail", "search"];
        assert_eq!(files.len(), SCRIPTS.len());
        for (place, module) in SCRIPTS.iter().enumerate() {
            for import in module.lines().filter(|line| line.starts_with("import ")) {
                let file = import.split("\"./").nth(1).and_then(|rest| rest.strip_suffix(".js\";"));
                let file =
                    file.unwrap_or_else(|| panic!("not one line that names one of our files: {import}"));
                assert!(files[..place].contains(&file), "{} imports {file}", files[place]);
            }
        }
    }

    #[test]
    fn colours_stand_in_tokens_only() {
        for style in &STYLES[1..] {
            let colours: Vec<_> = style.lines().filter(|line| line.contains(": #")).collect();
            assert!(colours.is_empty(), "{colours:?}");
        }
    }
}
