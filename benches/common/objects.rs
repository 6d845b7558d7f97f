//! Realistic objects and their changes.
//!
//! An object is a number: its place tells workload, kind and namespace, and what is above all places its life, since Pods
//! are replaced by others. Two thirds are Pods; the rest are Deployments, ReplicaSets and EndpointSlices.
//! Bodies are some 5.5 KB and share the wording of their templates, as those of a cluster do.

use std::fmt::Write;

use strandline_log::Observation;
use strandline_model::{ResourceVersion, Uid};
use strandline_object::digest::Digest;

use super::Random;

/// Objects of one workload: a Deployment, two ReplicaSets, an EndpointSlice and eight Pods.
pub(crate) const WORKLOAD: u64 = 12;

/// Objects in one namespace, a thousand in whole workloads.
pub(crate) const PER_NAMESPACE: u64 = 84 * WORKLOAD;

/// Places there are; a number above is a later life of what stands in the place. Whatever is told by the remainder of a
/// number stays the same.
const PLACES: u64 = 4_200_000_000;

/// The same place in another life.
pub(crate) const fn in_life(object: u64, life: u64) -> u64 {
    place(object) + life * PLACES
}

const fn place(object: u64) -> u64 {
    object % PLACES
}

/// One observation before it is handed to a watch of its kind.
pub(crate) struct Seen {
    /// Which kind it is of.
    pub(crate) kind: &'static str,
    /// What the watch saw.
    pub(crate) observation: Observation,
}

/// `count` observations of about `count / versions` objects, in the order in which a cluster would tell them.
pub(crate) fn observations(count: usize, versions: usize) -> Vec<Seen> {
    let mut random = Random(42);
    let objects = (count / versions).max(1) as u64;
    (0..count)
        .map(|n| {
            let object = if (n as u64) < objects { n as u64 } else { random.below(objects) };
            observation(object, n as u64 + 1, &mut random, |place| place)
        })
        .collect()
}

/// One state of an object; `pods` tells which Pod stands in a place.
pub(crate) fn observation(object: u64, version: u64, random: &mut Random, pods: impl Fn(u64) -> u64) -> Seen {
    let (kind, body) = match object % WORKLOAD {
        0 => ("Deployment", deployment(object, version, random)),
        1 | 2 => ("ReplicaSet", replica_set(object, version, random)),
        3 => ("EndpointSlice", endpoint_slice(object, version, random, &pods)),
        _ => ("Pod", pod(object, version, random)),
    };
    Seen { kind, observation: seen(namespace(object), format!("web-{object}"), uid(object), version, body) }
}

/// What a watch saw of an object with this body.
pub(crate) fn seen(namespace: String, name: String, uid: String, version: u64, body: String) -> Observation {
    Observation {
        namespace,
        name,
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new(version.to_string()),
        digest: Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().unwrap()),
        body,
        changed_by: None,
    }
}

