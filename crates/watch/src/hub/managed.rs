//! ManagedClusters of Open Cluster Management: the address that a cluster reported of itself, and the token that the add-on
//! managed-serviceaccount keeps for it.
//!
//! Both are of the namespace with the cluster's name, so that a cluster of the fleet can have its own token sent to an address of
//! its choice, and no token of another.

use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use super::objects::Object;

/// The keys of the Secret of a ManagedServiceAccount.
const TOKEN: &str = "token";
const AUTHORITY: &str = "ca.crt";

/// A part of a kubeconfig.
type Part = Map<String, Value>;

/// Why the hub has not accepted it; none where it has.
pub(super) fn why_not_accepted(spec: &Value) -> Option<&'static str> {
    match spec["hubAcceptsClient"] {
        Value::Bool(true) => None,
        _ => Some("the hub has not accepted it (`hubAcceptsClient`)"),
    }
}

/// The cluster and the user of its kubeconfig, or why it has none.
pub(super) fn access(
    spec: &Value,
    name: &str,
    account: &str,
    secret: Option<&Object>,
) -> Result<(Part, Part), String> {
    let config = &spec["managedClusterClientConfigs"][0];
    let Some(url) = config["url"].as_str().filter(|url| !url.is_empty()) else {
        return Err("it has no address; set `spec.managedClusterClientConfigs`".to_owned());
    };
    // Whoever listens would have the token, and what answers without TLS inside a network is rarely an API server.
    if !url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")) {
        return Err(
            "its address does not begin with https://, and would get the token in the clear".to_owned()
        );
    }
    let Some(secret) = secret else {
        return Err(format!(
            "the hub has no Secret {name}/{account} with a token; create the ManagedServiceAccount `{account}` in the \
             namespace `{name}`"
        ));
    };
    let of_secret = |why| format!("Secret {name}/{account}: {why}");
    let token = secret.text(TOKEN).map_err(of_secret)?.trim().to_owned();
    if token.is_empty() {
        return Err(of_secret(format!("its key `{TOKEN}` is empty")));
    }
    let authority = match config["caBundle"].as_str().filter(|bundle| !bundle.is_empty()) {
        Some(bundle) => Some(bundle.to_owned()),
        // The cluster's own, where nothing else is said. Verification is never off.
        None if secret.has(AUTHORITY) => {
            Some(BASE64.encode(secret.text(AUTHORITY).map_err(of_secret)?.as_bytes()))
        }
        None => None,
    };
    let mut cluster = Part::from_iter([("server".to_owned(), json!(url))]);
    if let Some(authority) = authority.filter(|authority| !authority.is_empty()) {
        cluster.insert("certificate-authority-data".to_owned(), json!(authority));
    }
    Ok((cluster, Part::from_iter([("token".to_owned(), json!(token))])))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn secret(data: &[(&str, &str)]) -> Object {
        let data: Part = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(BASE64.encode(value.as_bytes()))))
            .collect();
        serde_json::from_value(json!({"metadata": {"name": "reader", "namespace": "eu-1"}, "data": data}))
            .unwrap()
    }

    fn at(url: &str, bundle: &str) -> Value {
        json!({"managedClusterClientConfigs": [{"url": url, "caBundle": bundle}, {"url": "https://other"}]})
    }

    #[test]
    fn the_first_address_is_asked_with_the_token_of_the_account() {
        let secret = secret(&[("token", "t\n"), ("ca.crt", "own")]);
        let (cluster, user) =
            access(&at("https://eu-1", "YnVuZGxl"), "eu-1", "reader", Some(&secret)).unwrap();
        assert_eq!(user["token"], "t");
        assert_eq!(
            (&cluster["server"], &cluster["certificate-authority-data"]),
            (&json!("https://eu-1"), &json!("YnVuZGxl"))
        );
        // Without a bundle the cluster's own authority is the only one, and without that those of the machine are.
        let (cluster, _) = access(&at("HTTPS://eu-1", ""), "eu-1", "reader", Some(&secret)).unwrap();
        assert_eq!(cluster["certificate-authority-data"], BASE64.encode(b"own"));
        let without = super::tests::secret(&[("token", "t")]);
        let (cluster, _) = access(&at("https://eu-1", ""), "eu-1", "reader", Some(&without)).unwrap();
        assert_eq!(cluster.keys().collect::<Vec<_>>(), ["server"]);
    }

    #[test]
    fn what_is_missing_is_named_and_no_token_goes_out_in_the_clear() {
        let with = |data: &[(&str, &str)]| Some(secret(data));
        let token = || with(&[("token", "canary")]);
        let cases = [
            (json!({}), token(), "`spec.managedClusterClientConfigs`"),
            (
                json!({"managedClusterClientConfigs": "no list"}),
                token(),
                "`spec.managedClusterClientConfigs`",
            ),
            (at("http://169.254.169.254/latest", ""), token(), "https://"),
            (at("é".repeat(9).as_str(), ""), token(), "https://"),
            (
                at("https://eu-1", ""),
                None,
                "no Secret eu-1/reader with a token; create the ManagedServiceAccount `reader`",
            ),
            (
                at("https://eu-1", ""),
                with(&[("ca.crt", "canary")]),
                "Secret eu-1/reader: it has no key `token`",
            ),
            (
                at("https://eu-1", ""),
                with(&[("token", " \n")]),
                "Secret eu-1/reader: its key `token` is empty",
            ),
        ];
        for (spec, secret, expected) in cases {
            let why = access(&spec, "eu-1", "reader", secret.as_ref()).unwrap_err();
            assert!(why.contains(expected) && !why.contains("canary"), "{spec}: {why}");
        }
        for spec in
            [json!(null), json!({}), json!({"hubAcceptsClient": false}), json!({"hubAcceptsClient": "true"})]
        {
            assert!(why_not_accepted(&spec).is_some(), "{spec}");
        }
        assert_eq!(why_not_accepted(&json!({"hubAcceptsClient": true})), None);
    }
}
