//! Filters that hold, each as a chip that leads to the page without it.

use crate::format::visible;
use crate::http::params::Parameter;
use crate::http::request::Request;

/// A filter that holds, with the address of the page without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chip {
    pub(super) label: &'static str,
    pub(super) value: String,
    /// None where it comes from a view.
    pub(super) href: Option<String>,
}

impl Chip {
    /// A filter of a page, where it is given.
    pub(super) fn given(
        request: &Request,
        path: &str,
        label: &'static str,
        parameter: Parameter,
    ) -> Option<Self> {
        let value = request.query.all(parameter.name).collect::<Vec<_>>().join(",");
        let href = format!("{path}{}", request.query.with(&[(parameter, None)]));
        (!value.is_empty()).then(|| Chip {
            label,
            value: visible(&value).replace(',', ", "),
            href: Some(href),
        })
    }
}

/// An option of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) chosen: bool,
}
