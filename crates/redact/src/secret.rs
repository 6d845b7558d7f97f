//! What of a Secret may be known.

use std::borrow::Cow;

use super::Mask;
use super::shapes::is_reference;
use strandline_object::json::{Members, quote, unquote};

/// Annotations of Secrets whose values say where the Secret came from, not what is in it.
const HARMLESS_ANNOTATIONS: [&str; 8] = [
    "kubernetes.io/service-account.",
    "meta.helm.sh/",
    "helm.sh/",
    "argocd.argoproj.io/",
    "cert-manager.io/",
    "config.k8s.io/",
    "config.kubernetes.io/",
    "app.gitlab.com/",
];

/// Whether this is a Secret, however it is written: dumps and audit logs hold what a server would refuse.
pub(super) fn is_secret(api_version: &str, kind: &str) -> bool {
    let kind = kind.trim();
    let group = api_version.trim().rsplit_once('/').map_or("", |(group, _)| group);
    (kind.eq_ignore_ascii_case("Secret") || kind.eq_ignore_ascii_case("Secrets"))
        && (group.is_empty() || group.eq_ignore_ascii_case("core") || group.eq_ignore_ascii_case("api"))
}

/// Whether a `type` is that of a Secret.
pub(super) fn is_type(text: &str) -> bool {
    const TYPES: [&str; 4] =
        ["Opaque", "helm.sh/release.v1", "bootstrap.kubernetes.io/token", "istio.io/ca-root"];
    const BUILT_IN: [&str; 6] =
        ["tls", "dockercfg", "dockerconfigjson", "basic-auth", "ssh-auth", "service-account-token"];
    TYPES.contains(&text) || text.strip_prefix("kubernetes.io/").is_some_and(|rest| BUILT_IN.contains(&rest))
}

/// A member of a Secret: what is known to be harmless stays, everything else is hidden.
pub(super) fn member<'a>(key: &str, raw: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    match key {
        "type" | "immutable" if !raw.starts_with(['{', '[']) => Cow::Borrowed(raw),
        "data" | "stringData" | "binaryData" => Cow::Owned(data(raw, mask, false)),
        _ => value(raw, mask),
    }
}

/// An annotation of a Secret.
pub(super) fn annotation<'a>(key: &str, raw: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    if HARMLESS_ANNOTATIONS.iter().any(|prefix| key.starts_with(prefix)) {
        Cow::Borrowed(raw)
    } else {
        value(raw, mask)
    }
}

/// The data of a Secret with every value hidden; `template` keeps what only says where a value comes from.
pub(super) fn data(raw: &str, mask: Mask<'_>, template: bool) -> String {
    let Ok(members) = Members::parse(raw) else { return value(raw, mask).into_owned() };
    let mut hidden = String::from("{");
    for (at, (key, raw)) in members.0.iter().enumerate() {
        if at > 0 {
            hidden.push(',');
        }
        hidden.push_str(&quote(key));
        hidden.push(':');
        let stays = template && is_reference(unquote(raw).trim());
        hidden.push_str(&if stays { Cow::Borrowed(*raw) } else { value(raw, mask) });
    }
    hidden + "}"
}

fn value<'a>(raw: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    if raw == "null" { Cow::Borrowed(raw) } else { Cow::Owned(quote(&mask.hide(&unquote(raw)))) }
}
