//! What resources say in a few words: why they are as they are, what they lack, what is below them.

use super::{count_of, word};
use crate::model::Kind;
use crate::query::{Below, MissingEnd, Resource};

/// Why a resource is in the state it is in, as far as it says so itself; empty where it says nothing.
pub fn why_so(resource: &Resource) -> String {
    match (resource.reason.as_str(), resource.message.as_str()) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// Something that is named and not there, such as `mounts ConfigMap shop/web-config, which is not there`.
pub fn missing_end(end: &MissingEnd) -> String {
    let MissingEnd { edge, kind, namespace, name } = end;
    let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("{edge} {} {place}{name}, which is not there", kind.kind)
}

/// What is below a resource, such as `3 Pods (Degraded), 12 ConfigMaps`; healths are told that need attention.
pub fn below(below: &Below) -> String {
    let mut told: u64 = 0;
    let mut words = Vec::new();
    for kind in &below.kinds {
        told = told.saturating_add(kind.total);
        let health = kind.health.filter(|health| health.needs_attention());
        let health = health.map(|health| format!(" ({})", word(Some(health))));
        words.push(format!("{}{}", number_of(kind.total, &kind.kind), health.unwrap_or_default()));
    }
    match below.total.saturating_sub(told) {
        0 => {}
        others => words.push(format!("{others} of other kinds")),
    }
    words.join(", ")
}

/// A number and what it is of, however large.
pub fn number_of(number: u64, kind: &Kind) -> String {
    count_of(usize::try_from(number).unwrap_or(usize::MAX), kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Health;
    use crate::present::tests::{resource, why_path};
    use crate::query::KindBelow;

    #[test]
    fn reasons_and_messages_make_a_sentence_with_what_there_is() {
        for (reason, message, expected) in
            [("", "", ""), ("Failed", "", "Failed"), ("", "no room", "no room"), ("A", "b", "A: b")]
        {
            let mut one = resource("Pod", "web", None);
            (one.reason, one.message) = (reason.into(), message.into());
            assert_eq!(why_so(&one), expected);
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let end = why_path(&["web"]).missing.remove(0);
        assert_eq!(missing_end(&end), "mounts ConfigMap shop/web-config, which is not there");
        let wide = MissingEnd { namespace: String::new(), edge: "references".into(), ..end };
        assert_eq!(missing_end(&wide), "references ConfigMap web-config, which is not there");
    }

    #[test]
    fn what_is_below_is_told_by_kind_with_what_needs_attention() {
        let kind = |kind: &str, total, health| KindBelow { kind: Kind::new("", kind), total, health };
        let mut all = Below {
            children: 2,
            total: 18,
            health: Some(Health::Degraded),
            kinds: vec![
                kind("Pod", 3, Some(Health::Degraded)),
                kind("ReplicaSet", 1, Some(Health::Healthy)),
                kind("ConfigMap", 12, None),
            ],
        };
        let told = "3 Pods (Degraded), 1 ReplicaSet, 12 ConfigMaps";
        assert_eq!(below(&all), format!("{told}, 2 of other kinds"));
        all.total = 16;
        assert_eq!(below(&all), told);
    }
}
