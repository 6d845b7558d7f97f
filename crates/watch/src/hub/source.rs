//! What the clusters of a hub are.

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

impl HubSource {
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let (root, resource) = match self {
            HubSource::ClusterProfiles(_) => ("/apis/multicluster.x-k8s.io/v1alpha1", "clusterprofiles"),
            _ => ("/api/v1", "secrets"),
        };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
            None => format!("{root}/{resource}"),
        }
    }

    /// Which of them are clusters.
    pub(super) fn selector(&self) -> Option<&'static str> {
        match self {
            HubSource::ClusterApi => Some("cluster.x-k8s.io/cluster-name"),
            HubSource::Argocd => Some("argocd.argoproj.io/secret-type=cluster"),
            HubSource::Secrets(_) | HubSource::ClusterProfiles(_) => None,
        }
    }
}
