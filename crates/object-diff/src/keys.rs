//! By what the elements of a list are told apart.
//!
//! Kubernetes says of its own lists by which fields they are merged; the table below repeats it, also for lists that
//! it replaces as a whole and people read as maps all the same. For lists that nobody here knows there is a rule.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::path::ElementKey;

/// Whether it means anything where in a list an element stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Counts,
    Silent,
}

/// A list by its name, the fields that tell its elements apart, and whether their order counts. Of several sets of
/// fields the first counts that every element has. `x?` may be missing, `x=y` means `y` where it is, and `a.b` is the
/// member `b` of `a`.
struct Merge(&'static str, &'static [&'static [&'static str]], Order);

const TABLE: &[Merge] = &[
    // Pods. Of a list of variables a later one may use an earlier one, and init containers run one after the other.
    Merge("containers", &[&["name"]], Order::Silent),
    Merge("initContainers", &[&["name"]], Order::Counts),
    Merge("ephemeralContainers", &[&["name"]], Order::Silent),
    Merge("env", &[&["name"]], Order::Counts),
    Merge("envFrom", &[&["configMapRef.name?", "secretRef.name?", "prefix?"]], Order::Counts),
    Merge("volumes", &[&["name"]], Order::Silent),
    Merge("volumeMounts", &[&["mountPath"]], Order::Silent),
    Merge("volumeDevices", &[&["devicePath"]], Order::Silent),
    Merge("items", &[&["key"], &["path"]], Order::Silent),
    Merge("tolerations", &[&["key?", "operator=Equal", "value?", "effect?"]], Order::Silent),
    Merge("topologySpreadConstraints", &[&["topologyKey", "whenUnsatisfiable"]], Order::Silent),
    Merge("imagePullSecrets", &[&["name"]], Order::Silent),
    Merge("hostAliases", &[&["ip"]], Order::Silent),
    Merge("readinessGates", &[&["conditionType"]], Order::Silent),
    Merge("schedulingGates", &[&["name"]], Order::Silent),
    Merge("resourceClaims", &[&["name"]], Order::Silent),
    Merge("claims", &[&["name", "request?"]], Order::Silent),
    Merge("sysctls", &[&["name"]], Order::Silent),
    Merge("volumeClaimTemplates", &[&["metadata.name"]], Order::Silent),
    // Ports of containers, of Services and NetworkPolicies, and of EndpointSlices.
    Merge(
        "ports",
        &[&["containerPort", "protocol=TCP"], &["port", "protocol=TCP"], &["name"]],
        Order::Silent,
    ),
    // What all kinds have.
    Merge("conditions", &[&["type"]], Order::Silent),
    Merge("ownerReferences", &[&["uid"], &["kind", "name"]], Order::Silent),
    // Status.
    Merge("addresses", &[&["type", "address"], &["type", "value"]], Order::Silent),
    Merge("containerStatuses", &[&["name"]], Order::Silent),
    Merge("initContainerStatuses", &[&["name"]], Order::Silent),
    Merge("ephemeralContainerStatuses", &[&["name"]], Order::Silent),
    Merge("podIPs", &[&["ip"]], Order::Silent),
    Merge("hostIPs", &[&["ip"]], Order::Silent),
    Merge("currentMetrics", METRIC, Order::Silent),
    // Nodes.
    Merge("taints", &[&["key", "effect"]], Order::Silent),
    Merge("volumesAttached", &[&["name"]], Order::Silent),
    // Traffic.
    Merge("ingress", &[&["ip"], &["hostname"]], Order::Silent),
    Merge("endpoints", &[&["targetRef.uid"], &["targetRef.kind", "targetRef.name"]], Order::Silent),
    Merge("tls", &[&["secretName"]], Order::Silent),
    Merge("paths", &[&["path", "pathType?"]], Order::Silent),
    Merge("listeners", &[&["name"]], Order::Silent),
    Merge("parentRefs", PARENT, Order::Silent),
    Merge("parents", &[&["controllerName", "parentRef.name", "parentRef.sectionName?"]], Order::Silent),
    Merge("backendRefs", &[&["kind=Service", "namespace?", "name", "port?"]], Order::Silent),
    // Access, scaling, admission, definitions.
    Merge("subjects", &[&["kind", "namespace?", "name"]], Order::Silent),
    Merge("secrets", &[&["name"]], Order::Silent),
    Merge("metrics", METRIC, Order::Silent),
    Merge("policies", &[&["type"]], Order::Silent),
    Merge("webhooks", &[&["name"]], Order::Silent),
    Merge("matchConditions", &[&["name"]], Order::Silent),
    Merge("matchExpressions", &[&["key", "operator"]], Order::Silent),
    Merge("versions", &[&["name"]], Order::Silent),
    Merge("additionalPrinterColumns", &[&["name"]], Order::Counts),
];

