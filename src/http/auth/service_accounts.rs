//! ServiceAccounts of clusters, and what they may see and write.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claims::{Claims, Refused};
use super::jws::Unverified;
use crate::http::caller::Caller;
use crate::http::subject::{Permission, Subject};
use strandline_gitlab::Membership;
use strandline_model::Timestamp;
use strandline_protocol::AuthenticationMethod;
use strandline_syntax::is_dns_label;

/// What stands before namespace and name in the user name of a ServiceAccount.
const PREFIX: &str = "system:serviceaccount:";

/// The longest name of an object.
const NAME_BYTES_MAX: usize = 253;

/// A cluster that is asked whose the tokens of its ServiceAccounts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewConfig {
    /// The cluster's name.
    pub cluster: String,
    /// What its tokens say in `iss`, exactly.
    pub issuer: String,
    /// What they have to be for. No other entry has the same issuer and audience, so that a token is shown to its own
    /// cluster alone.
    pub audience: String,
    /// Which of its ServiceAccounts are accepted.
    pub service_accounts: Vec<AccountGrant>,
    /// What an account has to be allowed in a namespace to see what is there; none where the cluster is not asked.
    pub access_review: Option<Permission>,
}

/// What a ServiceAccount, or all of a namespace, may see and write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountGrant {
    /// The namespace.
    pub namespace: String,
    /// The name; none for all of the namespace.
    pub name: Option<String>,
    /// Projects whose environments it sees, by full path.
    pub projects: BTreeSet<String>,
    /// Groups below which it sees every project, by full path.
    pub groups: BTreeSet<String>,
    /// Whether it may also write, of what this grants.
    pub write: bool,
    /// Whether it sees everything.
    pub everything: bool,
}

impl AccountGrant {
    /// Whether a ServiceAccount can have this name.
    pub fn is_name(name: &str) -> bool {
        let sound = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(sound)
    }
}

/// A ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceAccount {
    namespace: String,
    name: String,
}

impl ServiceAccount {
    /// By its user name.
    pub(super) fn of_user(username: &str) -> Option<Self> {
        let (namespace, name) = username.strip_prefix(PREFIX)?.split_once(':')?;
        let account = ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() };
        (is_dns_label(namespace) && AccountGrant::is_name(name)).then_some(account)
    }

    /// Its user name.
    pub(super) fn user(&self) -> String {
        format!("{PREFIX}{}:{}", self.namespace, self.name)
    }

    /// Its groups, which follow from where it is.
    fn groups(&self) -> [String; 2] {
        ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{}", self.namespace)]
    }
}

impl ReviewConfig {
    /// Whose a token says that it is, where it is one that the cluster can be asked about: of its issuer, for us, valid now.
    pub(super) fn account(
        &self,
        token: &Unverified<'_>,
        now: Timestamp,
    ) -> Result<(ServiceAccount, Option<Timestamp>), Refused> {
        let incomplete = Refused::Because("a claim that is needed is not there, or of another type");
        let claims: Claims = token.claims().ok_or(incomplete)?;
        claims.check(&self.issuer, &[&self.audience], now)?;
        let account = ServiceAccount::of_user(claims.subject());
        let account = account.ok_or(Refused::Because("it is not that of a ServiceAccount"))?;
        Ok((account, claims.expires()))
    }

    fn grants<'g>(&'g self, account: &'g ServiceAccount) -> impl Iterator<Item = &'g AccountGrant> {
        let is_of = |grant: &&AccountGrant| {
            let named = grant.name.as_ref().is_none_or(|name| *name == account.name);
            named && grant.namespace == account.namespace
        };
        self.service_accounts.iter().filter(is_of)
    }

    /// Whether a ServiceAccount is accepted.
    pub(super) fn accepts(&self, account: &ServiceAccount) -> bool {
        self.grants(account).next().is_some()
    }

