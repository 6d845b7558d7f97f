//! Kinds as people name them at a prompt.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::key::Kind;

/// The short names under which Kubernetes' API serves its own kinds; no rule leads from one to the other.
const SHORT: [(&str, &str, &str); 27] = [
    ("cj", "batch", "CronJob"),
    ("cm", "", "ConfigMap"),
    ("crd", "apiextensions.k8s.io", "CustomResourceDefinition"),
    ("crds", "apiextensions.k8s.io", "CustomResourceDefinition"),
    ("csr", "certificates.k8s.io", "CertificateSigningRequest"),
    ("deploy", "apps", "Deployment"),
    ("ds", "apps", "DaemonSet"),
    ("ep", "", "Endpoints"),
    ("hpa", "autoscaling", "HorizontalPodAutoscaler"),
    ("ing", "networking.k8s.io", "Ingress"),
    ("limits", "", "LimitRange"),
    ("netpol", "networking.k8s.io", "NetworkPolicy"),
    ("no", "", "Node"),
    ("ns", "", "Namespace"),
    ("pc", "scheduling.k8s.io", "PriorityClass"),
    ("pdb", "policy", "PodDisruptionBudget"),
    ("po", "", "Pod"),
    ("pv", "", "PersistentVolume"),
    ("pvc", "", "PersistentVolumeClaim"),
    ("quota", "", "ResourceQuota"),
    ("rc", "", "ReplicationController"),
    ("rs", "apps", "ReplicaSet"),
    ("sa", "", "ServiceAccount"),
    ("sc", "storage.k8s.io", "StorageClass"),
    ("sts", "apps", "StatefulSet"),
    ("svc", "", "Service"),
    ("vac", "storage.k8s.io", "VolumeAttributesClass"),
];

/// A kind as kubectl takes it: `deploy`, `deployments`, `Deployment`, `deployments.apps` or `deployments.v1.apps`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct KindName {
    text: String,
    /// In lower case.
    word: String,
    /// In lower case; none where it is not given.
    group: Option<String>,
}

impl KindName {
    /// Whether it means this kind: by its name, by the plural that follows from it, or by a short name of Kubernetes.
    pub fn means(&self, kind: &Kind) -> bool {
        let name = kind.kind.to_lowercase();
        let short = |(short, group, of): &(&str, &str, &str)| {
            self.word == *short && kind.group == *group && kind.kind == *of
        };
        self.is_of(&kind.group)
            && (self.word == name || self.word == plural(&name) || SHORT.iter().any(short))
    }

    /// Whether it means a kind of a group for which a cluster serves these names.
    pub fn is_one_of<'n>(&self, group: &str, names: impl IntoIterator<Item = &'n str>) -> bool {
        self.is_of(group) && names.into_iter().any(|name| name.eq_ignore_ascii_case(&self.word))
    }

    fn is_of(&self, group: &str) -> bool {
        self.group.as_deref().is_none_or(|own| own == group)
    }
}

/// The plural of a kind's name in lower case, as generators of custom kinds form it.
fn plural(name: &str) -> String {
    let vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match name.strip_suffix('y') {
        Some(stem) if !vowel(stem) => format!("{stem}ies"),
        _ if name.ends_with(['s', 'x']) || name.ends_with("ch") || name.ends_with("sh") => {
            format!("{name}es")
        }
        _ => format!("{name}s"),
    }
}

/// Whether a word is a version of the API, such as `v1` or `v2beta1`.
fn is_version(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl FromStr for KindName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, rest) = text.split_once('.').map_or((text, None), |(word, rest)| (word, Some(rest)));
        // A version is passed over: resources are the same in all of them.
        let group = rest.map(|rest| match rest.split_once('.') {
            Some((first, group)) if is_version(first) => group,
            None if is_version(rest) => "",
            _ => rest,
        });
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let dotted = |b: u8| plain(b) || b == b'.';
        let sound = |text: &str| text.bytes().all(dotted) && !text.ends_with('.') && !text.starts_with('.');
        if word.is_empty() || rest == Some("") || !word.bytes().all(plain) || !group.is_none_or(sound) {
            return Err(format!(
                "invalid kind `{text}`; write deploy, deployments, Deployment or Deployment.apps"
            ));
        }
        Ok(KindName { text: text.to_owned(), word: word.to_lowercase(), group: group.map(str::to_lowercase) })
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_as_kubectl_takes_them() {
        let cases = [
            ("deploy", "apps", "Deployment", true),
            ("deployment", "apps", "Deployment", true),
            ("Deployments", "apps", "Deployment", true),
            ("deployments.apps", "apps", "Deployment", true),
            ("deployments.v1.apps", "apps", "Deployment", true),
            ("deployments.extensions", "apps", "Deployment", false),
            ("deploy", "example.org", "Deployment", false),
            ("po", "", "Pod", true),
            ("pods.v1", "", "Pod", true),
            ("pods.v1", "metrics.k8s.io", "Pod", false),
            ("svc", "", "Service", true),
            ("services", "serving.knative.dev", "Service", true),
            ("svc", "serving.knative.dev", "Service", false),
            ("ingresses", "networking.k8s.io", "Ingress", true),
            ("networkpolicies", "networking.k8s.io", "NetworkPolicy", true),
            ("gateways", "gateway.networking.k8s.io", "Gateway", true),
            ("endpoints", "", "Endpoints", true),
            ("indices", "x.io", "Index", false),
            ("indexes", "x.io", "Index", true),
            ("pod", "", "PodTemplate", false),
        ];
        for (text, group, kind, expected) in cases {
            let name: KindName = text.parse().unwrap();
            assert_eq!(name.means(&Kind::new(group, kind)), expected, "{text} {kind}.{group}");
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn a_cluster_may_serve_a_kind_under_names_of_its_own() {
        let name: KindName = "ksvc".parse().unwrap();
        assert!(name.is_one_of("serving.knative.dev", ["services", "kservice", "ksvc"]));
        assert!(!name.is_one_of("serving.knative.dev", ["services"]));
        let name: KindName = "ksvc.other.io".parse().unwrap();
        assert!(!name.is_one_of("serving.knative.dev", ["ksvc"]));
    }

    #[test]
    fn what_names_no_kind_is_refused() {
        for text in ["", ".", "pods.", ".apps", "pods..apps", "po ds", "pods/web", "p*", "é"] {
            let refused = text.parse::<KindName>().unwrap_err();
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
        }
    }
}
