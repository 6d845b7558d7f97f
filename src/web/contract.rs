//! `/openapi`: the contract of the API as a page, rendered here, for people without a viewer or a network.

use std::fmt::Write as _;
use std::sync::LazyLock;

use http::StatusCode;
use pulldown_cmark::{Options, Parser, html::push_html};
use serde_json::Value;

use super::help::HelpPage;
use super::render::html;
use super::shell::Shell;
use crate::api::document::JSON;
use crate::http::problem::Problem;
use crate::http::respond::Response;

/// The page's text, made once.
static BODY: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let document = JSON.as_ref().map_err(Clone::clone)?;
    let text = markdown(document);
    let mut page = String::with_capacity(2 * text.len());
    push_html(&mut page, Parser::new_ext(&text, Options::ENABLE_TABLES));
    Ok(page)
});

/// The page; it is about the program and nothing that is recorded, so nobody is asked who they are.
pub(super) async fn page() -> Result<Response, Problem> {
    let body = BODY.as_ref().map_err(Problem::internal)?.clone();
    html(StatusCode::OK, &HelpPage { shell: Shell::bare("API"), body })
}

/// The value itself, or the one that it refers to.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let target = value["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| document.pointer(target)).unwrap_or(value)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default().trim()
}

/// On one line, as an item of a list needs it.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The contract as Markdown, by its tags.
fn markdown(document: &Value) -> String {
    let info = &document["info"];
    let mut out =
        format!("# {} API {}\n\n{}\n\n", text(info, "title"), text(info, "version"), text(info, "summary"));
    out.push_str("As a file: `/openapi.yaml`, `/api/v1/openapi.json`.\n\n");
    out.push_str(text(info, "description"));
    let none = Vec::new();
    for tag in document["tags"].as_array().unwrap_or(&none) {
        let name = text(tag, "name");
        // Writing into a text cannot fail.
        let _ = write!(out, "\n\n## {name}\n\n{}\n", text(tag, "description"));
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in item.as_object().into_iter().flatten() {
                let tagged =
                    operation["tags"].as_array().is_some_and(|tags| tags.iter().any(|one| one == name));
                if tagged {
                    write_operation(&mut out, document, item, path, method, operation);
                }
            }
        }
    }
    out
}

fn write_operation(
    out: &mut String,
    document: &Value,
    item: &Value,
    path: &str,
    method: &str,
    operation: &Value,
) {
    let (method, summary) = (method.to_uppercase(), text(operation, "summary"));
    let _ = write!(out, "\n### `{method} {path}`\n\n**{summary}.** {}\n", text(operation, "description"));
    let of = |value: &'_ Value| value["parameters"].as_array().cloned().unwrap_or_default();
    let parameters = [of(item), of(operation)].concat();
    if !parameters.is_empty() {
        out.push_str("\nParameters:\n\n");
    }
    for parameter in &parameters {
        let parameter = resolve(document, parameter);
        let required = if parameter["required"] == true { ", required" } else { "" };
        let (name, place) = (text(parameter, "name"), text(parameter, "in"));
        let _ = writeln!(out, "- `{name}` ({place}{required}): {}", line(text(parameter, "description")));
    }
    if operation.get("requestBody").is_some() {
        let body = resolve(document, &operation["requestBody"]);
        let _ = write!(out, "\nBody: {}\n", line(text(body, "description")));
    }
    out.push_str("\nResponses:\n\n");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let response = resolve(document, response);
        let schemas = response["content"].as_object().into_iter().flatten().map(|(media, content)| {
            let name = content["schema"]["$ref"].as_str().and_then(|target| target.rsplit('/').next());
            match name {
                Some(name) => format!("`{media}`: `{name}`"),
                None => format!("`{media}`"),
            }
        });
        let schemas = schemas.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "- {status}: {} {schemas}", line(text(response, "description")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_contract_is_on_the_page_and_nothing_runs_there() {
        let (page, document) = (BODY.as_ref().expect("a page"), JSON.as_ref().expect("a contract"));
        let mut operations = 0;
        for (path, item) in document["paths"].as_object().expect("paths") {
            for method in
                ["get", "put", "post", "delete"].into_iter().filter(|method| item.get(method).is_some())
            {
                let heading = format!("<h3><code>{} {path}</code></h3>", method.to_uppercase());
                assert!(page.contains(&heading), "{heading}");
                operations += 1;
            }
        }
        assert!(operations > 40 && page.contains("<code>tier</code> (query)"), "{operations}");
        for forbidden in ["<script", "style=", "http-equiv", "src="] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
