//! The objects of a hub that are clusters, and the kubeconfig that each of them makes.

use std::collections::BTreeMap;

use data_encoding::BASE64_MIME_PERMISSIVE;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::managed;
use super::source::{CredentialProgram, HubSource};
use crate::kubeconfig_folder::BYTES_MAX;
use strandline_syntax::diagnostics::of_json;

/// The label with the name of a cluster of Cluster API.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// Secrets with credentials for other objects, by their namespaces.
pub(super) type Secrets = BTreeMap<String, Object>;

/// An object of a hub, as far as it is read.
#[derive(Deserialize)]
pub(super) struct Object {
    metadata: Metadata,
    /// Of a ManagedCluster.
    #[serde(default)]
    spec: Value,
    /// Of a Secret, in Base64.
    #[serde(default)]
    data: BTreeMap<String, String>,
    /// Of a ClusterProfile.
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: String,
    name: String,
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    access_providers: Vec<Provider>,
    /// What they were called before.
    #[serde(default)]
    credential_providers: Vec<Provider>,
}

/// A way to a cluster.
#[derive(Deserialize)]
struct Provider {
    name: String,
    /// As in a kubeconfig.
    #[serde(default)]
    cluster: Map<String, Value>,
}

/// The `config` of a Secret of Argo CD.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ArgocdConfig {
    username: String,
    password: String,
    bearer_token: String,
    tls_client_config: ArgocdTls,
    aws_auth_config: Option<Value>,
    exec_provider_config: Option<Value>,
    proxy_url: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ArgocdTls {
    insecure: bool,
    server_name: String,
    ca_data: String,
    cert_data: String,
    key_data: String,
}

impl Object {
    /// Its namespace and name.
    pub(super) fn place(&self) -> (&str, &str) {
        (&self.metadata.namespace, &self.metadata.name)
    }

    /// What people call it.
    pub(super) fn origin(&self, source: &HubSource) -> String {
        let kind = match source {
            HubSource::ClusterProfiles(_) => "ClusterProfile",
            HubSource::ManagedClusters(_) => return format!("ManagedCluster {}", self.metadata.name),
            _ => "Secret",
        };
        format!("{kind} {}/{}", self.metadata.namespace, self.metadata.name)
    }

    /// Why it is no cluster of the hub yet, or no more.
    pub(super) fn why_outside(&self, source: &HubSource) -> Option<&'static str> {
        if !matches!(source, HubSource::ManagedClusters(_)) {
            return None;
        }
        if self.metadata.deletion_timestamp.is_some() {
            return Some("it is being deleted");
        }
        managed::why_not_accepted(&self.spec)
    }

    /// The name of the cluster that it is; none where it is none.
    pub(super) fn cluster_name(&self, source: &HubSource) -> Option<String> {
        let name = &self.metadata.name;
        match source {
            // Others with the label are certificates, such as `<cluster>-ca`.
            HubSource::ClusterApi => {
                let cluster = self.metadata.labels.get(CLUSTER_NAME)?;
                (name.strip_suffix("-kubeconfig")? == cluster).then(|| cluster.clone())
            }
            HubSource::Argocd => Some(self.text("name").unwrap_or_else(|_| name.clone())),
            HubSource::Secrets(_) | HubSource::ClusterProfiles(_) | HubSource::ManagedClusters(_) => {
                Some(name.clone())
            }
        }
    }

    /// Its kubeconfig, or why it makes none.
    pub(super) fn kubeconfig(&self, source: &HubSource, secrets: &Secrets) -> Result<String, String> {
        match source {
            HubSource::ClusterApi => self.text("value"),
            HubSource::Secrets(key) => self.text(key),
            HubSource::Argocd => self.of_argocd(),
            HubSource::ClusterProfiles(programs) => self.of_profile(programs),
            HubSource::ManagedClusters(account) => {
                let name = &self.metadata.name;
                let (cluster, user) = managed::access(&self.spec, name, account, secrets.get(name))?;
                Ok(kubeconfig(cluster, user))
            }
        }
    }

    /// Whether a Secret has this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.data.contains_key(key)
    }

    /// A value of a Secret.
    pub(super) fn text(&self, key: &str) -> Result<String, String> {
        let Some(data) = self.data.get(key) else { return Err(format!("it has no key `{key}`")) };
        let bytes = BASE64_MIME_PERMISSIVE
            .decode(data.as_bytes())
            .map_err(|_| format!("its key `{key}` is not Base64"))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(format!("its key `{key}` has more than {BYTES_MAX} bytes"));
        }
        String::from_utf8(bytes).map_err(|_| format!("its key `{key}` is not UTF-8"))
    }

    fn of_argocd(&self) -> Result<String, String> {
        let server = self.text("server")?;
        let config = self.text("config").unwrap_or_else(|_| "{}".to_owned());
        let config: ArgocdConfig = serde_json::from_str(&config)
            .map_err(|error| format!("its key `config`: {}", of_json(&error)))?;
        if config.aws_auth_config.is_some() || config.exec_provider_config.is_some() {
            return Err(
                "its credentials come from a program or from AWS, which an object of a hub cannot ask for; \
                        give it a bearer token or a client certificate"
                    .to_owned(),
            );
        }
        let tls = config.tls_client_config;
        let mut cluster = Map::new();
        let mut user = Map::new();
        cluster.insert("server".to_owned(), json!(server));
        if tls.insecure {
            cluster.insert("insecure-skip-tls-verify".to_owned(), json!(true));
        }
        let of_cluster = [
            ("certificate-authority-data", tls.ca_data),
            ("tls-server-name", tls.server_name),
            ("proxy-url", config.proxy_url),
        ];
        let of_user = [
            ("token", config.bearer_token),
            ("username", config.username),
            ("password", config.password),
            ("client-certificate-data", tls.cert_data),
            ("client-key-data", tls.key_data),
        ];
        for (map, keys) in [(&mut cluster, &of_cluster[..]), (&mut user, &of_user[..])] {
            let written = keys.iter().filter(|(_, value)| !value.is_empty());
            map.extend(written.map(|(key, value)| ((*key).to_owned(), json!(value))));
        }
        Ok(kubeconfig(cluster, user))
    }

    fn of_profile(&self, programs: &[CredentialProgram]) -> Result<String, String> {
        let offered = || self.status.access_providers.iter().chain(&self.status.credential_providers);
        let chosen = programs.iter().find_map(|program| {
            offered().find(|offer| offer.name == program.provider).map(|offer| (program, offer))
        });
        let Some((program, offer)) = chosen else {
            let names: Vec<_> = offered().map(|offer| format!("`{}`", offer.name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("none of `providers` is one of its access providers: {names}"));
        };
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": program.command,
            "args": program.args,
            "interactiveMode": "Never",
            "provideClusterInfo": true,
        });
        Ok(kubeconfig(offer.cluster.clone(), Map::from_iter([("exec".to_owned(), exec)])))
    }
}

