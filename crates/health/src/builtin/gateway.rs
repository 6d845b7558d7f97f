//! Kinds of the Gateway API: whether those who carry them out have accepted, resolved and programmed them.

use super::rule::Rule;
use crate::fields::{Malformed, Section};
use crate::finding::{Finding, NOT_OBSERVED};
use strandline_model::Health;
use strandline_object::Object;

/// Conditions that are bad when they do not hold.
const WANTED: [&str; 2] = ["Accepted", "ResolvedRefs"];
/// Conditions that are bad when they hold.
const UNWANTED: [&str; 3] = ["Conflicted", "PartiallyInvalid", "Detached"];
/// What comes last and takes its time; `Ready` and `Scheduled` were its names before.
const LAST: [&str; 3] = ["Programmed", "Ready", "Scheduled"];
/// Reasons that say that nobody has looked yet.
const NOT_YET: [&str; 3] = ["Pending", "NotReconciled", "Waiting"];

/// The rule for a kind of the Gateway API, with its name.
pub(super) fn rule(kind: &str) -> Option<(&'static str, Rule)> {
    Some(match kind {
        "Gateway" | "ListenerSet" | "XListenerSet" => ("builtin/Gateway", gateway),
        "GatewayClass" => ("builtin/GatewayClass", gateway_class),
        _ if kind.ends_with("Route") => ("builtin/Route", attached),
        _ if kind.ends_with("Policy") => ("builtin/GatewayPolicy", attached),
        _ => return None,
    })
}

fn gateway(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    let mut worst = conditions(object, status, "", true)?;
    for listener in status.list("listeners", "status.listeners")? {
        let who = format!("Listener {}: ", listener.text("name")?);
        worst = worse(worst, conditions(object, listener, &who, false)?);
    }
    Ok(worst.unwrap_or_else(|| Finding::new(Health::Healthy, "Programmed", "")))
}

fn gateway_class(object: &Object<'_>) -> Result<Finding, Malformed> {
    let found = conditions(object, Section::status(object), "", true)?;
    Ok(found.unwrap_or_else(|| Finding::new(Health::Healthy, "Accepted", "")))
}

/// A route is judged by each parent it hangs on, a policy by each ancestor it holds for.
fn attached(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    let parents =
        status.list("parents", "status.parents")?.map(|parent| (parent, "Parent", "parentRef.name"));
    let ancestors =
        status.list("ancestors", "status.ancestors")?.map(|above| (above, "Ancestor", "ancestorRef.name"));
    let (mut worst, mut seen) = (None, false);
    for (section, word, name) in parents.chain(ancestors) {
        seen = true;
        let who = format!("{word} {}: ", section.text(name)?);
        worst = worse(worst, conditions(object, section, &who, true)?);
    }
    if !seen {
        return Ok(Finding::progressing("NoParent", "Waiting for a parent to accept it"));
    }
    Ok(worst.unwrap_or_else(|| Finding::new(Health::Healthy, "Accepted", "")))
}

/// What is wrong with a set of conditions, if anything; `reported` where having none at all is wrong.
fn conditions(
    object: &Object<'_>,
    section: Section<'_>,
    who: &str,
    reported: bool,
) -> Result<Option<Finding>, Malformed> {
    let (mut worst, mut any) = (None, false);
    for condition in section.list("conditions", "status.conditions")? {
        any = true;
        worst = worse(worst, one(object, condition, who)?);
    }
    if reported && !any {
        worst = Some(Finding::progressing("Waiting", format!("{who}Waiting for conditions")));
    }
    Ok(worst)
}

fn one(object: &Object<'_>, condition: Section<'_>, who: &str) -> Result<Option<Finding>, Malformed> {
    let (name, status) = (condition.text("type")?, condition.text("status")?);
    let (reason, message) = (condition.text("reason")?, condition.text("message")?);
    if condition.integer("observedGeneration")?.is_some_and(|seen| seen < object.metadata.generation) {
        return Ok(Some(Finding::progressing(NOT_OBSERVED, format!("{who}Waiting for the newest spec"))));
    }
    let failed = (WANTED.contains(&name) && status == "False" && !NOT_YET.contains(&reason))
        || (UNWANTED.contains(&name) && status == "True");
    let waits = (WANTED.contains(&name) || LAST.contains(&name)) && status != "True";
    let health = match (failed, waits) {
        (true, _) => Health::Degraded,
        (false, true) if name != "Programmed" || status != "False" || passes(reason) => Health::Progressing,
        (false, true) => Health::Degraded,
        (false, false) => return Ok(None),
    };
    let message =
        if message.is_empty() { format!("{who}Failed condition: {name}") } else { format!("{who}{message}") };
    Ok(Some(Finding::new(health, reason, message)))
}

