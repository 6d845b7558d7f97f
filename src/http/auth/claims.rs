//! What the claims of a verified token make of its holder: whose it is, what they see, and what they may write.
//!
//! Tokens of GitLab's CI jobs and of its users come from one issuer, and a job names the audience of its token itself. So the
//! audience does not tell them apart, and each kind is recognized by claims that the other never has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::jws::Unverified;

use crate::http::caller::{Caller, Job};
use crate::http::subject::{Subject, SubjectRules};
use strandline_gitlab::Membership;
use strandline_model::Timestamp;
use strandline_protocol::AuthenticationMethod;

/// How far the clock of an issuer may be from ours.
const SKEW: Duration = Duration::from_secs(30);

/// The most groups that a token may name.
pub(super) const GROUPS_MAX: usize = 2000;

/// The longest name of somebody.
const NAME_BYTES_MAX: usize = 255;

/// Claims that only the token of a CI job has.
const OF_JOBS: [&str; 3] = ["job_id", "pipeline_id", "project_path"];

/// What GitLab puts before the name of a role.
const ROLE_CLAIM: &str = "https://gitlab.org/claims/groups/";

/// What the tokens of an issuer are taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Tokens of GitLab's CI jobs (`id_tokens`).
    Jobs(JobRules),
    /// Tokens of people.
    Users(UserRules),
}

/// Which jobs are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRules {
    /// Jobs of these projects, by full path.
    pub projects: BTreeSet<String>,
    /// Jobs of every project below these groups, by full path.
    pub groups: BTreeSet<String>,
    /// Whether a job of an unprotected branch or tag may write, too.
    pub unprotected_refs: bool,
}

/// What people may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRules {
    /// The claim that lists the full paths of groups.
    pub groups_claim: String,
    /// Roles of GitLab in whose groups a user may write.
    pub write_roles: BTreeSet<String>,
    /// Members of these groups see everything.
    pub readers: BTreeSet<String>,
    /// Members of these groups see and write everything.
    pub admins: BTreeSet<String>,
    /// Which clusters are asked what a user may read there; none where none is.
    pub access_review: Option<Box<SubjectClaims>>,
}

/// As whom clusters are asked about a user, in the words of their own configuration of an issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectClaims {
    /// The claim that names the user.
    pub username_claim: String,
    /// The claim that lists the groups.
    pub groups_claim: String,
    /// What clusters make of both.
    pub rules: SubjectRules,
}

/// The claims of a token.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    aud: OneOrMore,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn names(&self, audience: &str) -> bool {
        match self {
            OneOrMore::One(one) => one == audience,
            OneOrMore::More(all) => all.iter().any(|one| one == audience),
        }
    }
}

/// Whether a token says that it is for this audience.
pub(super) fn is_for(token: &Unverified<'_>, audience: &str) -> bool {
    token.claims::<Claims>().is_some_and(|claims| claims.aud.names(audience))
}

/// Why a token that an issuer signed is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is over.
    Expired(Timestamp),
    /// It is not for us, or says too little.
    Because(&'static str),
}

fn time(seconds: f64) -> Option<Timestamp> {
    let fits = seconds.is_finite() && (0.0..1e11).contains(&seconds);
    fits.then(|| Timestamp::from_micros((seconds * 1e6) as i64))
}

impl Claims {
    /// That the token is of this issuer, for one of these audiences, and valid now.
    pub(super) fn check(&self, issuer: &str, audiences: &[&str], now: Timestamp) -> Result<(), Refused> {
        let for_us = audiences.iter().any(|audience| self.aud.names(audience));
        if self.iss != issuer || !for_us {
            return Err(Refused::Because("it is for another audience"));
        }
        let expires = time(self.exp).ok_or(Refused::Because("its `exp` is no time"))?;
        if expires.plus(SKEW) <= now {
            return Err(Refused::Expired(expires));
        }
        for begins in [self.nbf, self.iat].into_iter().flatten() {
            let begins = time(begins).ok_or(Refused::Because("its `nbf` or `iat` is no time"))?;
            if begins > now.plus(SKEW) {
                return Err(Refused::Because("it is from the future; compare the clocks"));
            }
        }
        Ok(())
    }

    /// Whose it is, as its issuer names them.
    pub(super) fn subject(&self) -> &str {
        &self.sub
    }

