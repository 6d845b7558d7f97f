//! The caller of a request, and what they may read and write.

use std::sync::{Arc, LazyLock};

use super::problem::{Problem, ProblemCode};
use super::subject::Subject;
use crate::catalog::Authority;
use strandline_gitlab::Membership;
use strandline_model::{Places, Timestamp};
use strandline_protocol::{AuthenticationMethod, Rights, WhoAmI};

/// The caller, by their token or its absence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The token's name, as logs have it; in parentheses, which no token's name has, where there is no token.
    pub name: String,
    /// Whose token it is.
    pub user: Option<String>,
    /// The projects and groups of which they see what belongs to them.
    pub member: Membership,
    /// As whom clusters are asked what they may read there; none where no cluster is asked.
    pub subject: Option<Arc<Subject>>,
    /// What the clusters said: the places of which they see what looks there alone.
    pub places: Places,
    /// Whether they see everything, whatever they are a member of.
    pub everything: bool,
    /// Whether there is anything that they may write.
    pub write: bool,
    /// The projects and groups of which they write what belongs to them.
    pub writes: Membership,
    /// Whether they write everything, whatever they are a member of.
    pub writes_everything: bool,
    /// The CI job that they are, if they are one: it writes of its environment alone.
    pub job: Option<Job>,
    /// How they were authenticated.
    pub method: AuthenticationMethod,
    /// Until when that lasts at most.
    pub expires: Option<Timestamp>,
}

/// What the token of a CI job proves of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The name of its environment; empty where it has none.
    pub environment: String,
    /// Whether its branch or tag is protected.
    pub ref_protected: bool,
}

impl Caller {
    /// Somebody on this machine: sees and writes everything.
    pub fn local() -> Self {
        Caller { write: true, writes_everything: true, ..Caller::local_reader() }
    }

    /// Somebody on this machine who only reads: sees everything.
    pub fn local_reader() -> Self {
        Caller { everything: true, method: AuthenticationMethod::Local, ..Caller::named("(local)") }
    }

    /// Anybody, where no token is configured: sees everything and writes nothing.
    pub fn anyone() -> Self {
        Caller { everything: true, ..Caller::named("(anyone)") }
    }

    /// The caller of a route without authentication: sees and writes nothing.
    pub fn unasked() -> Self {
        Caller::named("(unasked)")
    }

    /// Somebody of this name who sees and writes nothing.
    pub(super) fn named(name: &str) -> Self {
        Caller {
            name: name.to_owned(),
            user: None,
            member: Membership::default(),
            subject: None,
            places: Places::default(),
            everything: false,
            write: false,
            writes: Membership::default(),
            writes_everything: false,
            job: None,
            method: AuthenticationMethod::None,
            expires: None,
        }
    }

    /// Whether a project is theirs, by the rule by which they see what belongs to it.
    pub fn has(&self, project: &str) -> bool {
        self.everything || self.member.holds(project)
    }

    /// What they are told of themselves.
    pub fn who_am_i(&self) -> WhoAmI {
        let rights = |everything, member: &Membership, places: &Places| Rights {
            everything,
            projects: member.projects().clone(),
            groups: member.groups().clone(),
            namespaces: places.iter().map(named).collect(),
        };
        let writes = rights(self.writes_everything, &self.writes, &Places::default());
        WhoAmI {
            name: self.name.clone(),
            user: self.user.clone(),
            method: self.method,
            expires: self.expires,
            reads: rights(self.everything, &self.member, &self.places),
            writes: if self.write { writes } else { Rights::default() },
            job_environment: self.job.as_ref().map(|job| job.environment.clone()),
        }
    }

    /// Whether they presented a token.
    pub fn has_token(&self) -> bool {
        !self.name.starts_with('(')
    }

    /// Refuses callers who may not write.
    ///
    /// # Errors
    /// `forbidden`; without a token `writing_needs_token`.
    pub fn require_write(&self) -> Result<(), Problem> {
        if self.write {
            return Ok(());
        }
        Err(if self.has_token() {
            Problem::new(ProblemCode::Forbidden, format!("the token `{}` is read-only", self.name))
        } else {
            let detail = "access without a token is read-only; writing needs a token";
            Problem::new(ProblemCode::WritingNeedsToken, detail)
        })
    }

    /// Refuses callers who may not write to this project.
    ///
    /// # Errors
    /// `forbidden`, in the same words whether there is such a project or not.
    pub fn require_write_of(&self, project: &str) -> Result<(), Problem> {
        if self.job.is_none() && self.may_write_of(project) {
            return Ok(());
        }
        let detail = format!("the token `{}` has no write access to the project `{project}`", self.name);
        Err(Problem::new(ProblemCode::Forbidden, detail))
    }

    fn may_write_of(&self, project: &str) -> bool {
        self.write && (self.writes_everything || self.writes.holds(project))
    }

    /// Refuses callers who may not deploy to this environment of this project: a CI job deploys to its own.
    ///
    /// # Errors
    /// `forbidden`, in the same words whether there is such a project or not.
    pub fn require_deploy_to(&self, project: &str, environment: &str) -> Result<(), Problem> {
        let Some(job) = &self.job else { return self.require_write_of(project) };
        let own = !job.environment.is_empty() && job.environment == environment;
        if own && self.may_write_of(project) {
            return Ok(());
        }
        let detail = format!(
            "the CI job `{}` writes of its own environment alone, and not of `{environment}` of `{project}`",
            self.name
        );
        Err(Problem::new(ProblemCode::Forbidden, detail))
    }

    /// Refuses callers who do not write everything, for what changes all clusters together.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_write_everything(&self) -> Result<(), Problem> {
        self.require_everything()?;
        let detail =
            || format!("the token `{}` may not write everything, which this request needs", self.name);
        if self.writes_everything { Ok(()) } else { Err(Problem::new(ProblemCode::Forbidden, detail())) }
    }

    /// The authority of what they declare.
    pub fn authority(&self) -> Authority {
        if self.writes_everything { Authority::Everything } else { Authority::Projects }
    }

    /// Refuses callers who do not see everything, for answers about all clusters together.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_everything(&self) -> Result<(), Problem> {
        let detail = || format!("the token `{}` lacks `everything`, which this request needs", self.name);
        if self.everything { Ok(()) } else { Err(Problem::new(ProblemCode::Forbidden, detail())) }
    }
}

/// A place as people are told of it.
fn named((cluster, namespace): (&str, &str)) -> String {
    let namespace = if namespace.is_empty() { "*" } else { namespace };
    format!("{cluster}/{namespace}")
}

/// The caller of routes without authentication.
pub(super) fn unasked() -> Arc<Caller> {
    static UNASKED: LazyLock<Arc<Caller>> = LazyLock::new(|| Arc::new(Caller::unasked()));
    Arc::clone(&UNASKED)
}
