//! What deciding on a change comes to.

use super::error::{CatalogCode, CatalogError};
use strandline_log::{CatalogChange, Standing};
use strandline_model::{CatalogKind, Source};

/// What a decision comes to: what to write and what to answer, or why nothing is written.
pub(super) type Decided<T> = Result<(Vec<CatalogChange>, T, bool), CatalogError>;

/// That what is declared under a name was declared by callers of the API, who alone may change it there.
pub(super) fn of_api(standing: &Standing, kind: CatalogKind, name: &str) -> Result<(), CatalogError> {
    if standing.source == Source::Api {
        return Ok(());
    }
    let place = match standing.source {
        Source::Config => "the configuration",
        Source::Namespace => "a namespace of a cluster, as the configuration says",
        _ => "a directory of agent configuration files",
    };
    let message = format!("the {kind} `{name}` is declared by {place}");
    Err(CatalogError::new(CatalogCode::DeclaredElsewhere, message).hint("change it there"))
}
