//! Fields of forms, and what is wrong with what was typed into them.

use super::prose::Prose;
use crate::http::params::{
    AT, BY, CLUSTERS, ENVIRONMENT, FROM, GROUP, IMAGE, LABELS, NAME, PROJECT, Parameter, REFS, SINCE, UNTIL,
    WITH,
};
use crate::http::request::Request;

/// Parameters that have a field on every page that knows them, where it is told what is wrong with them.
const FIELDS: [Parameter; 14] =
    [AT, FROM, IMAGE, ENVIRONMENT, WITH, GROUP, PROJECT, NAME, CLUSTERS, LABELS, BY, REFS, SINCE, UNTIL];

/// A line of text in a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) example: &'static str,
    /// What may be given, for those who cannot see the example; empty where that is plain.
    pub(super) help: &'static str,
    /// The list of values that it suggests; empty for none.
    pub(super) list: &'static str,
    /// Whether it takes what room there is.
    pub(super) wide: bool,
    /// What is wrong with the value.
    pub(super) wrong: Option<Prose>,
}

impl Field {
    /// A field with what was typed into it.
    pub(super) fn new(
        request: &Request,
        parameter: Parameter,
        label: &'static str,
        example: &'static str,
    ) -> Self {
        let refused = request.query.refused().iter().find(|refused| refused.parameter == parameter.name);
        Field {
            name: parameter.name,
            label,
            value: request.query.typed(parameter).unwrap_or_default().to_owned(),
            example,
            help: "",
            list: "",
            wide: false,
            wrong: refused.map(|refused| Prose::new(&refused.detail)),
        }
    }

    /// With all room there is.
    pub(super) fn wide(self) -> Self {
        Field { wide: true, ..self }
    }

    /// With what may be given.
    pub(super) fn help(self, help: &'static str) -> Self {
        Field { help, ..self }
    }

    /// Where more is said of it; empty where nothing is.
    pub(super) fn described(&self) -> String {
        let help = (!self.help.is_empty()).then(|| format!("{}-help", self.name));
        let wrong = self.wrong.is_some().then(|| format!("{}-wrong", self.name));
        wrong.into_iter().chain(help).collect::<Vec<_>>().join(" ")
    }
}

/// The field for the moment of a page.
pub(super) fn moment_field(request: &Request) -> Field {
    let field = Field::new(request, AT, "Time", "now, 14:05, yesterday 14:05, 2h, 1234").wide().help(
        "A time in UTC such as 14:05 or 2026-11-20 14:05, a duration ago such as 2h or 1d12h, or an offset such as 1234. Empty for now.",
    );
    Field { value: if field.value == "now" { String::new() } else { field.value }, ..field }
}

/// What is wrong with what has no field.
pub(super) fn unplaced(request: &Request) -> Vec<(String, Prose)> {
    let placed = |name: &str| FIELDS.iter().any(|field| field.name == name);
    let refused = request.query.refused().iter().filter(|refused| !placed(&refused.parameter));
    refused.map(|refused| (refused.parameter.clone(), Prose::new(&refused.detail))).collect()
}
