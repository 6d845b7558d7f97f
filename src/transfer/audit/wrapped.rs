//! Events of audit logs as cloud providers hand them out: within records of their own logging services.
//!
//! Amazon's CloudWatch and Azure's diagnostic logs carry the event as text. Google's Cloud Audit Logs have the same in
//! fields of their own, from which an event is made.

use serde::Serialize;
use serde_json::value::RawValue;

use strandline_model::Timestamp;
use strandline_object::json::{Members, quote};

/// Records within records within records: more than any provider makes.
const DEPTH: usize = 4;

/// What a record holds: the text of an event, or a stable word for why there is none.
pub(super) type Unwrapped = Result<String, &'static str>;

/// The events that a record of a logging service holds; none where the text is no such record.
pub(super) fn unwrap(text: &str) -> Option<Vec<Unwrapped>> {
    let mut events = Vec::new();
    collect(text, DEPTH, &mut events).then_some(events)
}

/// Whether a line of a file may be a record by itself, so that the file can be read line by line.
pub(super) fn is_record(line: &str) -> bool {
    let line = without_time(line).unwrap_or(line).trim();
    line.starts_with('{') && line.len() > 1
}

/// CloudWatch exports to S3 write the time before each message.
fn without_time(text: &str) -> Option<&str> {
    let (time, rest) = text.trim().split_once(' ')?;
    (rest.starts_with('{') && time.parse::<Timestamp>().is_ok()).then_some(rest)
}

fn collect(text: &str, depth: usize, events: &mut Vec<Unwrapped>) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    if let Some(rest) = without_time(text) {
        return inner(rest, depth, events);
    }
    let Ok(members) = Members::parse(text) else { return false };
    if let Some(items) = members.get("items").filter(|_| members.text("kind").as_deref() == Some("EventList"))
    {
        let version = members.text("apiVersion").unwrap_or_default();
        events.extend(elements(items).into_iter().map(|item| Ok(typed(item.get(), &version))));
        return true;
    }
    // CloudWatch: what a subscription sends, and what `aws logs` prints. Azure: what arrives in a storage account.
    if let Some(records) = ["logEvents", "events", "records"].iter().find_map(|name| members.get(name)) {
        let records = elements(records);
        return records.iter().filter(|record| inner(record.get(), depth, events)).count() > 0;
    }
    if let Some(message) = ["message", "@message"].iter().find_map(|name| members.text(name)) {
        return inner(&message, depth, events);
    }
    if let Some(properties) = members.get("properties").and_then(|text| Members::parse(text).ok()) {
        if members.text("category").is_some_and(|category| !category.starts_with("kube-audit")) {
            events.push(Err("other_log"));
            return true;
        }
        return match (properties.text("log"), properties.get("log")) {
            (Some(log), _) => inner(&log, depth, events),
            (None, Some(log)) => inner(log, depth, events),
            (None, None) => false,
        };
    }
    match members.get("protoPayload").and_then(|payload| Members::parse(payload).ok()) {
        Some(payload) => {
            events.push(of_google(&members, &payload));
            true
        }
        None => false,
    }
}

/// What a record carries: an event, or one more record.
fn inner(text: &str, depth: usize, events: &mut Vec<Unwrapped>) -> bool {
    if collect(text, depth, events) {
        return true;
    }
    let is_event = Members::parse(text).is_ok_and(|members| members.get("auditID").is_some());
    events.push(if is_event { Ok(text.trim().to_owned()) } else { Err("other_log") });
    true
}

fn elements(text: &str) -> Vec<&RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

/// An item of a list with the version and kind that the list implies.
fn typed(item: &str, version: &str) -> String {
    match (Members::parse(item), item.trim().strip_prefix('{')) {
        (Ok(members), Some(rest)) if members.get("apiVersion").is_none() && !members.0.is_empty() => {
            format!(r#"{{"apiVersion":{},"kind":"Event",{rest}"#, quote(version))
        }
        _ => item.to_owned(),
    }
}

/// An event as Kubernetes writes it, made from Google's entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made<'a> {
    api_version: &'static str,
    kind: &'static str,
    level: &'static str,
    stage: &'static str,
    verb: &'a str,
    user: User<'a>,
    user_agent: &'a str,
    object_ref: ObjectRef<'a>,
    response_status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_object: Option<Box<RawValue>>,
    stage_timestamp: &'a str,
}

#[derive(Serialize)]
struct User<'a> {
    username: &'a str,
}

#[derive(Serialize)]
struct Status {
    code: u16,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef<'a> {
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
    api_group: &'a str,
    subresource: String,
}

