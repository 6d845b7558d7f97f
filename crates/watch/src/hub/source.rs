//! What the clusters of a hub are.

use strandline_syntax::percent_encode;

/// What a hub keeps its clusters as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubSource {
    /// Secrets `<cluster>-kubeconfig` of Cluster API.
    ClusterApi,
    /// Secrets of Argo CD.
    Argocd,
    /// Secrets that have a kubeconfig under this key.
    Secrets(String),
    /// ClusterProfiles, with the programs that give credentials, by the name of the provider.
    ClusterProfiles(Vec<CredentialProgram>),
    /// ManagedClusters of Open Cluster Management, each with the token of the ManagedServiceAccount of this name.
    ManagedClusters(String),
}

/// A program that gives credentials for clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialProgram {
    /// The name under which ClusterProfiles offer it.
    pub provider: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Objects that are read of a hub.
pub(super) struct Listed {
    /// Their list, without a query.
    pub(super) path: String,
    labels: String,
    fields: String,
}

impl Listed {
    /// What narrows the list, as the end of a query.
    pub(super) fn selectors(&self) -> String {
        let selectors = [("labelSelector", &self.labels), ("fieldSelector", &self.fields)];
        let written = selectors.into_iter().filter(|(_, selector)| !selector.is_empty());
        written.map(|(name, selector)| format!("&{name}={}", percent_encode(selector))).collect()
    }
}

impl HubSource {
    /// The objects that are clusters, in this namespace and with these labels, and after them those with their credentials.
    pub(super) fn lists(&self, namespace: Option<&str>, selector: &str) -> Vec<Listed> {
        let (root, resource) = match self {
            HubSource::ClusterProfiles(_) => ("/apis/multicluster.x-k8s.io/v1alpha1", "clusterprofiles"),
            HubSource::ManagedClusters(_) => {
                ("/apis/cluster.open-cluster-management.io/v1", "managedclusters")
            }
            _ => ("/api/v1", "secrets"),
        };
        let path = match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
            None => format!("{root}/{resource}"),
        };
        let both: Vec<&str> =
            self.selector().into_iter().chain([selector]).filter(|text| !text.is_empty()).collect();
        let mut lists = vec![Listed { path, labels: both.join(","), fields: String::new() }];
        if let HubSource::ManagedClusters(account) = self {
            // A right to Secrets of one name is enough for this.
            lists.push(Listed {
                path: "/api/v1/secrets".to_owned(),
                labels: "authentication.open-cluster-management.io/is-managed-serviceaccount=true".to_owned(),
                fields: format!("metadata.name={account}"),
            });
        }
        lists
    }

    /// Which of them are clusters.
    fn selector(&self) -> Option<&'static str> {
        match self {
            HubSource::ClusterApi => Some("cluster.x-k8s.io/cluster-name"),
            HubSource::Argocd => Some("argocd.argoproj.io/secret-type=cluster"),
            HubSource::Secrets(_) | HubSource::ClusterProfiles(_) | HubSource::ManagedClusters(_) => None,
        }
    }

    /// Whether its clusters are in namespaces.
    pub fn is_namespaced(&self) -> bool {
        !matches!(self, HubSource::ManagedClusters(_))
    }
}
