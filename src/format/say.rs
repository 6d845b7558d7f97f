//! What resources say in a few words: why they are as they are, what they lack, what is below them.

use super::{count_of, word};
use strandline_model::{Health, Kind};
use strandline_protocol::{Below, MissingEnd, Resource, Why, Workload};

/// Why a resource is in the state it is in, as far as it says so itself; empty where it says nothing.
pub fn why_so(resource: &Resource) -> String {
    match (resource.reason.as_str(), resource.message.as_str()) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// Something that is named and not there, such as `mounts ConfigMap shop/web-config, which does not exist`.
pub fn missing_end(end: &MissingEnd) -> String {
    let MissingEnd { edge, kind, namespace, name } = end;
    let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("{edge} {} {place}{name}, which does not exist", kind.kind)
}

/// Why nothing better can be said.
const BLIND: &str = "the recording has a gap";

/// What is to be said before the paths of a [`Why`], or in their place; `blind` where not everything was being watched.
pub fn preface(why: &Why, blind: bool) -> Option<String> {
    let health = &why.environment.health;
    let wrong = |state: Option<Health>| state.is_some_and(Health::needs_attention);
    match (health.state, health.last_known) {
        (None, _) => Some("No problem found: none of its resources has a health state.".into()),
        (Some(state), None) if !wrong(Some(state)) => {
            Some(format!("No problem found: the environment is {state}."))
        }
        (Some(_), Some(known)) => Some(if wrong(Some(known)) {
            format!("Unknown because {BLIND}. Why it was {known} before:")
        } else {
            format!("Unknown because {BLIND}; last known: {known}.")
        }),
        (Some(Health::Unknown), None) if why.paths.is_empty() && blind => {
            Some(format!("Unknown because {BLIND}; no earlier health is known."))
        }
        (Some(_), None) if why.paths.is_empty() => {
            Some("The cause is not among the resources that you have access to.".into())
        }
        (Some(_), None) => None,
    }
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

/// Workloads by kind and name, and by cluster where they are of several.
pub fn workload_names(workloads: &[Workload]) -> Vec<String> {
    let several = workloads.windows(2).any(|two| two[0].key.cluster != two[1].key.cluster);
    let name = |one: &Workload| match several {
        true => format!("{} in {}", one.key.kind_and_name(), one.key.cluster),
        false => one.key.kind_and_name(),
    };
    workloads.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{image_use, resource, why, why_path};
    use strandline_protocol::KindBelow;

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
    fn what_paths_explain_is_said_before_them() {
        let said = |state, known, paths, blind| {
            let mut why = why(paths);
            (why.environment.health.state, why.environment.health.last_known) = (state, known);
            preface(&why, blind).unwrap_or_default()
        };
        let some = || vec![why_path(&["web"])];
        let (bad, unknown) = (Some(Health::Degraded), Some(Health::Unknown));
        assert_eq!(said(bad, None, some(), true), "", "the paths say it");
        assert_eq!(
            said(None, None, vec![], false),
            "No problem found: none of its resources has a health state."
        );
        assert_eq!(
            said(Some(Health::Suspended), None, vec![], false),
            "No problem found: the environment is Suspended."
        );
        assert!(said(unknown, bad, some(), true).ends_with("Why it was Degraded before:"));
        assert!(said(unknown, Some(Health::Healthy), vec![], true).ends_with("last known: Healthy."));
        assert!(said(unknown, None, vec![], true).ends_with("no earlier health is known."));
        assert!(said(unknown, None, vec![], false).ends_with("that you have access to."));
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let end = why_path(&["web"]).missing.remove(0);
        assert_eq!(missing_end(&end), "mounts ConfigMap shop/web-config, which does not exist");
        let wide = MissingEnd { namespace: String::new(), edge: "references".into(), ..end };
        assert_eq!(missing_end(&wide), "references ConfigMap web-config, which does not exist");
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

    #[test]
    fn workloads_of_several_clusters_say_which() {
        let here = image_use("nginx").workloads;
        assert_eq!(workload_names(&here), ["Deployment/web"]);
        let mut both = [here.clone(), here].concat();
        both[1].key.cluster = "us-east".into();
        assert_eq!(workload_names(&both), ["Deployment/web in eu-west", "Deployment/web in us-east"]);
    }
}
