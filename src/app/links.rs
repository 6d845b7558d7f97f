//! Links to elsewhere: addresses that the configuration gives as templates, such as those of logs and metrics.
//!
//! Values come from clusters and callers, so each is percent-encoded where it is put in, the host is never part of a
//! template's values, and nothing but `http` and `https` is linked to.

use std::fmt::Write;

use strandline_syntax::percent_encode;

/// What a template may name of an environment.
pub const OF_ENVIRONMENT: &[&str] =
    &["id", "project", "name", "slug", "tier", "region", "cluster", "namespace", "time"];
/// What a template may name of a resource.
pub const OF_RESOURCE: &[&str] = &["cluster", "namespace", "group", "kind", "name", "uid", "time"];
/// What a template may name of a deployment.
pub const OF_DEPLOYMENT: &[&str] =
    &["environment", "project", "id", "ref", "sha", "job", "job_id", "user", "time"];

/// A value that is a path: its slashes stay.
const PATHS: [&str; 1] = ["project"];

/// The templates of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTemplates {
    /// Of environments.
    pub environments: Vec<LinkTemplate>,
    /// Of resources.
    pub resources: Vec<LinkTemplate>,
    /// Of deployments.
    pub deployments: Vec<LinkTemplate>,
}

/// A link with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTemplate {
    /// What it leads to, such as `Logs`.
    pub label: String,
    /// Only resources of these kinds, such as `Pod`; empty for all.
    pub kinds: Vec<String>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(&'static str),
}

impl LinkTemplate {
    /// Reads a template that may name these values.
    ///
    /// # Errors
    /// With what is wrong with it, and what would be valid.
    pub fn parse(label: &str, url: &str, known: &'static [&'static str]) -> Result<Self, String> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let Some(rest) = rest else {
            return Err(format!("`{url}` is no web address; begin it with https:// or http://"));
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        if host.is_empty() || host.contains(['{', '}', '@', '\\']) || host.contains(char::is_whitespace) {
            return Err(format!("the host of `{url}` must be a plain name, without values or credentials"));
        }
        if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(format!("`{url}` has white space or control characters; write them as %20"));
        }
        let mut parts = Vec::new();
        let mut left = url;
        while let Some((text, after)) = left.split_once('{') {
            let closed = after.split_once('}');
            let (name, after) = closed.ok_or_else(|| format!("`{{` in `{url}` is not closed"))?;
            let value = known.iter().find(|known| **known == name);
            let value = value.ok_or_else(|| {
                let names = known.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
                format!("unknown value `{{{name}}}`; use one of {names}")
            })?;
            parts.extend([Part::Text(text.to_owned()), Part::Value(value)]);
            left = after;
        }
        parts.push(Part::Text(left.to_owned()));
        Ok(LinkTemplate { label: label.to_owned(), kinds: Vec::new(), parts })
    }

    /// The same for resources of these kinds alone, unless there are none.
    #[must_use]
    pub fn of_kinds(self, kinds: &[String]) -> Self {
        LinkTemplate { kinds: kinds.to_vec(), ..self }
    }

    /// Whether it names a value.
    pub fn names(&self, value: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Value(name) if *name == value))
    }

    /// The address with its values; none where one of them is not known, or would lead to another path.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut url = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => url.push_str(text),
                Part::Value(name) => {
                    let value = value(name).filter(|value| !value.is_empty())?;
                    let segments: Vec<&str> =
                        if PATHS.contains(name) { value.split('/').collect() } else { vec![&value] };
                    // Browsers take dots for steps up, however they are encoded.
                    if segments.iter().any(|one| matches!(*one, "" | "." | "..")) {
                        return None;
                    }
                    for (place, segment) in segments.into_iter().enumerate() {
                        let _ =
                            write!(url, "{}{}", if place > 0 { "/" } else { "" }, percent_encode(segment));
                    }
                }
            }
        }
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(url: &str) -> Result<LinkTemplate, String> {
        LinkTemplate::parse("Logs", url, OF_DEPLOYMENT)
    }

    #[test]
    fn values_are_encoded_and_only_slashes_of_paths_stay() {
        let filled = |url: &str, value: &str| {
            template(url).ok().and_then(|template| template.fill(|_| Some(value.to_owned())))
        };
        assert_eq!(filled("https://x/{project}/-/c", "a b/ü"), Some("https://x/a%20b/%C3%BC/-/c".into()));
        assert_eq!(
            filled("https://x/?q={ref}", "a/b&c=\"><script>"),
            Some("https://x/?q=a%2Fb%26c%3D%22%3E%3Cscript%3E".into())
        );
        assert_eq!(filled("https://x/{project}/y", "../../evil"), None);
        assert_eq!(filled("https://x/{ref}/y", ".."), None);
        assert_eq!(filled("https://x/{sha}", ""), None, "nothing to link to");
        assert!(template("https://x/{sha}").is_ok_and(|one| one.names("sha") && !one.names("ref")));
    }

    #[test]
    fn what_is_no_template_is_refused_with_what_to_do() {
        for (url, said) in [
            ("javascript:alert(1)", "begin it with https://"),
            ("//x/y", "begin it with https://"),
            ("https://{project}.example.com/", "the host of"),
            ("https://user@x/", "the host of"),
            ("https:///x", "the host of"),
            ("https://x/{nope}", "unknown value `{nope}`; use one of {environment}"),
            ("https://x/{sha", "is not closed"),
            ("https://x/a b", "white space"),
        ] {
            let error = template(url).err().unwrap_or_default();
            assert!(error.contains(said), "{url}: {error}");
        }
    }
}
