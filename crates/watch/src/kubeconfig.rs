//! Reads a kubeconfig, with care: it may name programs to run, and it contains credentials.

use std::path::Path;

use kube::config::{Context, KubeConfigOptions, Kubeconfig, KubeconfigError, LoadDataError};

use super::connect_error::ConnectError;
use super::kubeconfig_folder::read_text;
use strandline_syntax::diagnostics::{Mistake, of_syntax};

/// Reads a kubeconfig, where none is named that of KUBECONFIG or of the home directory, and takes the context, or the
/// current one, from it.
///
/// # Errors
/// When it cannot be read or used, or wants a program to be run or a file to be read that is not allowed.
pub(super) async fn read(
    path: Option<&Path>,
    context: Option<&str>,
    allow_exec_plugins: bool,
    self_contained: bool,
) -> Result<kube::Config, ConnectError> {
    let kubeconfig = match path {
        Some(path) if self_contained => read_text(path)
            .map_err(|error| KubeconfigError::ReadConfig(error, path.to_owned()))
            .and_then(|text| Kubeconfig::from_yaml(&text)),
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    choose(kubeconfig, context, allow_exec_plugins, self_contained).await
}

/// Takes the current context from the kubeconfig that somebody else keeps, which has to contain all that it needs.
///
/// # Errors
/// As [`read`]; or why there is none.
pub(super) async fn parse(
    text: &Result<String, String>,
    allow_exec_plugins: bool,
) -> Result<kube::Config, ConnectError> {
    let text = text.as_ref().map_err(|why| ConnectError::Kubeconfig(why.clone()))?;
    choose(Kubeconfig::from_yaml(text), None, allow_exec_plugins, true).await
}

async fn choose(
    kubeconfig: Result<Kubeconfig, KubeconfigError>,
    context: Option<&str>,
    allow_exec_plugins: bool,
    self_contained: bool,
) -> Result<kube::Config, ConnectError> {
    let kubeconfig = kubeconfig.map_err(|error| ConnectError::Kubeconfig(describe(error)))?;
    let available = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let name = match context.or(kubeconfig.current_context.as_deref()).filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => return Err(ConnectError::NoContext(available())),
    };
    let chosen = kubeconfig.contexts.iter().find(|context| context.name == name);
    let Some(chosen) = chosen.and_then(|context| context.context.as_ref()) else {
        return Err(ConnectError::UnknownContext { name, available: available() });
    };
    if let (Some(user), false) = (&chosen.user, allow_exec_plugins) {
        refuse_plugins(&kubeconfig, user)?;
    }
    if self_contained {
        refuse_files(&kubeconfig, chosen)?;
    }
    let options = KubeConfigOptions { context: Some(name), ..KubeConfigOptions::default() };
    kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| ConnectError::Kubeconfig(describe(error)))
}

/// What is wrong with a kubeconfig, in our words: the parser's messages quote the file, and many people read them.
fn describe(error: KubeconfigError) -> String {
    let address = |key: &str| format!("the `{key}` of its cluster is not an address");
    let data = |key: &str, error: LoadDataError| match error {
        LoadDataError::DecodeBase64(_) => format!("its `{key}-data` is not Base64"),
        LoadDataError::ReadFile(error, path) => {
            format!("its `{key}` is {}, which cannot be read: {error}", path.display())
        }
        LoadDataError::NoBase64DataOrFile => format!("its `{key}` is empty"),
    };
    match error {
        KubeconfigError::ReadConfig(error, path) => format!("{}: {error}", path.display()),
        KubeconfigError::Parse(error) => {
            let Mistake { line, column, message, .. } = of_syntax(&error);
            format!("line {line}, column {column}: {message}")
        }
        KubeconfigError::FindPath => "no home directory to look for it in; name the file".to_owned(),
        KubeconfigError::KindMismatch | KubeconfigError::ApiVersionMismatch => {
            "the files that KUBECONFIG names are of different kinds or versions".to_owned()
        }
        KubeconfigError::CurrentContextNotSet => "it has no current context".to_owned(),
        KubeconfigError::LoadContext(name) => format!("it has no context `{name}`"),
        KubeconfigError::LoadClusterOfContext(name) => format!("it has no cluster `{name}`"),
        KubeconfigError::MissingClusterUrl => "its cluster has no `server`".to_owned(),
        KubeconfigError::ParseClusterUrl(_) => address("server"),
        KubeconfigError::ParseProxyUrl(_) => address("proxy-url"),
        KubeconfigError::LoadCertificateAuthority(error) => data("certificate-authority", error),
        KubeconfigError::LoadClientCertificate(error) => data("client-certificate", error),
        KubeconfigError::LoadClientKey(error) => data("client-key", error),
        KubeconfigError::ParseCertificates(_) => "a certificate in it is not PEM".to_owned(),
        KubeconfigError::ParseNoProxy(_) => "the variable NO_PROXY cannot be read".to_owned(),
    }
}