fn of_google(entry: &Members<'_>, payload: &Members<'_>) -> Unwrapped {
    if payload.text("serviceName").is_some_and(|service| service != "k8s.io") {
        return Err("other_log");
    }
    let part = |name: &str| payload.get(name).and_then(|text| Members::parse(text).ok());
    let of = |part: &Option<Members<'_>>, name: &str| {
        part.as_ref().and_then(|part| part.text(name)).unwrap_or_default().into_owned()
    };
    let (method, resource) = (payload.text("methodName"), payload.text("resourceName"));
    let (method, resource) = (method.ok_or("no_object")?, resource.ok_or("no_object")?);
    let (object_ref, verb) = about(&method, &resource).ok_or("no_object")?;
    // A code of gRPC: zero, and so mostly left out, for what was carried out.
    let code = part("status").and_then(|status| status.get("code").map(str::to_owned));
    let carried_out = code.is_none_or(|code| code.trim() == "0");
    let object = |name: &str| payload.get(name).and_then(without_type);
    let (request_object, response_object) = (object("request"), object("response"));
    let level = match (&request_object, &response_object) {
        (_, Some(_)) => "RequestResponse",
        (Some(_), None) => "Request",
        (None, None) => "Metadata",
    };
    let made = Made {
        api_version: "audit.k8s.io/v1",
        kind: "Event",
        level,
        stage: "ResponseComplete",
        verb,
        user: User { username: &of(&part("authenticationInfo"), "principalEmail") },
        user_agent: &of(&part("requestMetadata"), "callerSuppliedUserAgent"),
        object_ref,
        response_status: Status { code: if carried_out { 200 } else { 400 } },
        request_object,
        response_object,
        stage_timestamp: &entry.text("timestamp").unwrap_or_default(),
    };
    serde_json::to_string(&made).map_err(|_| "unreadable")
}

/// What `io.k8s.apps.v1.deployments.status.patch` of `apps/v1/namespaces/shop/deployments/web/status` is about, and the verb.
fn about<'a>(method: &'a str, resource_name: &'a str) -> Option<(ObjectRef<'a>, &'a str)> {
    let words: Vec<&str> = method.split('.').collect();
    let version = words.iter().rposition(|word| is_version(word))?;
    let [resource, between @ .., verb] = words.get(version + 1..)? else { return None };
    let mut path = resource_name.split('/');
    let (group, _version) = (path.next()?, path.next().filter(|word| is_version(word))?);
    let path: Vec<&str> = path.collect();
    let (namespace, path) = match path[..] {
        ["namespaces", namespace, ref rest @ ..] if *resource != "namespaces" => (namespace, rest),
        ref rest => ("", rest),
    };
    let object_ref = ObjectRef {
        resource,
        namespace,
        name: path.get(1).copied().unwrap_or_default(),
        api_group: if group == "core" { "" } else { group },
        subresource: between.join("/"),
    };
    Some((object_ref, verb))
}

/// Whether this is a version of an API: `v1`, `v2beta1`.
fn is_version(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// An object without the name of its protobuf type, which Google adds.
fn without_type(object: &str) -> Option<Box<RawValue>> {
    let members = Members::parse(object).ok()?;
    let kept = members.0.iter().filter(|(name, _)| name != "@type");
    let kept: Vec<String> = kept.map(|(name, value)| format!("{}:{value}", quote(name))).collect();
    RawValue::from_string(format!("{{{}}}", kept.join(","))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_google_tell_what_a_request_was_about() {
        for (method, name, expected) in [
            ("io.k8s.core.v1.pods.create", "core/v1/namespaces/shop/pods/web", "create  pods shop web "),
            ("io.k8s.core.v1.nodes.patch", "core/v1/nodes/n1", "patch  nodes  n1 "),
            ("io.k8s.core.v1.namespaces.delete", "core/v1/namespaces/shop", "delete  namespaces  shop "),
            (
                "io.k8s.apps.v1.deployments.scale.update",
                "apps/v1/namespaces/shop/deployments/web/scale",
                "update apps deployments shop web scale",
            ),
            (
                "io.k8s.authorization.rbac.v1.clusterroles.update",
                "rbac.authorization.k8s.io/v1/clusterroles/admin",
                "update rbac.authorization.k8s.io clusterroles  admin ",
            ),
            (
                "com.example.stable.v1beta1.widgets.deletecollection",
                "stable.example.com/v1beta1/namespaces/shop/widgets",
                "deletecollection stable.example.com widgets shop  ",
            ),
        ] {
            let (of, verb) = about(method, name).expect(method);
            let ObjectRef { resource, namespace, name, api_group, subresource } = of;
            let found = format!("{verb} {api_group} {resource} {namespace} {name} {subresource}");
            assert_eq!(found, expected, "{method}");
        }
        for (method, name) in
            [("", ""), ("google.container.v1.ClusterManager.Get", "projects/p"), ("v1.pods", "core/v1")]
        {
            assert!(about(method, name).is_none(), "{method}");
        }
    }

    #[test]
    fn what_is_no_record_holds_no_event() {
        for text in
            ["", "x", "[]", "{}", r#"{"kind":"Event"}"#, r#"{"a":{"message":"x"}}"#, r#"{"properties":{}}"#]
        {
            assert_eq!(unwrap(text), None, "{text}");
        }
        let mut deep = r#"{"auditID":"a"}"#.to_owned();
        for _ in 0..50 {
            deep = format!(r#"{{"message":{}}}"#, quote(&deep));
            let found = unwrap(&deep).unwrap_or_default();
            assert_eq!(found.len(), 1);
            if deep.len() > 100_000 {
                break;
            }
        }
        assert_eq!(unwrap(&deep), Some(vec![Err("other_log")]));
    }
}