    /// The caller that a ServiceAccount is: with all that is granted to it together.
    pub(super) fn caller(&self, account: &ServiceAccount, expires: Option<Timestamp>) -> Caller {
        let (mut sees, mut writes) = (<[BTreeSet<&str>; 2]>::default(), <[BTreeSet<&str>; 2]>::default());
        let (mut everything, mut write, mut writes_everything) = (false, false, false);
        for grant in self.grants(account) {
            let paths = [&grant.projects, &grant.groups];
            for (all, granted) in sees.iter_mut().zip(paths) {
                all.extend(granted.iter().map(String::as_str));
            }
            if grant.write {
                for (all, granted) in writes.iter_mut().zip(paths) {
                    all.extend(granted.iter().map(String::as_str));
                }
            }
            everything |= grant.everything;
            write |= grant.write;
            writes_everything |= grant.everything && grant.write;
        }
        let member = |[projects, groups]: [BTreeSet<&str>; 2]| Membership::new(projects, groups);
        let user = account.user();
        let clusters = std::slice::from_ref(&self.cluster);
        let asked = self.access_review.as_ref().filter(|_| !everything);
        let subject =
            asked.map(|permission| Subject::new(user.clone(), account.groups(), clusters, permission));
        Caller {
            member: member(sees),
            subject: subject.map(Arc::new),
            everything,
            write,
            writes: member(writes),
            writes_everything,
            method: AuthenticationMethod::ServiceAccount,
            expires,
            ..Caller { user: Some(user.clone()), ..Caller::named(&format!("{}:{user}", self.cluster)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(namespace: &str, name: Option<&str>, projects: &[&str], groups: &[&str]) -> AccountGrant {
        let set = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        AccountGrant {
            namespace: namespace.to_owned(),
            name: name.map(str::to_owned),
            projects: set(projects),
            groups: set(groups),
            ..AccountGrant::default()
        }
    }

    fn config(service_accounts: Vec<AccountGrant>) -> ReviewConfig {
        let text = |text: &str| text.to_owned();
        let (cluster, issuer, audience) = (text("east"), text("i"), text("us"));
        ReviewConfig { cluster, issuer, audience, service_accounts, access_review: None }
    }

    fn account(user: &str) -> Option<ServiceAccount> {
        ServiceAccount::of_user(user)
    }

    #[test]
    fn a_service_account_is_known_by_its_user_name_and_by_no_other() {
        for name in ["a", "deployer", "a.b-c.0", &"x".repeat(253)] {
            let user = format!("system:serviceaccount:shop:{name}");
            assert_eq!(account(&user).map(|one| one.user()), Some(user));
        }
        for user in [
            "alice",
            "system:serviceaccount:shop",
            "system:serviceaccount:shop:",
            "system:serviceaccount::deployer",
            "system:serviceaccount:shop:a:b",
            "system:serviceaccount:Shop:a",
            "system:serviceaccount:shop.x:a",
            "system:serviceaccount:shop:A",
            "system:serviceaccount:shop:a b",
            "system:serviceaccount:shop:a\n",
            "system:serviceaccounts:shop:a",
            " system:serviceaccount:shop:a",
            "system:node:a",
            &format!("system:serviceaccount:shop:{}", "x".repeat(254)),
        ] {
            assert_eq!(account(user), None, "{user}");
        }
    }

    #[test]
    fn what_is_granted_to_an_account_and_to_its_namespace_adds_up_and_nothing_of_others() {
        let mut writer = grant("shop", Some("deployer"), &["shop/web"], &[]);
        writer.write = true;
        let mut reader = grant("monitoring", None, &[], &[]);
        reader.everything = true;
        let mut admin = grant("ops", Some("admin"), &[], &[]);
        (admin.everything, admin.write) = (true, true);
        let all = vec![writer, grant("shop", None, &["shop/db"], &["tools"]), reader, admin];
        let config = config(all);
        let of = |user: &str| {
            let account = account(&format!("system:serviceaccount:{user}")).expect("an account");
            config.accepts(&account).then(|| config.caller(&account, None))
        };
        let deployer = of("shop:deployer").expect("accepted");
        assert_eq!(deployer.name, "east:system:serviceaccount:shop:deployer");
        assert_eq!(deployer.user.as_deref(), Some("system:serviceaccount:shop:deployer"));
        let writes = |caller: &Caller, path: &str| caller.require_write_of(path).is_ok();
        for path in ["shop/web", "shop/db", "tools/x"] {
            assert!(deployer.has(path), "{path}");
            assert_eq!(
                writes(&deployer, path),
                path == "shop/web",
                "what is written needs a grant of its own"
            );
        }
        assert!(!deployer.has("shop/other") && !deployer.everything && !deployer.writes_everything);
        let other = of("shop:other").expect("accepted");
        assert!(other.has("shop/db") && !other.has("shop/web") && !other.write);
        let reader = of("monitoring:any").expect("accepted");
        assert!(reader.everything && !reader.write && !reader.writes_everything);
        let admin = of("ops:admin").expect("accepted");
        assert!(admin.everything && admin.write && admin.writes_everything);
        for user in ["ops:other", "shopping:deployer", "tools:deployer"] {
            assert_eq!(of(user), None, "{user}");
        }
    }
}
