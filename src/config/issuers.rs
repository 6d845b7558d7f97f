//! The part of the file about issuers: whose signed tokens are taken, and what their claims mean.

use std::collections::{BTreeSet, HashMap};

use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::file::{CommandLine, Issuer, Jobs, Login, Users};
use crate::http::auth::{
    Algorithm, ClientSecret, CommandLineLogin, IssuerConfig, JobRules, LoginConfig, Mapping, UserRules,
    is_trustworthy,
};
use strandline_model::EnvironmentId;

/// The roles of which GitLab lists the groups.
const ROLES: [&str; 3] = ["owner", "maintainer", "developer"];

/// The claim of an ID token of GitLab that lists a user's groups.
const GROUPS_CLAIM: &str = "groups_direct";

impl Check {
    pub(super) fn issuers(&mut self, written: &[Issuer]) -> Vec<IssuerConfig> {
        let mut lines: HashMap<&str, u64> = HashMap::new();
        let mut issuers = Vec::new();
        for issuer in written {
            let (name, at) = (issuer.name.value.as_str(), issuer.name.referenced);
            if !EnvironmentId::new(name).is_plain() {
                self.report(at, "bad_name", format!("invalid issuer name `{name}`")).hint =
                    Some("use letters, digits, `-`, `_` and `.`".to_owned());
            } else if let Some(line) = lines.insert(name, at.line()) {
                self.report(at, "duplicate", format!("duplicate issuer `{name}`, first in line {line}"));
            }
            for address in [Some(&issuer.issuer), issuer.jwks_url.as_ref()].into_iter().flatten() {
                if !is_trustworthy(&address.value) {
                    let message = format!("`{}` is not an https URL", address.value);
                    self.report(address.referenced, "bad_address", message).hint = Some(
                        "keys that come unencrypted could be anybody's; http is for this machine alone"
                            .to_owned(),
                    );
                }
            }
            if issuer.audience.value.trim().is_empty() {
                self.report(issuer.audience.referenced, "bad_name", "the issuer's `audience` is empty")
                    .hint =
                    Some("use the URL of this server, and name it where tokens are requested".to_owned());
            }
            let login = issuer.login.as_ref().and_then(|login| self.login(login));
            let command_line = issuer.command_line.as_ref().and_then(|login| self.command_line(login));
            let before = |has: fn(&IssuerConfig) -> bool| issuers.iter().any(has);
            for (key, is_there, several) in [
                ("login", issuer.login.is_some(), before(|one| one.login.is_some())),
                ("command_line", issuer.command_line.is_some(), before(|one| one.command_line.is_some())),
            ] {
                if is_there && (several || issuer.users.is_none()) {
                    let message = format!("the issuer `{name}` cannot have `{key}`");
                    self.report(at, "bad_issuer", message).hint =
                        Some(format!("`{key}` is for one issuer, and for one with `users`"));
                }
            }
            let algorithms = self.algorithms(&issuer.algorithms);
            let mapping = match (&issuer.jobs, &issuer.users) {
                (Some(jobs), None) => Some(Mapping::Jobs(self.jobs(issuer, jobs))),
                (None, Some(users)) => Some(Mapping::Users(self.users(users, at))),
                _ => {
                    let message = format!("the issuer `{name}` needs either `jobs` or `users`");
                    self.report(at, "bad_issuer", message).hint =
                        Some("give jobs and users of one GitLab an entry each".to_owned());
                    None
                }
            };
            issuers.extend(mapping.map(|mapping| IssuerConfig {
                name: name.to_owned(),
                issuer: issuer.issuer.value.clone(),
                audience: issuer.audience.value.clone(),
                algorithms,
                jwks_url: issuer.jwks_url.as_ref().map(|address| address.value.clone()),
                mapping,
                login,
                command_line,
            }));
        }
        issuers
    }

    fn algorithms(&mut self, written: &[Spanned<String>]) -> Vec<Algorithm> {
        let mut algorithms = Vec::new();
        for algorithm in written {
            match algorithm.value.parse() {
                Ok(known) => algorithms.push(known),
                Err(()) => {
                    let message = format!("unsupported algorithm `{}`", algorithm.value);
                    let names = Algorithm::ALL.map(|one| format!("`{}`", one.as_str())).join(", ");
                    self.report(algorithm.referenced, "bad_word", message).hint =
                        Some(format!("use {names}"));
                }
            }
        }
        if written.is_empty() { vec![Algorithm::Rs256] } else { algorithms }
    }

    fn login(&mut self, written: &Login) -> Option<LoginConfig> {
        let (url, at) = (written.public_url.value.trim_end_matches('/'), written.public_url.referenced);
        if !is_trustworthy(url) || url.contains(['?', '#']) {
            self.report(at, "bad_address", format!("`{url}` is not an https URL")).hint =
                Some("browsers keep the session's cookie for https, or for this machine, alone".to_owned());
        }
        let client_secret = match &written.client_secret_file {
            None => None,
            Some(file) => Some(ClientSecret(self.secret(file)?)),
        };
        let scopes = written.scopes.clone().unwrap_or_else(|| vec!["profile".to_owned()]);
        Some(LoginConfig { public_url: url.to_owned(), client_secret, scopes })
    }

    fn command_line(&mut self, written: &CommandLine) -> Option<CommandLineLogin> {
        let client_id = written.client_id.value.trim();
        if client_id.is_empty() {
            let message = "the `client_id` of `command_line` is empty";
            self.report(written.client_id.referenced, "bad_name", message).hint =
                Some("use the client id of a public client that is registered at the issuer".to_owned());
            return None;
        }
        Some(CommandLineLogin {
            client_id: client_id.to_owned(),
            scopes: written.scopes.clone().unwrap_or_else(|| vec!["profile".to_owned()]),
            redirect_port: written.redirect_port.map(std::num::NonZeroU16::get),
        })
    }

    fn jobs(&mut self, issuer: &Issuer, written: &Jobs) -> JobRules {
        if written.projects.is_empty() && written.groups.is_empty() {
            let message = format!("the issuer `{}` lets in no jobs", issuer.name.value);
            self.report(issuer.name.referenced, "sees_nothing", message).hint = Some(
                "set `projects` or `groups` of `jobs`: whoever has an account there can run jobs".to_owned(),
            );
        }
        JobRules {
            projects: self.full_paths("project", &written.projects),
            groups: self.full_paths("group", &written.groups),
            unprotected_refs: written.unprotected_refs,
        }
    }

    fn users(&mut self, written: &Users, at: Location) -> UserRules {
        let mut write_roles = BTreeSet::new();
        for role in &written.write_roles {
            if !ROLES.contains(&role.value.as_str()) {
                let message = format!("unknown role `{}`", role.value);
                self.report(role.referenced, "bad_word", message).hint =
                    Some("use `owner`, `maintainer` and `developer`".to_owned());
            }
            write_roles.insert(role.value.clone());
        }
        let groups_claim = written.groups_claim.clone().unwrap_or_else(|| GROUPS_CLAIM.to_owned());
        let access_review = written
            .access_review
            .as_ref()
            .map(|review| Box::new(self.user_access_review(review, at, &groups_claim)));
        UserRules {
            groups_claim,
            write_roles,
            readers: self.full_paths("group", &written.readers),
            admins: self.full_paths("group", &written.admins),
            access_review,
        }
    }
}
