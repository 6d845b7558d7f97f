//! Who asks, what they may see, and whether they may write.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::credentials::{Presented, presented};
use super::problem::{Code, Problem};
use super::request::{Context, Request};
use crate::access::Membership;
use crate::catalog::Authority;
use crate::config::{TokenConfig, TokenHash};
use crate::query::Scope;

/// Whoever asks, as far as a token or its absence tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The token's name, which logs tell; in parentheses, which no token has, where there is no token.
    pub name: String,
    /// Whose token it is.
    pub user: Option<String>,
    /// The projects and groups of which they see what belongs to them.
    pub member: Membership,
    /// Whether they see everything, whatever they are a member of.
    pub everything: bool,
    /// Whether they may write, of what they see.
    pub write: bool,
}

impl Caller {
    /// Somebody on this machine: sees and writes everything.
    pub fn local() -> Self {
        Caller { everything: true, write: true, ..Caller::nobody("(local)") }
    }

    /// Anybody, where no token is configured: sees everything and writes nothing.
    pub fn anyone() -> Self {
        Caller { everything: true, ..Caller::nobody("(anyone)") }
    }

    /// Somebody who was not asked who they are: sees and writes nothing.
    pub fn unasked() -> Self {
        Caller::nobody("(unasked)")
    }

    fn nobody(name: &str) -> Self {
        Caller {
            name: name.to_owned(),
            user: None,
            member: Membership::default(),
            everything: false,
            write: false,
        }
    }

    /// Whether a project is theirs, by the rule by which they see what belongs to it.
    pub fn has(&self, project: &str) -> bool {
        self.everything || self.member.holds(project)
    }

    /// That they may write of this project.
    ///
    /// # Errors
    /// `forbidden`, in the same words whether there is such a project or not.
    pub fn writes_of(&self, project: &str) -> Result<(), Problem> {
        if self.write && self.has(project) {
            return Ok(());
        }
        let detail = format!("the token `{}` may not write of the project `{project}`", self.name);
        Err(Problem::new(Code::Forbidden, detail))
    }

    /// How far their word goes in what they may write of.
    pub fn authority(&self) -> Authority {
        if self.everything { Authority::Everything } else { Authority::Projects }
    }

    /// That they see everything, for what is told of all clusters together.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn sees_everything(&self) -> Result<(), Problem> {
        let detail =
            || format!("the token `{}` does not see everything, and this tells of everything", self.name);
        if self.everything { Ok(()) } else { Err(Problem::new(Code::Forbidden, detail())) }
    }
}

impl From<&TokenConfig> for Caller {
    fn from(token: &TokenConfig) -> Self {
        Caller {
            name: token.name.clone(),
            user: token.user.clone(),
            member: Membership::new(&token.projects, &token.groups),
            everything: token.everything,
            write: token.write,
        }
    }
}

/// Tells who asks; the router asks it before anything of a request is read.
pub trait Gate {
    /// The caller.
    ///
    /// # Errors
    /// When they may not ask, or not write where `writes` says that they are about to.
    fn admit(&self, context: &Context, writes: bool) -> Result<Arc<Caller>, Problem>;
}

/// The tokens that are known, and whether only this machine can reach the server.
#[derive(Debug)]
pub struct Access {
    /// Found by the hash of what was presented. How long a look-up takes tells something of the hash, and nothing of
    /// a token: who could choose tokens by their hashes would have broken SHA-256.
    callers: HashMap<TokenHash, Arc<Caller>>,
    loopback: bool,
    without: Arc<Caller>,
}

impl Access {
    /// Of these tokens; `loopback` says that the server listens on a loopback address.
    pub fn new(tokens: &[TokenConfig], loopback: bool) -> Self {
        let without = if loopback { Caller::local() } else { Caller::anyone() };
        let callers = tokens.iter().map(|token| (token.hash, Arc::new(Caller::from(token)))).collect();
        Access { callers, loopback, without: Arc::new(without) }
    }

    /// Who asks: the one place that decides it.
    ///
    /// Without configured tokens it is somebody on this machine where only that can reach the server, else anyone. With
    /// tokens, who presents one is who it says; who presents none is somebody on this machine, or is refused.
    ///
    /// # Errors
    /// `unauthorized` without a token where one is needed, and with one that is not known.
    fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
        if self.callers.is_empty() {
            return Ok(Arc::clone(&self.without));
        }
        let token = match presented(&context.headers) {
            Presented::Nothing if self.loopback => return Ok(Arc::clone(&self.without)),
            Presented::Nothing => {
                let detail =
                    "this needs a token; send it as `Authorization: Bearer`, or as the password of Basic";
                return Err(Problem::new(Code::Unauthorized, detail));
            }
            Presented::Token(token) => Some(token),
            Presented::Unreadable => None,
        };
        let known = token.and_then(|token| self.callers.get(&TokenHash::of(&token)));
        known.cloned().ok_or_else(|| {
            let peer = context.peer.map(|peer| peer.to_string());
            tracing::warn!(
                peer,
                trace_id = context.trace.as_str(),
                "a token that is not known was presented"
            );
            Problem::new(Code::Unauthorized, "the token that was sent is not one that this server knows")
        })
    }
}

impl Gate for Access {
    fn admit(&self, context: &Context, writes: bool) -> Result<Arc<Caller>, Problem> {
        let caller = self.caller(context)?;
        if !writes || caller.write {
            return Ok(caller);
        }
        Err(if self.callers.is_empty() {
            let detail = "others than this machine can reach this server, so writing needs a token, and none is configured";
            Problem::new(Code::WritingNeedsToken, detail)
        } else {
            Problem::new(Code::Forbidden, format!("the token `{}` may only read", caller.name))
        })
    }
}

/// What the caller of a request may see.
pub fn scope(request: &Request) -> Result<Scope, Problem> {
    Ok(scope_of(&request.caller))
}

/// The one place where callers become scopes.
fn scope_of(caller: &Caller) -> Scope {
    if caller.everything {
        return Scope::everything();
    }
    Scope::members(caller.member.clone())
}

/// The caller of routes that ask nobody who they are.
pub(super) fn unasked() -> Arc<Caller> {
    static UNASKED: LazyLock<Arc<Caller>> = LazyLock::new(|| Arc::new(Caller::unasked()));
    Arc::clone(&UNASKED)
}

#[cfg(test)]
mod tests;
