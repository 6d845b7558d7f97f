//! Inventories of GitOps tools: what one of them keeps in a cluster, and marks as its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use strandline_syntax::{is_dns_label, is_subdomain};

/// As long as a Kubernetes name may be, and longer than any tool's own identifiers are.
const LENGTH_MAX: usize = 253;

/// The mark by which a tool finds what it manages in a cluster; in JSON and on the command line its text.
///
/// | text | what is meant |
/// |---|---|
/// | `cli-utils:ID`, or `ID` alone | the inventory id of kpt, of GitLab's former GitOps mode and of others built on cli-utils |
/// | `flux-kustomization:NAMESPACE/NAME` | a Kustomization of Flux |
/// | `flux-helmrelease:NAMESPACE/NAME` | a HelmRelease of Flux |
/// | `argocd:APP`, `argocd:NAMESPACE_APP` | an Application of Argo CD, with its namespace where that is not Argo CD's own |
/// | `argocd:APP@INSTALLATION` | the same of one Argo CD among several, by its `installationID` |
/// | `helm:NAMESPACE/RELEASE` | a release of Helm |
///
/// `argocd:NAMESPACE/APP`, as Argo CD's own command line writes it, is read as `argocd:NAMESPACE_APP`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Inventory {
    /// An inventory id of cli-utils.
    CliUtils(String),
    /// A Kustomization of Flux.
    FluxKustomization {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A HelmRelease of Flux.
    FluxHelmRelease {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An Application of Argo CD.
    ArgoCd {
        /// Its name in marks: `APP`, or `NAMESPACE_APP` outside of Argo CD's own namespace.
        application: String,
        /// Argo CD's `installationID`; none where it does not matter which Argo CD it is.
        installation: Option<String>,
    },
    /// A release of Helm.
    Helm {
        /// The namespace of the release.
        namespace: String,
        /// Its name.
        release: String,
    },
}

/// Why a text names no inventory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InventoryError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

const WAYS: &str = "write cli-utils:ID, flux-kustomization:NAMESPACE/NAME, flux-helmrelease:NAMESPACE/NAME, \
    argocd:APP or helm:NAMESPACE/RELEASE";

const FLUX_PATHS: &str = "write the full path, such as \
    kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/app";

impl Inventory {
    /// Reads GitLab's `flux_resource_path`: the path of a Kustomization or HelmRelease in the Kubernetes API, such as
    /// `helm.toolkit.fluxcd.io/v2/namespaces/shop/helmreleases/web`.
    ///
    /// `Kustomization/NAME` and `HelmRelease/NAME`, which GitLab's REST API shows in its examples, stand for the one
    /// in `namespace`, the environment's own.
    ///
    /// # Errors
    /// When it is the path of nothing that keeps an inventory.
    pub fn from_flux_path(path: &str, namespace: Option<&str>) -> Result<Self, InventoryError> {
        let plain = path.strip_prefix("/apis/").or_else(|| path.strip_prefix('/')).unwrap_or(path);
        let parts: Vec<&str> = plain.split('/').collect();
        let wrong = |message: String| InventoryError { message, hint: FLUX_PATHS.to_owned() };
        let (prefix, namespace, name) = match parts[..] {
            [group, version, "namespaces", namespace, resources, name] if is_dns_label(version) => {
                (flux_resources(group, resources), namespace, name)
            }
            [kind, name] => {
                let prefix = flux_kind(kind);
                let Some(namespace) = namespace.filter(|_| prefix.is_some()) else {
                    return Err(wrong(format!("`{path}` has no namespace")));
                };
                (prefix, namespace, name)
            }
            _ => (None, "", ""),
        };
        let inventory = prefix.and_then(|prefix| format!("{prefix}:{namespace}/{name}").parse().ok());
        inventory.ok_or_else(|| {
            wrong(format!("`{path}` is not the path of a Kustomization or HelmRelease of Flux"))
        })
    }

    /// The word before its colon.
    pub const fn prefix(&self) -> &'static str {
        match self {
            Inventory::CliUtils(_) => "cli-utils",
            Inventory::FluxKustomization { .. } => "flux-kustomization",
            Inventory::FluxHelmRelease { .. } => "flux-helmrelease",
            Inventory::ArgoCd { .. } => "argocd",
            Inventory::Helm { .. } => "helm",
        }
    }
}