const METRIC: &[&[&str]] = &[&[
    "type",
    "resource.name?",
    "containerResource.container?",
    "containerResource.name?",
    "pods.metric.name?",
    "object.metric.name?",
    "external.metric.name?",
]];

const PARENT: &[&[&str]] = &[&["kind=Gateway", "namespace?", "name", "sectionName?", "port?"]];

/// Lists of plain values that are sets.
const SETS: &[&str] = &[
    "finalizers",
    "accessModes",
    "mountOptions",
    "verbs",
    "apiGroups",
    "apiVersions",
    "resources",
    "resourceNames",
    "nonResourceURLs",
    "operations",
    "categories",
    "shortNames",
    "storedVersions",
    "values",
    "hosts",
    "hostnames",
    "dnsNames",
    "add",
    "drop",
    "externalIPs",
    "loadBalancerSourceRanges",
    "sourceRanges",
    "podCIDRs",
    "policyTypes",
    "volumesInUse",
    "matchLabelKeys",
    "namespaces",
    "kinds",
    "supportedKinds",
];

/// Words that fields end with that tell things apart, those that do it best first.
const TELLING: &[&str] =
    &["name", "key", "id", "uid", "type", "kind", "path", "host", "hostname", "address", "ip", "port", "url"];

/// The keys of two lists of the same name, by place, and whether order counts; none where nothing tells their elements apart.
pub(super) fn of(list: &str, before: &[Value], after: &[Value], across: bool) -> Option<(Keys, Order)> {
    let known = TABLE.iter().find(|Merge(name, ..)| *name == list);
    if let Some(Merge(_, candidates, order)) = known {
        // What carries uids is another thing in another cluster.
        let usable = candidates.iter().filter(|fields| !across || fields.iter().all(|f| !f.ends_with("uid")));
        let mut found = usable.filter_map(|fields| both(before, after, |item| by_fields(item, fields)));
        if let Some(keys) = found.next() {
            return Some((keys, *order));
        }
    }
    let first = before.first().or(after.first())?.as_object()?;
    let mut fields: Vec<_> = first.keys().filter_map(|field| Some((telling(field)?, field))).collect();
    fields.sort();
    let mut found =
        fields.into_iter().filter_map(|(_, field)| both(before, after, |item| by_field(item, field)));
    found.next().map(|keys| (keys, Order::Counts))
}

/// Whether a list of plain values is one in which order says nothing.
pub(super) fn is_set(list: &str) -> bool {
    SETS.contains(&list)
}

/// The keys of both lists.
pub(super) type Keys = (Vec<ElementKey>, Vec<ElementKey>);

/// The keys of both lists, where every element has one and none has it twice.
fn both(
    before: &[Value],
    after: &[Value],
    key: impl Fn(&Map<String, Value>) -> Option<ElementKey>,
) -> Option<Keys> {
    let side = |items: &[Value]| -> Option<Vec<ElementKey>> {
        let keys: Vec<ElementKey> = items.iter().map(|item| key(item.as_object()?)).collect::<Option<_>>()?;
        let distinct = keys.iter().collect::<HashSet<_>>().len() == keys.len();
        distinct.then_some(keys)
    };
    Some((side(before)?, side(after)?))
}

