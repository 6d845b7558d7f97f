//! What changed between two moments, and what differs between two environments.
//!
//! Which resources differ is settled on narrow rows: who belonged when, and which version held. Objects are read only
//! of those that have another version, and of two environments of those that have the same name.
//!
//! Why: docs/decisions/0023-differences-by-structure-patches-by-position.md.

mod beside;
mod between;
mod fold;
mod members;
mod one;
mod targets;

pub use beside::CompareEnvironments;
pub use between::DiffEnvironment;
pub use one::{DiffResource, PatchResource};

use crate::error::{QueryError, Result};
use crate::moment::Moment;
use crate::question::Context;
use strandline_model::At;

/// The earlier of two moments, which does not lie after the later.
fn earlier(q: &mut Context<'_>, from: At) -> Result<Moment> {
    let view = (q.view, q.moment.extent());
    let from = Moment::find(view, q.log, q.moment.now, from, None)?.with_live(q.moment.live());
    if from.offset > q.moment.offset {
        return Err(QueryError::Backwards { from: from.offset, to: q.moment.offset });
    }
    Ok(from)
}
