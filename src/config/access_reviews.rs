//! The part of the file about clusters that say who may read in them.

use std::collections::BTreeSet;

use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::file::{AccessReview, RESOURCE, USERNAME_CLAIM, UserAccessReview, VERB};
use crate::http::auth::{Permission, SubjectRules};

impl Check {
    pub(super) fn access_review(&mut self, written: &AccessReview) -> Permission {
        self.permission([written.verb.as_ref(), written.group.as_ref(), written.resource.as_ref()])
    }

    /// `users` is where the entry stands of whose people it is, and `groups` the claim that lists their groups.
    pub(super) fn user_access_review(
        &mut self,
        written: &UserAccessReview,
        users: Location,
        groups: &str,
    ) -> SubjectRules {
        let mut clusters = BTreeSet::new();
        if written.clusters.is_empty() {
            let message = "`access_review` of `users` asks no cluster";
            self.report(users, "sees_nothing", message).hint =
                Some("name some in its `clusters`, or remove it".to_owned());
        }
        for cluster in &written.clusters {
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
        let username_claim = self.claim(written.username_claim.as_ref(), USERNAME_CLAIM);
        let groups_claim = self.claim(written.groups_claim.as_ref(), groups);
        let permission =
            self.permission([written.verb.as_ref(), written.group.as_ref(), written.resource.as_ref()]);
        SubjectRules {
            clusters: clusters.into_iter().collect(),
            username_claim,
            username_prefix: written.username_prefix.clone().unwrap_or_default(),
            groups_claim,
            groups_prefix: written.groups_prefix.clone().unwrap_or_default(),
            permission,
        }
    }

    fn claim(&mut self, written: Option<&Spanned<String>>, usual: &str) -> String {
        let Some(written) = written else { return usual.to_owned() };
        if written.value.trim().is_empty() {
            self.report(written.referenced, "bad_name", "the name of a claim is empty");
        }
        written.value.clone()
    }

    fn permission(&mut self, [verb, group, resource]: [Option<&Spanned<String>>; 3]) -> Permission {
        let mut word = |key: &str, written: Option<&Spanned<String>>, usual: &str| {
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