    /// From when on it is no longer valid.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        time(self.exp)
    }

    fn text(&self, claim: &str) -> Option<&str> {
        self.rest.get(claim)?.as_str().filter(|text| is_plain(text))
    }

    fn is_of_job(&self) -> bool {
        OF_JOBS.iter().any(|claim| self.rest.contains_key(*claim))
    }

    /// The caller that it makes by these rules; `issuer` is our name of the issuer.
    pub(super) fn caller(&self, issuer: &str, mapping: &Mapping) -> Result<Caller, Refused> {
        if !is_plain(&self.sub) {
            return Err(Refused::Because("its `sub` is no name"));
        }
        let caller = match mapping {
            Mapping::Jobs(rules) => self.job(issuer, rules),
            Mapping::Users(rules) => self.user(issuer, rules),
        };
        let (method, expires) = (AuthenticationMethod::SignedToken, self.expires());
        Ok(Caller { method, expires, ..caller? })
    }

    fn job(&self, issuer: &str, rules: &JobRules) -> Result<Caller, Refused> {
        let of_job = self.sub.starts_with("project_path:")
            && OF_JOBS.iter().all(|claim| self.rest.contains_key(*claim));
        let project = self
            .text("project_path")
            .filter(|_| of_job)
            .ok_or(Refused::Because("it is not that of a CI job"))?;
        if !Membership::new(&rules.projects, &rules.groups).holds(project) {
            return Err(Refused::Because("jobs of its project are not accepted"));
        }
        // GitLab writes it as text.
        let protected = match self.rest.get("ref_protected") {
            Some(Value::Bool(protected)) => *protected,
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        let environment = self.text("environment").map(str::to_owned);
        let number =
            self.rest.get("job_id").map(|id| id.to_string().replace('"', "")).filter(|id| is_plain(id));
        let user = self.text("user_login").unwrap_or("unknown");
        let own = Membership::new([project], [] as [&str; 0]);
        Ok(Caller {
            user: Some(format!("{user}, job {}", number.as_deref().unwrap_or("unknown"))),
            member: own.clone(),
            write: environment.is_some() && (protected || rules.unprotected_refs),
            writes: own,
            job: Some(Job { environment: environment.unwrap_or_default(), ref_protected: protected }),
            ..Caller::named(&format!("{issuer}:{project}"))
        })
    }

    fn user(&self, issuer: &str, rules: &UserRules) -> Result<Caller, Refused> {
        if self.is_of_job() || self.sub.starts_with("project_path:") {
            return Err(Refused::Because("it is that of a CI job"));
        }
        let groups = self.paths(&rules.groups_claim)?;
        let mut writes = BTreeSet::new();
        for role in &rules.write_roles {
            writes.extend(self.paths(&format!("{ROLE_CLAIM}{role}"))?);
        }
        let is_in = |some: &BTreeSet<String>| some.iter().any(|group| groups.contains(group));
        let admin = is_in(&rules.admins);
        let none: [&str; 0] = [];
        let all = groups.union(&writes);
        let everything = admin || is_in(&rules.readers);
        let asked = rules.access_review.as_deref().filter(|_| !everything);
        let subject = asked.map(|rules| self.subject_in_clusters(rules)).transpose()?;
        Ok(Caller {
            subject: subject.map(Arc::new),
            user: self.text("preferred_username").or_else(|| self.text("nickname")).map(str::to_owned),
            member: Membership::new(none, all),
            everything,
            write: admin || !writes.is_empty(),
            writes: Membership::new(none, &writes),
            writes_everything: admin,
            ..Caller::named(&format!("{issuer}:{}", self.sub))
        })
    }

    /// As whom clusters know a user.
    fn subject_in_clusters(&self, of: &SubjectClaims) -> Result<Subject, Refused> {
        let SubjectClaims { username_claim, groups_claim, rules } = of;
        let verified = self.rest.get("email_verified").is_none_or(|verified| *verified == Value::Bool(true));
        if username_claim == "email" && !verified {
            return Err(Refused::Because("its e-mail address is not verified"));
        }
        let name = if username_claim == "sub" { Some(self.subject()) } else { self.text(username_claim) };
        let name = name.ok_or(Refused::Because("the claim that names its user to clusters is not there"))?;
        let subject = rules.subject(name, self.names(groups_claim)?);
        subject.ok_or(Refused::Because("it names a user of Kubernetes itself"))
    }

    /// Names that a claim has, one or a list of them; none where it is not there.
    fn names(&self, claim: &str) -> Result<BTreeSet<String>, Refused> {
        let listed = match self.rest.get(claim) {
            None | Some(Value::Null) => return Ok(BTreeSet::new()),
            Some(Value::Array(listed)) => listed.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        texts(listed, is_plain, "a claim lists what is no name of a group")
    }

    /// Full paths that a claim lists; none where it is not there.
    fn paths(&self, claim: &str) -> Result<BTreeSet<String>, Refused> {
        let listed = match self.rest.get(claim) {
            None | Some(Value::Null) => return Ok(BTreeSet::new()),
            Some(Value::Array(listed)) => listed,
            Some(_) => return Err(Refused::Because("a claim of groups is no list")),
        };
        texts(listed, is_path, "a claim lists what is no path of a group")
    }
}

/// What a claim lists, where all of it is as it has to be.
fn texts(
    listed: &[Value],
    is_sound: fn(&str) -> bool,
    unsound: &'static str,
) -> Result<BTreeSet<String>, Refused> {
    if listed.len() > GROUPS_MAX {
        return Err(Refused::Because("it lists too many groups"));
    }
    let texts = listed.iter().map(|text| text.as_str().filter(|text| is_sound(text)).map(str::to_owned));
    texts.collect::<Option<_>>().ok_or(Refused::Because(unsound))
}

/// Whether a text can be shown in a log.
pub(super) fn is_plain(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

pub(super) fn is_path(path: &str) -> bool {
    is_plain(path) && path.split('/').all(|part| !part.is_empty())
}
