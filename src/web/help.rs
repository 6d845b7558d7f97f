//! `/help/{page}`: what messages of answers and pages refer to, the same text as in `docs`.

use askama::Template;
use http::StatusCode;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html::push_html};

use super::render::html;
use super::shell::Shell;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;

const TROUBLESHOOTING: &str = include_str!("../../docs/operations/troubleshooting.md");
const SEARCH: &str = include_str!("../../docs/search.md");

#[derive(Template)]
#[template(path = "help.html")]
pub(super) struct HelpPage {
    pub(super) shell: Shell,
    pub(super) body: String,
}

/// The page; it tells nothing of what is recorded, so nobody is asked who they are.
pub(super) async fn page(request: Request) -> Result<Response, Problem> {
    let (title, text) = match request.argument(0) {
        "troubleshooting" => ("Troubleshooting", TROUBLESHOOTING),
        "search" => ("Search", SEARCH),
        _ => return Err(Problem::no_such_address(&request.context.path)),
    };
    html(StatusCode::OK, &HelpPage { shell: Shell::bare(title), body: body(text) })
}

/// A document of ours as HTML. What it links to is another document, which is not served: its words stay.
fn body(text: &str) -> String {
    let is_link =
        |event: &Event<'_>| matches!(event, Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link));
    let mut html = String::new();
    push_html(&mut html, Parser::new_ext(text, Options::ENABLE_TABLES).filter(|event| !is_link(event)));
    html
}

#[cfg(test)]
mod tests {
    use super::super::prose::Prose;
    use super::*;

    #[test]
    fn a_document_links_to_none_that_is_not_served() {
        let told = body("# T\n\nOne `a`\n[two](x.md#y).\n\n## <a id=\"b\"></a>B\n");
        assert_eq!(told, "<h1>T</h1>\n<p>One <code>a</code>\ntwo.</p>\n<h2><a id=\"b\"></a>B</h2>\n");
    }

    #[test]
    fn what_messages_refer_to_is_served() {
        let page = body(TROUBLESHOOTING);
        for address in ["/help/troubleshooting#no-access", "/help/troubleshooting#no-resources"] {
            let id = address.strip_prefix("/help/troubleshooting#").unwrap_or_default();
            assert!(page.contains(&format!("<a id=\"{id}\"></a>")), "{address}");
            let link = format!("See <a href=\"{address}\">{address}</a>.");
            assert_eq!(Prose::new(&format!("See {address}.")).to_string(), link);
        }
    }
}
