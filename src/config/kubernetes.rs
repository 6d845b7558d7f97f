//! The part of the file about clusters whose ServiceAccounts may ask.

use std::collections::HashMap;

use super::check::Check;
use super::file::{AccountGrant as Written, Issuer, Kubernetes};
use crate::http::auth::{AccountGrant, ReviewConfig};

impl Check {
    pub(super) fn kubernetes(&mut self, written: &[Kubernetes], issuers: &[Issuer]) -> Vec<ReviewConfig> {
        let (mut clusters, mut shown_to) = (HashMap::new(), HashMap::new());
        let mut reviews = Vec::new();
        for entry in written {
            self.reviewing_cluster(entry, issuers, &mut clusters);
            let (issuer, audience) = (&entry.issuer, &entry.audience);
            for (key, text) in [("issuer", issuer), ("audience", audience)] {
                if text.value.trim().is_empty() {
                    self.report(text.referenced, "bad_name", format!("the `{key}` of `kubernetes` is empty"));
                }
            }
            if issuers.iter().any(|one| one.issuer.value == issuer.value) {
                let message = format!("`{}` is an issuer of `issuers`, too", issuer.value);
                self.report(issuer.referenced, "duplicate", message).hint =
                    Some("take its tokens by one of the two".to_owned());
            }
            let pair = (issuer.value.as_str(), audience.value.as_str());
            if let Some(line) = shown_to.insert(pair, audience.referenced.line()) {
                let message = format!("duplicate issuer and audience, first in line {line}");
                self.report(audience.referenced, "duplicate", message).hint = Some(
                    "give each cluster an `audience` of its own, so that no other is shown its tokens"
                        .to_owned(),
                );
            }
            if entry.service_accounts.is_empty() {
                let message = format!("`kubernetes` accepts no ServiceAccount of `{}`", entry.cluster.value);
                self.report(entry.cluster.referenced, "sees_nothing", message).hint =
                    Some("add some to `service_accounts`".to_owned());
            }
            let access_review = entry.access_review.as_ref().map(|review| self.access_review(review));
            let asks = access_review.is_some();
            let service_accounts =
                entry.service_accounts.iter().map(|one| self.account_grant(one, asks)).collect();
            reviews.push(ReviewConfig {
                cluster: entry.cluster.value.clone(),
                issuer: issuer.value.clone(),
                audience: audience.value.clone(),
                service_accounts,
                access_review,
            });
        }
        reviews
    }

    fn reviewing_cluster<'f>(
        &mut self,
        entry: &'f Kubernetes,
        issuers: &[Issuer],
        lines: &mut HashMap<&'f str, u64>,
    ) {
        let (name, at) = (entry.cluster.value.as_str(), entry.cluster.referenced);
        if !self.own_clusters.contains(name) {
            // Whoever may write into a folder or a hub could else bring a cluster that vouches for anybody.
            self.report(at, "unknown_cluster", format!("`{name}` is not one of `clusters`")).hint =
                Some("name a cluster of `clusters`; those of folders and hubs review no tokens".to_owned());
        }
        if let Some(line) = lines.insert(name, at.line()) {
            self.report(at, "duplicate", format!("duplicate cluster `{name}`, first in line {line}"));
        }
        if issuers.iter().any(|issuer| issuer.name.value == name) {
            let message = format!("an issuer of `issuers` has the name of the cluster `{name}`");
            self.report(at, "duplicate", message).hint =
                Some("rename the issuer: names of callers begin with it".to_owned());
        }
    }

    /// `asks` says that the cluster says where they may read besides.
    fn account_grant(&mut self, written: &Written, asks: bool) -> AccountGrant {
        let (namespace, name) = (&written.namespace, &written.name);
        self.namespace(namespace);
        if let Some(name) = name
            && !AccountGrant::is_name(&name.value)
        {
            let message = format!("`{}` is not the name of a ServiceAccount", name.value);
            self.report(name.referenced, "bad_name", message).hint =
                Some("use its name alone, or leave `name` out for all of the namespace".to_owned());
        }
        let granted = !written.projects.is_empty() || !written.groups.is_empty() || written.everything;
        if !granted && (written.write || !asks) {
            let of = name.as_ref().map_or("*", |name| name.value.as_str());
            let message = format!("the ServiceAccount `{}/{of}` has no access", namespace.value);
            self.report(namespace.referenced, "sees_nothing", message).hint =
                Some("set `projects`, `groups`, or `everything: true`".to_owned());
        }
        AccountGrant {
            namespace: namespace.value.clone(),
            name: name.as_ref().map(|name| name.value.clone()),
            projects: self.full_paths("project", &written.projects),
            groups: self.full_paths("group", &written.groups),
            write: written.write,
            everything: written.everything,
        }
    }
}