/// The same object as a cluster sends it: with who manages which of its fields.
pub(crate) fn managed(body: &str) -> String {
    let field = |name: &str| format!(r#""f:{name}":{{}}"#);
    let fields = |names: &[&str]| names.iter().map(|name| field(name)).collect::<Vec<_>>().join(",");
    let labels =
        fields(&["app", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart"]);
    let container =
        fields(&["image", "imagePullPolicy", "name", "terminationMessagePath", "terminationMessagePolicy"]);
    let env: Vec<String> = (0..9)
        .map(|n| {
            format!(
                r#""k:{{\"name\":\"SETTING_{n}\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:configMapKeyRef":{{}}}}}}"#
            )
        })
        .collect();
    let containers: Vec<String> = ["web", "proxy"]
        .iter()
        .map(|name| {
            format!(
                r#""k:{{\"name\":\"{name}\"}}":{{".":{{}},{container},"f:env":{{".":{{}},{}}},"f:resources":{{".":{{}},"f:limits":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}}}}"#,
                env.join(",")
            )
        })
        .collect();
    let conditions: Vec<String> = ["ContainersReady", "Initialized", "PodScheduled", "Ready"]
        .iter()
        .map(|kind| {
            format!(
                r#""k:{{\"type\":\"{kind}\"}}":{{".":{{}},{}}}"#,
                fields(&["lastProbeTime", "lastTransitionTime", "status", "type"])
            )
        })
        .collect();
    let spec = format!(
        r#"{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},{labels}}}}},"f:spec":{{"f:containers":{{{}}},{}}}}}}}"#,
        containers.join(","),
        fields(&["dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "securityContext"]),
    );
    let status = format!(
        r#"{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-01T00:00:05Z","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{"f:conditions":{{{}}},{}}}}},"subresource":"status"}}"#,
        conditions.join(","),
        fields(&["containerStatuses", "hostIP", "phase", "podIP", "startTime"]),
    );
    let open = r#""metadata":{"#;
    body.replacen(open, &format!(r#"{open}"managedFields":[{spec},{status}],"#), 1)
}

/// The namespace in which an object stands.
pub(crate) fn namespace(object: u64) -> String {
    format!("shop-{}", place(object) / PER_NAMESPACE)
}

/// The uid of an object in the life that its number tells.
pub(crate) fn uid(object: u64) -> String {
    let mut random = Random(object);
    let (a, b) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}

pub(crate) fn time(version: u64) -> String {
    format!(
        "2026-11-{:02}T{:02}:{:02}:{:02}Z",
        1 + version / 86_400 % 28,
        version / 3600 % 24,
        version / 60 % 60,
        version % 60
    )
}

fn metadata(object: u64, version: u64, owner: Option<(&str, u64)>) -> String {
    let mut text = format!(
        r#"{{"name":"web-{object}","namespace":"{}","uid":"{}","resourceVersion":"{version}","generation":{},"creationTimestamp":"{}","labels":{{"app":"web","app.kubernetes.io/name":"web","app.kubernetes.io/instance":"web-{}","app.kubernetes.io/managed-by":"Helm","helm.sh/chart":"web-4.2.{}","pod-template-hash":"{:x}"}},"annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"9090","checksum/config":"{:016x}{:016x}"}}"#,
        namespace(object),
        uid(object),
        1 + version % 3,
        time(object),
        place(object) / WORKLOAD,
        object % 7,
        object.wrapping_mul(0x9E37) & 0xff_ffff,
        Random(object / 12).next(),
        Random(object / 7).next(),
    );
    if let Some((kind, owner)) = owner {
        let _ = write!(
            text,
            r#","ownerReferences":[{{"apiVersion":"apps/v1","kind":"{kind}","name":"web-{owner}","uid":"{}","controller":true,"blockOwnerDeletion":true}}]"#,
            uid(owner)
        );
    }
    text.push('}');
    text
}

fn container(name: &str, object: u64) -> String {
    let mut env = String::new();
    for n in 0..9 {
        let _ = write!(
            env,
            r#"{{"name":"SETTING_{n}","valueFrom":{{"configMapKeyRef":{{"name":"web-settings-{}","key":"setting.{n}"}}}}}},"#,
            place(object) / PER_NAMESPACE
        );
    }
    format!(
        r#"{{"name":"{name}","image":"registry.example.com/shop/{name}:4.2.{}","imagePullPolicy":"IfNotPresent","ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}},{{"name":"metrics","containerPort":9090,"protocol":"TCP"}}],"env":[{env}{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}}],"resources":{{"limits":{{"cpu":"500m","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"256Mi"}}}},"volumeMounts":[{{"name":"settings","readOnly":true,"mountPath":"/etc/web"}},{{"name":"kube-api-access-{:05x}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/livez","port":"http","scheme":"HTTP"}},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"readinessProbe":{{"httpGet":{{"path":"/readyz","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":5,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","securityContext":{{"capabilities":{{"drop":["ALL"]}},"runAsNonRoot":true,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false}}}}"#,
        object % 7,
        object & 0xf_ffff
    )
}

fn pod(object: u64, version: u64, random: &mut Random) -> String {
    let spec = format!(
        r#"{{"volumes":[{{"name":"settings","configMap":{{"name":"web-settings-{}","defaultMode":420}}}}],"containers":[{},{}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","serviceAccount":"web","nodeName":"node-{}","securityContext":{{"fsGroup":2000}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}}"#,
        place(object) / PER_NAMESPACE,
        container("web", object),
        container("proxy", object),
        object % 50
    );
    let ready = if random.below(10) == 0 { "False" } else { "True" };
    let restarts = random.below(5);
    let condition = |kind: &str, status: &str| {
        format!(
            r#"{{"type":"{kind}","status":"{status}","lastProbeTime":null,"lastTransitionTime":"{}"}}"#,
            time(version)
        )
    };
    let state = |name: &str| {
        format!(
            r#"{{"name":"{name}","state":{{"running":{{"startedAt":"{}"}}}},"lastState":{{}},"ready":{},"restartCount":{restarts},"image":"registry.example.com/shop/{name}:4.2.{}","imageID":"registry.example.com/shop/{name}@sha256:{:016x}{:016x}","containerID":"containerd://{:016x}{:016x}","started":true}}"#,
            time(version),
            ready == "True",
            object % 7,
            Random(object % 7).next(),
            Random(object % 7 + 1).next(),
            Random(object).next(),
            Random(version).next(),
        )
    };
    let status = format!(
        r#"{{"phase":"Running","conditions":[{},{},{},{}],"hostIP":"10.0.0.{}","podIP":"10.1.{}.{}","startTime":"{}","containerStatuses":[{},{}],"qosClass":"Burstable"}}"#,
        condition("Initialized", "True"),
        condition("Ready", ready),
        condition("ContainersReady", ready),
        condition("PodScheduled", "True"),
        object % 50,
        object / 250 % 250,
        object % 250,
        time(object),
        state("web"),
        state("proxy"),
    );
    let owner = Some(("ReplicaSet", place(object) / WORKLOAD * WORKLOAD + 1));
    object_of("v1", "Pod", &metadata(object, version, owner), &spec, &status)
}

fn template(object: u64) -> String {
    format!(
        r#"{{"metadata":{{"labels":{{"app":"web","app.kubernetes.io/name":"web"}}}},"spec":{{"containers":[{},{}],"restartPolicy":"Always","serviceAccountName":"web"}}}}"#,
        container("web", object),
        container("proxy", object)
    )
}

fn replicas(version: u64, random: &mut Random) -> String {
    let ready = 8 - random.below(3);
    format!(
        r#"{{"observedGeneration":{},"replicas":8,"updatedReplicas":8,"readyReplicas":{ready},"availableReplicas":{ready},"conditions":[{{"type":"Available","status":"True","lastUpdateTime":"{}","lastTransitionTime":"{}","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."}}]}}"#,
        1 + version % 3,
        time(version),
        time(version)
    )
}

fn deployment(object: u64, version: u64, random: &mut Random) -> String {
    let spec = format!(
        r#"{{"replicas":8,"selector":{{"matchLabels":{{"app":"web"}}}},"template":{},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":"25%","maxSurge":"25%"}}}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600}}"#,
        template(object)
    );
    object_of("apps/v1", "Deployment", &metadata(object, version, None), &spec, &replicas(version, random))
}

fn replica_set(object: u64, version: u64, random: &mut Random) -> String {
    let spec = format!(
        r#"{{"replicas":8,"selector":{{"matchLabels":{{"app":"web"}}}},"template":{}}}"#,
        template(object)
    );
    let owner = Some(("Deployment", place(object) / WORKLOAD * WORKLOAD));
    object_of("apps/v1", "ReplicaSet", &metadata(object, version, owner), &spec, &replicas(version, random))
}

fn endpoint_slice(object: u64, version: u64, random: &mut Random, pods: impl Fn(u64) -> u64) -> String {
    let mut endpoints = String::new();
    for n in 0..8 {
        let pod = pods(object + 1 + n);
        let ready = random.below(10) > 0;
        let _ = write!(
            endpoints,
            r#"{}{{"addresses":["10.1.{}.{n}"],"conditions":{{"ready":{ready},"serving":{ready},"terminating":false}},"targetRef":{{"kind":"Pod","namespace":"{}","name":"web-{}","uid":"{}"}},"nodeName":"node-{}","zone":"eu-central-1a"}}"#,
            if n == 0 { "" } else { "," },
            object % 250,
            namespace(object),
            pod,
            uid(pod),
            n
        );
    }
    format!(
        r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{},"addressType":"IPv4","endpoints":[{endpoints}],"ports":[{{"name":"http","port":8080,"protocol":"TCP"}}]}}"#,
        metadata(object, version, None)
    )
}

pub(crate) fn object_of(api_version: &str, kind: &str, metadata: &str, spec: &str, status: &str) -> String {
    format!(
        r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{metadata},"spec":{spec},"status":{status}}}"#
    )
}