/// A kubeconfig of one cluster and one user; JSON is YAML.
fn kubeconfig(cluster: Map<String, Value>, user: Map<String, Value>) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": cluster}],
        "users": [{"name": "hub", "user": user}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "hub"}}],
    })
    .to_string()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use data_encoding::BASE64;

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    fn secret(name: &str, labels: Value, data: &[(&str, &str)]) -> Object {
        let data: Map<String, Value> = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(BASE64.encode(value.as_bytes()))))
            .collect();
        object(json!({"metadata": {"name": name, "namespace": "fleet", "labels": labels}, "data": data}))
    }

    #[test]
    fn cluster_api_keeps_a_kubeconfig_beside_other_secrets_of_the_cluster() {
        let labels = json!({CLUSTER_NAME: "eu-1"});
        let named = |name: &str| {
            secret(name, labels.clone(), &[("value", "text")]).cluster_name(&HubSource::ClusterApi)
        };
        assert_eq!(named("eu-1-kubeconfig").as_deref(), Some("eu-1"));
        assert_eq!(named("eu-1-ca"), None);
        assert_eq!(named("eu-2-kubeconfig"), None, "another's name");
        let kubeconfig = |object: Object| object.kubeconfig(&HubSource::ClusterApi, &Secrets::new());
        assert_eq!(kubeconfig(secret("a", json!({}), &[("value", "text")])), Ok("text".to_owned()));
        assert_eq!(kubeconfig(secret("a", json!({}), &[])), Err("it has no key `value`".to_owned()));
    }

    #[test]
    fn a_secret_of_argo_cd_becomes_a_kubeconfig_and_runs_no_program() {
        let of = |config: &str| {
            let data = [("name", "eu-1"), ("server", "https://127.0.0.1:1"), ("config", config)];
            let object = secret("cluster-1", json!({}), &data);
            assert_eq!(object.cluster_name(&HubSource::Argocd).as_deref(), Some("eu-1"));
            object.kubeconfig(&HubSource::Argocd, &Secrets::new())
        };
        let text = of(r#"{"bearerToken": "t", "tlsClientConfig": {"caData": "Y2E=", "serverName": "api"}}"#)
            .unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        let cluster = json!({"server": "https://127.0.0.1:1", "certificate-authority-data": "Y2E=", "tls-server-name": "api"});
        assert_eq!(read["clusters"][0]["cluster"], cluster);
        assert_eq!(read["users"][0]["user"], json!({"token": "t"}));
        assert!(of(r#"{"execProviderConfig": {"command": "sh"}}"#).unwrap_err().contains("a program"));
        let broken = of(r#"{"bearerToken": ["tulip"]}"#).unwrap_err();
        assert!(broken.contains("`config`") && !broken.contains("tulip"), "{broken}");
    }

    #[test]
    fn a_profile_names_a_provider_and_the_configuration_names_its_program() {
        let program = CredentialProgram {
            provider: "spiffe".into(),
            command: "/opt/spiffe".into(),
            args: vec!["--jwt".into()],
        };
        let source = HubSource::ClusterProfiles(vec![program]);
        for field in ["accessProviders", "credentialProviders"] {
            let offers = json!([
                {"name": "other", "cluster": {"server": "https://other"}},
                {"name": "spiffe", "cluster": {"server": "https://eu", "extensions": [
                    {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "eu-1"}}]}},
            ]);
            let profile = object(
                json!({"metadata": {"name": "eu-1", "namespace": "fleet"}, "status": {field: offers}}),
            );
            let read: Value =
                serde_json::from_str(&profile.kubeconfig(&source, &Secrets::new()).unwrap()).unwrap();
            assert_eq!(read["clusters"][0]["cluster"], offers[1]["cluster"]);
            let exec = &read["users"][0]["user"]["exec"];
            assert_eq!(
                (&exec["command"], &exec["provideClusterInfo"]),
                (&json!("/opt/spiffe"), &json!(true))
            );
            let without = HubSource::ClusterProfiles(Vec::new());
            let none = profile.kubeconfig(&without, &Secrets::new()).unwrap_err();
            assert!(none.contains("`other`, `spiffe`"), "{none}");
        }
    }
}
