//! The part of the file about clusters that say who may read in them.

use std::collections::BTreeSet;

use http::HeaderName;
use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::file::{AccessReview, ProxyAccessReview, RESOURCE, USERNAME_CLAIM, UserAccessReview, VERB};
use crate::http::auth::{Permission, SubjectClaims, SubjectHeaders, SubjectRules};

impl Check {
    pub(super) fn access_review(&mut self, written: &AccessReview) -> Permission {
        self.permission([&written.verb, &written.group, &written.resource])
    }

    /// `users` is where the entry stands of whose people it is, and `groups` the claim that lists their groups.
    pub(super) fn user_access_review(
        &mut self,
        written: &UserAccessReview,
        users: Location,
        groups: &str,
    ) -> SubjectClaims {
        SubjectClaims {
            username_claim: self.claim(written.username_claim.as_ref(), USERNAME_CLAIM),
            groups_claim: self.claim(written.groups_claim.as_ref(), groups),
            rules: SubjectRules {
                clusters: self.asked_clusters(&written.clusters, ("users", users)),
                username_prefix: written.username_prefix.clone().unwrap_or_default(),
                groups_prefix: written.groups_prefix.clone().unwrap_or_default(),
                permission: self.permission([&written.verb, &written.group, &written.resource]),
            },
        }
    }

    /// `proxy` is where it stands, and these are the headers with the user and the groups.
    pub(super) fn proxy_access_review(
        &mut self,
        written: &ProxyAccessReview,
        proxy: Location,
        [user, groups]: [&HeaderName; 2],
    ) -> SubjectHeaders {
        let mut header = |written: &Option<Spanned<String>>, usual: &HeaderName| {
            written.as_ref().map_or_else(|| usual.clone(), |written| self.header(Some(written), ""))
        };
        SubjectHeaders {
            user_header: header(&written.user_header, user),
            groups_header: header(&written.groups_header, groups),
            rules: SubjectRules {
                clusters: self.asked_clusters(&written.clusters, ("proxy", proxy)),
                username_prefix: written.username_prefix.clone().unwrap_or_default(),
                groups_prefix: written.groups_prefix.clone().unwrap_or_default(),
                permission: self.permission([&written.verb, &written.group, &written.resource]),
            },
        }
    }

    /// The clusters that are asked about people; `of` says whose people, and where that stands.
    fn asked_clusters(&mut self, written: &[Spanned<String>], of: (&str, Location)) -> Vec<String> {
        let mut clusters = BTreeSet::new();
        if written.is_empty() {
            let (key, at) = of;
            let message = format!("`access_review` of `{key}` asks no cluster");
            self.report(at, "sees_nothing", message).hint =
                Some("name some in its `clusters`, or remove it".to_owned());
        }
        for cluster in written {
            let (name, at) = (cluster.value.as_str(), cluster.referenced);
            if !self.own_clusters.contains(name) {
                self.report(at, "unknown_cluster", format!("`{name}` is not one of `clusters`")).hint = Some(
                    "name clusters of `clusters`; those of folders and hubs are not asked who may read in them"
                        .to_owned(),
                );
            } else if !clusters.insert(name.to_owned()) {
                self.report(at, "duplicate", format!("duplicate cluster `{name}`"));
            }
        }
        clusters.into_iter().collect()
    }

    fn claim(&mut self, written: Option<&Spanned<String>>, usual: &str) -> String {
        let Some(written) = written else { return usual.to_owned() };
        if written.value.trim().is_empty() {
            self.report(written.referenced, "bad_name", "the name of a claim is empty");
        }
        written.value.clone()
    }

    fn permission(&mut self, [verb, group, resource]: [&Option<Spanned<String>>; 3]) -> Permission {
        let mut word = |key: &str, written: &Option<Spanned<String>>, usual: &str| {
            let Some(written) = written else { return usual.to_owned() };
            let sound = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
            let is_word = written.value.bytes().all(sound) && (key == "group" || !written.value.is_empty());
            if !is_word && written.value != "*" {
                let message = format!("`{}` is not the `{key}` of a permission", written.value);
                self.report(written.referenced, "bad_word", message).hint =
                    Some("use words such as `list` and `pods`, in lower case, or `*` for all".to_owned());
            }
            written.value.clone()
        };
        Permission {
            verb: word("verb", verb, VERB),
            group: word("group", group, ""),
            resource: word("resource", resource, RESOURCE),
        }
    }
}