fn flux_resources(group: &str, resources: &str) -> Option<&'static str> {
    match (group, resources) {
        ("kustomize.toolkit.fluxcd.io", "kustomizations") => Some("flux-kustomization"),
        ("helm.toolkit.fluxcd.io", "helmreleases") => Some("flux-helmrelease"),
        _ => None,
    }
}

fn flux_kind(kind: &str) -> Option<&'static str> {
    match kind {
        "Kustomization" => Some("flux-kustomization"),
        "HelmRelease" => Some("flux-helmrelease"),
        _ => None,
    }
}

impl fmt::Display for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.prefix())?;
        match self {
            Inventory::CliUtils(id) => f.write_str(id),
            Inventory::FluxKustomization { namespace, name }
            | Inventory::FluxHelmRelease { namespace, name }
            | Inventory::Helm { namespace, release: name } => write!(f, "{namespace}/{name}"),
            Inventory::ArgoCd { application, installation: None } => f.write_str(application),
            Inventory::ArgoCd { application, installation: Some(id) } => write!(f, "{application}@{id}"),
        }
    }
}

impl FromStr for Inventory {
    type Err = InventoryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (prefix, rest) = text.split_once(':').unwrap_or(("cli-utils", text));
        let wrong = |what: &str, hint: &str| InventoryError {
            message: format!("`{text}` is not {what}"),
            hint: hint.to_owned(),
        };
        let placed = |what: &str, hint: &str| in_namespace(rest).ok_or_else(|| wrong(what, hint));
        match prefix {
            "cli-utils" if is_id(rest) => Ok(Inventory::CliUtils(rest.to_owned())),
            "cli-utils" => Err(wrong("an inventory id", "an id has up to 253 characters and no spaces")),
            "flux-kustomization" => {
                placed("a Kustomization of Flux", "write flux-kustomization:NAMESPACE/NAME")
                    .map(|(namespace, name)| Inventory::FluxKustomization { namespace, name })
            }
            "flux-helmrelease" => placed("a HelmRelease of Flux", "write flux-helmrelease:NAMESPACE/NAME")
                .map(|(namespace, name)| Inventory::FluxHelmRelease { namespace, name }),
            "helm" => placed("a release of Helm", "write helm:NAMESPACE/RELEASE")
                .map(|(namespace, release)| Inventory::Helm { namespace, release }),
            "argocd" => argo_cd(rest).ok_or_else(|| {
                wrong(
                    "an Application of Argo CD",
                    "write argocd:APP, or argocd:NAMESPACE_APP outside of Argo CD's own namespace",
                )
            }),
            _ => Err(wrong("an inventory", WAYS)),
        }
    }
}

/// A namespace and a name.
fn in_namespace(text: &str) -> Option<(String, String)> {
    let (namespace, name) = text.split_once('/')?;
    (is_dns_label(namespace) && is_subdomain(name)).then(|| (namespace.to_owned(), name.to_owned()))
}

fn argo_cd(text: &str) -> Option<Inventory> {
    let (application, installation) =
        text.split_once('@').map_or((text, None), |(application, id)| (application, Some(id)));
    let application = application.replacen('/', "_", 1);
    let (namespace, name) = application
        .split_once('_')
        .map_or((None, application.as_str()), |(namespace, name)| (Some(namespace), name));
    let sound = is_subdomain(name) && namespace.is_none_or(is_dns_label) && installation.is_none_or(is_id);
    sound.then(|| Inventory::ArgoCd { installation: installation.map(str::to_owned), application })
}

/// Whether a text can be an identifier that a tool or its user made up.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= LENGTH_MAX && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