/// A kubeconfig can name a program in two places: an exec plugin and the older auth provider.
fn refuse_plugins(kubeconfig: &Kubeconfig, user: &str) -> Result<(), ConnectError> {
    let named = kubeconfig.auth_infos.iter().find(|named| named.name == user);
    let Some(info) = named.and_then(|named| named.auth_info.as_ref()) else { return Ok(()) };
    let exec = info.exec.as_ref().map(|exec| exec.command.clone().unwrap_or_default());
    let provider = info.auth_provider.as_ref().and_then(|provider| provider.config.get("cmd-path").cloned());
    match exec.or(provider) {
        Some(command) => Err(ConnectError::ExecPlugin { user: user.to_owned(), command }),
        None => Ok(()),
    }
}

/// A kubeconfig can name files in four places.
fn refuse_files(kubeconfig: &Kubeconfig, chosen: &Context) -> Result<(), ConnectError> {
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == chosen.cluster);
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let user = kubeconfig.auth_infos.iter().find(|named| Some(&named.name) == chosen.user.as_ref());
    let user = user.and_then(|named| named.auth_info.as_ref());
    let named = [
        ("certificate-authority", cluster.and_then(|cluster| cluster.certificate_authority.as_ref())),
        ("client-certificate", user.and_then(|user| user.client_certificate.as_ref())),
        ("client-key", user.and_then(|user| user.client_key.as_ref())),
        ("tokenFile", user.and_then(|user| user.token_file.as_ref())),
    ];
    match named.into_iter().find(|(_, file)| file.is_some()) {
        Some((key, _)) => Err(ConnectError::NamesFile(key)),
        None => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    const KUBECONFIG: &str = r#"
current-context: plain
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: plain, user: {token: t}}]
contexts: [{name: plain, context: {cluster: c, user: plain}}]
"#;

    #[tokio::test]
    async fn a_broken_kubeconfig_is_told_by_its_place_and_shows_nothing_of_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        let certificate = "insecure-skip-tls-verify: true";
        let cases = [
            ("clusters: [\nusers: [{token: tulip", "line "),
            ("users: tulip", "expected a list"),
            ("users: [{name: u, user: {token: [tulip]}}]", "line 1, column "),
            (&KUBECONFIG.replace(certificate, "certificate-authority-data: tulip!"), "is not Base64"),
            (&KUBECONFIG.replace(certificate, "certificate-authority: /nowhere/tu"), "which cannot be read"),
            (&KUBECONFIG.replace("cluster: c,", "cluster: elsewhere,"), "it has no cluster `"),
        ];
        for (text, expected) in cases {
            std::fs::write(&path, text).unwrap();
            let message = read(Some(&path), None, false, false).await.unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains("tulip"), "{text}: {message}");
            let raw = ["failed to", "invalid type", "serde", "expected a sequence", "-->"];
            assert!(!raw.iter().any(|words| message.contains(words)), "{text}: {message}");
        }
    }

    #[tokio::test]
    async fn a_kubeconfig_of_a_folder_reads_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        let (user, verify) = ("user: {token: t}", "insecure-skip-tls-verify: true");
        let cases = [
            (KUBECONFIG.to_owned(), None),
            (KUBECONFIG.replace(user, "user: {tokenFile: /etc/hostname}"), Some("`tokenFile`")),
            (KUBECONFIG.replace(user, "user: {client-certificate: c}"), Some("`client-certificate`")),
            (KUBECONFIG.replace(user, "user: {client-key: /k}"), Some("`client-key`")),
            (KUBECONFIG.replace(verify, "certificate-authority: /c"), Some("`certificate-authority`")),
            (KUBECONFIG.replace(user, "user: {exec: {command: login}}"), Some("`login`")),
            (format!("{KUBECONFIG}# {}", "a".repeat(300_000)), Some("more than 262144 bytes")),
        ];
        for (text, expected) in cases {
            std::fs::write(&path, &text).unwrap();
            let message =
                read(Some(&path), None, false, true).await.map(drop).map_err(|error| error.to_string());
            match expected {
                None => assert_eq!(message, Ok(())),
                Some(words) => {
                    assert!(message.as_ref().is_err_and(|error| error.contains(words)), "{message:?}")
                }
            }
        }
    }
}