fn by_fields(item: &Map<String, Value>, fields: &[&str]) -> Option<ElementKey> {
    let mut pairs = Vec::with_capacity(fields.len());
    for field in fields {
        let (name, default) = match field.split_once('=') {
            Some((name, default)) => (name, Some(default)),
            None => (field.trim_end_matches('?'), field.ends_with('?').then_some("")),
        };
        let mut path = name.split('.');
        let start = item.get(path.next()?);
        let found = path.fold(start, |value, part| value?.get(part)).and_then(scalar);
        let value = found.or(default.map(Cow::Borrowed))?;
        if !value.is_empty() || default.is_none() {
            pairs.push((name.to_owned(), value.into_owned()));
        }
    }
    Some(ElementKey(pairs))
}

fn by_field(item: &Map<String, Value>, field: &str) -> Option<ElementKey> {
    let value = item.get(field).and_then(scalar)?;
    Some(ElementKey(vec![(field.to_owned(), value.into_owned())]))
}

fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// How well a field tells things apart by its name, 0 best: `name` before `serverName`, and `weight` not at all.
fn telling(field: &str) -> Option<usize> {
    let lower = field.to_lowercase();
    let rank = |(place, word): (usize, &&str)| {
        let rest = lower.strip_suffix(*word)?;
        let last = field.get(rest.len()..)?;
        let begins_word = rest.is_empty()
            || rest.ends_with(['-', '_', '.'])
            || last.starts_with(|c: char| c.is_ascii_uppercase());
        begins_word.then_some(if rest.is_empty() { place } else { TELLING.len() + place })
    };
    TELLING.iter().enumerate().filter_map(rank).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(list: &str, items: &Value) -> Vec<String> {
        let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
        of(list, items, &[], false)
            .map_or(vec![], |((keys, _), _)| keys.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lists_of_kubernetes_are_told_apart_by_their_merge_keys() {
        let cases = [
            ("containers", json!([{"name": "web"}, {"name": "proxy"}]), vec!["name=web", "name=proxy"]),
            ("initContainers", json!([{"name": "migrate"}]), vec!["name=migrate"]),
            ("ephemeralContainers", json!([{"name": "debugger"}]), vec!["name=debugger"]),
            ("env", json!([{"name": "A", "value": "1"}]), vec!["name=A"]),
            (
                "envFrom",
                json!([{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}, "prefix": "S_"}]),
                vec!["configMapRef.name=c", "secretRef.name=s,prefix=S_"],
            ),
            ("volumes", json!([{"name": "data"}]), vec!["name=data"]),
            (
                "volumeMounts",
                json!([{"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"}]),
                vec!["mountPath=/a", "mountPath=/b"],
            ),
            ("volumeDevices", json!([{"name": "d", "devicePath": "/dev/x"}]), vec!["devicePath=/dev/x"]),
            (
                "ports",
                json!([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]),
                vec!["containerPort=53,protocol=UDP", "containerPort=53,protocol=TCP"],
            ),
            (
                "ports",
                json!([{"port": 80, "protocol": "TCP", "targetPort": "http"}, {"port": 443}]),
                vec!["port=80,protocol=TCP", "port=443,protocol=TCP"],
            ),
            ("conditions", json!([{"type": "Ready"}]), vec!["type=Ready"]),
            ("ownerReferences", json!([{"uid": "u", "kind": "ReplicaSet", "name": "web"}]), vec!["uid=u"]),
            (
                "tolerations",
                json!([{"operator": "Exists"}, {"key": "gpu", "effect": "NoSchedule"}]),
                vec!["operator=Exists", "key=gpu,operator=Equal,effect=NoSchedule"],
            ),
            ("imagePullSecrets", json!([{"name": "registry"}]), vec!["name=registry"]),
            ("hostAliases", json!([{"ip": "10.0.0.1", "hostnames": []}]), vec!["ip=10.0.0.1"]),
            (
                "topologySpreadConstraints",
                json!([{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}]),
                vec!["topologyKey=zone,whenUnsatisfiable=DoNotSchedule"],
            ),
            ("webhooks", json!([{"name": "a.example.org"}]), vec!["name=a.example.org"]),
            (
                "addresses",
                json!([{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "fd00::1"}]),
                vec!["type=InternalIP,address=10.0.0.1", "type=InternalIP,address=fd00::1"],
            ),
            ("ingress", json!([{"ip": "192.0.2.1"}]), vec!["ip=192.0.2.1"]),
            ("ingress", json!([{"hostname": "lb.example.org"}]), vec!["hostname=lb.example.org"]),
            ("containerStatuses", json!([{"name": "web"}]), vec!["name=web"]),
            ("taints", json!([{"key": "gpu", "effect": "NoSchedule"}]), vec!["key=gpu,effect=NoSchedule"]),
            (
                "metrics",
                json!([{"type": "Resource", "resource": {"name": "cpu"}}, {"type": "Resource", "resource": {"name": "memory"}}]),
                vec!["type=Resource,resource.name=cpu", "type=Resource,resource.name=memory"],
            ),
            (
                "subjects",
                json!([{"kind": "ServiceAccount", "namespace": "shop", "name": "web"}, {"kind": "Group", "name": "dev"}]),
                vec!["kind=ServiceAccount,namespace=shop,name=web", "kind=Group,name=dev"],
            ),
            ("volumeClaimTemplates", json!([{"metadata": {"name": "data"}}]), vec!["metadata.name=data"]),
            ("matchExpressions", json!([{"key": "tier", "operator": "In"}]), vec!["key=tier,operator=In"]),
            ("rules", json!([{"host": "a.example.org", "http": {}}]), vec!["host=a.example.org"]),
            ("paths", json!([{"path": "/", "pathType": "Prefix"}]), vec!["path=/,pathType=Prefix"]),
            ("versions", json!([{"name": "v1"}, {"name": "v2"}]), vec!["name=v1", "name=v2"]),
        ];
        for (list, items, expected) in cases {
            assert_eq!(keys(list, &items), expected, "{list}");
        }
    }

    #[test]
    fn unknown_lists_are_told_apart_by_what_all_elements_have_and_none_shares() {
        let cases = [
            (json!([{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]), vec!["name=a", "name=b"]),
            (json!([{"name": "a", "id": 1}, {"name": "a", "id": 2}]), vec!["id=1", "id=2"]),
            (
                json!([{"weight": 80, "serverName": "x"}, {"weight": 20, "serverName": "y"}]),
                vec!["serverName=x", "serverName=y"],
            ),
            (json!([{"weight": 80}, {"weight": 20}]), vec![]),
            (json!([{"valid": "a"}, {"valid": "b"}]), vec![]),
            (json!([{"name": "a"}, {"key": "b"}]), vec![]),
            (json!([{"name": "a"}, "b"]), vec![]),
            (json!([{"name": {"first": "a"}}]), vec![]),
            (json!([{"name": "a"}, {"name": "a"}]), vec![]),
            (json!(["a", "b"]), vec![]),
            (json!([]), vec![]),
        ];
        for (items, expected) in cases {
            assert_eq!(keys("things", &items), expected, "{items}");
        }
    }

    #[test]
    fn between_clusters_no_uid_tells_anything() {
        let owners = [json!({"uid": "u", "kind": "ReplicaSet", "name": "web"})];
        let found = of("ownerReferences", &owners, &[], true).map(|((keys, _), _)| keys[0].to_string());
        assert_eq!(found.as_deref(), Some("kind=ReplicaSet,name=web"));
    }
}
