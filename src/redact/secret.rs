//! What of a Secret may be known.

use std::borrow::Cow;

use super::Mask;
use crate::json::{Members, quote, unquote};

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

/// A member of a Secret: what is known to be harmless stays, everything else is hidden.
pub(super) fn member<'a>(key: &str, raw: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    match key {
        "type" | "immutable" if !raw.starts_with(['{', '[']) => Cow::Borrowed(raw),
        "data" | "stringData" => Cow::Owned(data(raw, mask)),
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

/// The data of a Secret with every value hidden.
pub(super) fn data(raw: &str, mask: Mask<'_>) -> String {
    let Ok(members) = Members::parse(raw) else { return value(raw, mask).into_owned() };
    let mut hidden = String::from("{");
    for (at, (key, raw)) in members.0.iter().enumerate() {
        if at > 0 {
            hidden.push(',');
        }
        hidden.push_str(&quote(key));
        hidden.push(':');
        hidden.push_str(&value(raw, mask));
    }
    hidden + "}"
}

fn value<'a>(raw: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    if raw == "null" { Cow::Borrowed(raw) } else { Cow::Owned(quote(&mask.hide(&unquote(raw)))) }
}