/// Whether the reason for not being programmed is one that passes by itself.
fn passes(reason: &str) -> bool {
    reason.is_empty()
        || NOT_YET.contains(&reason)
        || reason.contains("Progress")
        || reason.contains("NotAssigned")
}

fn worse(one: Option<Finding>, other: Option<Finding>) -> Option<Finding> {
    match (one, other) {
        (Some(one), Some(other)) if other.health > one.health => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    fn judged(kind: &str, status: Value) -> String {
        line(&json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
            "metadata": {"generation": 2}, "status": status}))
    }

    fn condition(of_type: &str, status: &str, reason: &str, generation: u64) -> Value {
        json!({"type": of_type, "status": status, "reason": reason, "message": "why", "observedGeneration": generation})
    }

    #[test]
    fn a_route_is_as_bad_as_its_worst_parent() {
        let parent = |conditions: Value| json!({"parentRef": {"name": "gw"}, "conditions": conditions});
        let fine = || parent(json!([condition("Accepted", "True", "Accepted", 2)]));
        let cases = [
            (json!([]), "Progressing [NoParent] Waiting for a parent to accept it"),
            (json!([fine()]), "Healthy [Accepted]"),
            (
                json!([fine(), parent(json!([condition("ResolvedRefs", "False", "BackendNotFound", 2)]))]),
                "Degraded [BackendNotFound] Parent gw: why",
            ),
            (
                json!([parent(json!([condition("Accepted", "False", "Pending", 2)])), fine()]),
                "Progressing [Pending] Parent gw: why",
            ),
            (
                json!([parent(json!([condition("PartiallyInvalid", "True", "UnsupportedValue", 2)]))]),
                "Degraded [UnsupportedValue] Parent gw: why",
            ),
            (
                json!([parent(json!([condition("Accepted", "True", "Accepted", 1)]))]),
                "Progressing [GenerationNotObserved] Parent gw: Waiting for the newest spec",
            ),
            (json!([parent(json!([]))]), "Progressing [Waiting] Parent gw: Waiting for conditions"),
        ];
        for (parents, expected) in cases {
            for kind in ["HTTPRoute", "GRPCRoute", "TLSRoute"] {
                assert_eq!(judged(kind, json!({"parents": parents})), format!("builtin/Route: {expected}"));
            }
        }
    }

    #[test]
    fn a_gateway_is_accepted_programmed_and_so_are_its_listeners() {
        let fine = json!([
            condition("Accepted", "True", "Accepted", 2),
            condition("Programmed", "True", "Programmed", 2)
        ]);
        let listener = |condition: Value| json!([{"name": "https", "conditions": [condition]}]);
        let cases = [
            (json!({"conditions": fine}), "Healthy [Programmed]"),
            (
                json!({"conditions": [condition("Programmed", "False", "AddressNotAssigned", 2)]}),
                "Progressing [AddressNotAssigned] why",
            ),
            (
                json!({"conditions": [condition("Programmed", "False", "NoResources", 2)]}),
                "Degraded [NoResources] why",
            ),
            (
                json!({"conditions": [condition("Accepted", "Unknown", "Pending", 2)]}),
                "Progressing [Pending] why",
            ),
            (
                json!({"conditions": fine, "listeners": listener(condition("Conflicted", "True", "HostnameConflict", 2))}),
                "Degraded [HostnameConflict] Listener https: why",
            ),
            (Value::Null, "Progressing [Waiting] Waiting for conditions"),
        ];
        for (status, expected) in cases {
            assert_eq!(judged("Gateway", status), format!("builtin/Gateway: {expected}"));
        }
    }

    #[test]
    fn classes_and_policies_are_accepted_or_not() {
        let accepted = |status: &str, reason: &str| json!([condition("Accepted", status, reason, 2)]);
        assert_eq!(
            judged("GatewayClass", json!({"conditions": accepted("True", "Accepted")})),
            "builtin/GatewayClass: Healthy [Accepted]"
        );
        assert_eq!(
            judged("GatewayClass", json!({"conditions": accepted("False", "InvalidParameters")})),
            "builtin/GatewayClass: Degraded [InvalidParameters] why"
        );
        let ancestors =
            json!([{"ancestorRef": {"name": "gw"}, "conditions": accepted("False", "Conflicted")}]);
        assert_eq!(
            judged("BackendTLSPolicy", json!({"ancestors": ancestors})),
            "builtin/GatewayPolicy: Degraded [Conflicted] Ancestor gw: why"
        );
        assert_eq!(judged("ReferenceGrant", Value::Null), "none: none []");
    }
}