impl TryFrom<String> for Inventory {
    type Error = InventoryError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Inventory> for String {
    fn from(inventory: Inventory) -> Self {
        inventory.to_string()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_says_whose_inventory_it_is() {
        for (text, canonical) in [
            ("shop-inventory", "cli-utils:shop-inventory"),
            ("cli-utils:1655284258-123", "cli-utils:1655284258-123"),
            ("cli-utils:a:b", "cli-utils:a:b"),
            ("flux-kustomization:flux-system/app", "flux-kustomization:flux-system/app"),
            ("flux-helmrelease:shop/web.v2", "flux-helmrelease:shop/web.v2"),
            ("argocd:shop", "argocd:shop"),
            ("argocd:team-a_shop", "argocd:team-a_shop"),
            ("argocd:team-a/shop", "argocd:team-a_shop"),
            ("argocd:shop@west", "argocd:shop@west"),
            ("helm:shop/web", "helm:shop/web"),
        ] {
            let inventory: Inventory = text.parse().unwrap();
            assert_eq!(inventory.to_string(), canonical, "{text}");
            let json = serde_json::to_string(&inventory).unwrap();
            assert_eq!(json, format!("\"{canonical}\""));
            assert_eq!(serde_json::from_str::<Inventory>(&json).unwrap(), inventory);
        }
    }

    #[test]
    fn what_names_no_inventory_is_told_with_what_to_write() {
        for (text, what, hint) in [
            ("", "an inventory id", "no spaces"),
            ("an id", "an inventory id", "no spaces"),
            ("cli-utils:", "an inventory id", "no spaces"),
            ("flux:shop/web", "an inventory", "flux-kustomization:NAMESPACE/NAME"),
            ("flux-kustomization:app", "a Kustomization of Flux", "flux-kustomization:NAMESPACE/NAME"),
            ("flux-kustomization:Shop/app", "a Kustomization of Flux", "NAMESPACE/NAME"),
            ("flux-helmrelease:a/b/c", "a HelmRelease of Flux", "NAMESPACE/NAME"),
            ("helm:web", "a release of Helm", "helm:NAMESPACE/RELEASE"),
            ("argocd:", "an Application of Argo CD", "argocd:APP"),
            ("argocd:Shop", "an Application of Argo CD", "argocd:APP"),
            ("argocd:a_b_c", "an Application of Argo CD", "argocd:APP"),
            ("argocd:shop@", "an Application of Argo CD", "argocd:APP"),
        ] {
            let error = text.parse::<Inventory>().unwrap_err();
            assert_eq!(error.message, format!("`{text}` is not {what}"));
            assert!(error.hint.contains(hint), "{text}: {}", error.hint);
        }
        assert!("i".repeat(254).parse::<Inventory>().is_err());
        assert!(serde_json::from_str::<Inventory>("\"flux:x\"").is_err());
    }

    #[test]
    fn a_flux_path_names_a_kustomization_or_a_helm_release() {
        let path = |path: &str| Inventory::from_flux_path(path, Some("own")).map(|it| it.to_string());
        for (text, expected) in [
            (
                "kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/app",
                "flux-kustomization:flux-system/app",
            ),
            (
                "/apis/kustomize.toolkit.fluxcd.io/v1beta2/namespaces/a/kustomizations/b",
                "flux-kustomization:a/b",
            ),
            ("helm.toolkit.fluxcd.io/v2beta1/namespaces/shop/helmreleases/web", "flux-helmrelease:shop/web"),
            ("HelmRelease/flux-system", "flux-helmrelease:own/flux-system"),
            ("Kustomization/app", "flux-kustomization:own/app"),
        ] {
            assert_eq!(path(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "app",
            "HelmChart/app",
            "HelmRelease/",
            "helm.toolkit.fluxcd.io/v2/namespaces/shop/kustomizations/web",
            "kustomize.toolkit.fluxcd.io/v1/kustomizations/app",
            "kustomize.toolkit.fluxcd.io/v1/namespaces/Shop/kustomizations/app",
            "source.toolkit.fluxcd.io/v1/namespaces/shop/gitrepositories/app",
            "kustomize.toolkit.fluxcd.io/v1/namespaces/a/kustomizations/b/status",
        ] {
            let error = Inventory::from_flux_path(text, Some("own")).unwrap_err();
            assert!(error.message.contains(&format!("`{text}`")), "{error}");
            assert!(error.hint.contains("kustomize.toolkit.fluxcd.io/v1"), "{}", error.hint);
        }
        let placeless = Inventory::from_flux_path("HelmRelease/web", None).unwrap_err();
        assert_eq!(placeless.message, "`HelmRelease/web` has no namespace");
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "(cli-utils:|flux-kustomization:|argocd:|helm:)?[a-z0-9_@/:.-]{0,12}") {
            if let Ok(inventory) = text.parse::<Inventory>() {
                prop_assert_eq!(inventory.to_string().parse::<Inventory>(), Ok(inventory));
            }
        }

        #[test]
        fn no_path_makes_it_panic(path in "[a-zA-Z./]{0,60}", namespace in proptest::option::of("[a-z/]{0,4}")) {
            let _ = Inventory::from_flux_path(&path, namespace.as_deref());
        }
    }
}
