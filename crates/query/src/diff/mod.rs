//! What changed between two moments, and what differs between two environments.
//!
//! Which resources differ is settled on narrow rows: who belonged when, and which version held. Objects are read only
//! of those that have another version, and of two environments of those that have the same name.
//!
//! Why: docs/decisions/0023-differences-by-structure-patches-by-position.md.

mod beside;
mod between;
mod members;
mod one;
mod targets;

use super::moment::Moment;
use super::{PageRequest, Queries, QueryError, Question, Result};
use strandline_model::{At, EnvironmentId, Uid};
use strandline_object_diff::{Lens, NamePair, Operation};
use strandline_protocol::{Answer, EnvironmentDiff, ResourceDiff};

use super::scope::Scope;

/// Between which moments, and what of the differences is told.
#[derive(Clone, Debug)]
pub struct DiffRequest {
    /// The earlier moment; without it, of a resource the version before the one that holds at the later.
    pub from: Option<At>,
    /// The later moment.
    pub to: At,
    /// What is told.
    pub lens: Lens,
}

/// What of an environment's differences is told.
#[derive(Clone, Debug)]
pub struct EnvironmentDiffRequest {
    /// The earlier moment; without it a day before the later one, or the earliest there is.
    pub from: Option<At>,
    /// The later moment.
    pub to: At,
    /// What is told.
    pub lens: Lens,
    /// Whether what controllers made is told one by one.
    pub children: bool,
}

/// With what an environment is compared, and what is told.
#[derive(Clone, Debug)]
pub struct BesideRequest {
    /// The other environment.
    pub with: EnvironmentId,
    /// The moment of both.
    pub at: At,
    /// What is told.
    pub lens: Lens,
    /// Which parts of names stand for each other; without any, those by which the two environments differ in name.
    pub names: Vec<NamePair>,
    /// Whether what controllers made is compared too.
    pub children: bool,
}

/// The earlier of two moments, which does not lie after the later.
fn earlier(q: &mut Question<'_>, from: At) -> Result<Moment> {
    let from = Moment::find(q.view, q.log, q.moment.now, from, None)?.with_live(q.moment.live());
    if from.offset > q.moment.offset {
        return Err(QueryError::Backwards { from: from.offset, to: q.moment.offset });
    }
    Ok(from)
}

impl Queries {
    /// What differs in a resource between two moments, be it that it was not there at one of them.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when it was there at neither, [`QueryError::Backwards`] when the moments are the wrong way round,
    /// and as for [`Queries::resource_history`].
    pub async fn resource_diff(
        &self,
        scope: &Scope,
        uid: &Uid,
        cluster: Option<&str>,
        request: &DiffRequest,
    ) -> Result<Answer<ResourceDiff>> {
        let (uid, cluster, wanted) = (uid.clone(), cluster.map(str::to_owned), request.clone());
        let answer = move |q: Question<'_>| one::diff(q, &uid, cluster.as_deref(), &wanted);
        self.ask(scope, request.to, "resource_diff", &(), &PageRequest::default(), answer).await
    }

    /// The operations that make a resource's earlier state the later one.
    ///
    /// # Errors
    /// As for [`Queries::resource_diff`].
    pub async fn resource_patch(
        &self,
        scope: &Scope,
        uid: &Uid,
        cluster: Option<&str>,
        request: &DiffRequest,
    ) -> Result<Vec<Operation>> {
        let (uid, cluster, wanted) = (uid.clone(), cluster.map(str::to_owned), request.clone());
        let answer = move |q: Question<'_>| one::patch(q, &uid, cluster.as_deref(), &wanted);
        self.ask(scope, request.to, "resource_diff", &(), &PageRequest::default(), answer).await
    }

    /// What differs in an environment between two moments.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when it was declared at neither, [`QueryError::Backwards`] when the moments are the wrong way
    /// round.
    pub async fn environment_diff(
        &self,
        scope: &Scope,
        id: &EnvironmentId,
        request: &EnvironmentDiffRequest,
        page: &PageRequest,
    ) -> Result<EnvironmentDiff> {
        let (of, wanted) = (id.clone(), request.clone());
        let answer = move |q: Question<'_>| between::diff(q, &of, &wanted);
        // The later moment is the token's; the earlier stands in its position.
        let said = (id, request.from, &request.lens, request.children);
        self.ask(scope, request.to, "environment_diff", &said, page, answer).await
    }

    /// What differs between two environments at one moment.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when one of them was not declared at that moment.
    pub async fn environments_beside(
        &self,
        scope: &Scope,
        id: &EnvironmentId,
        request: &BesideRequest,
        page: &PageRequest,
    ) -> Result<EnvironmentDiff> {
        let (of, wanted) = (id.clone(), request.clone());
        let answer = move |q: Question<'_>| beside::diff(q, &of, &wanted);
        let said = (id, &request.with, &request.lens, &request.names, request.children);
        self.ask(scope, request.at, "environments_beside", &said, page, answer).await
    }
}
