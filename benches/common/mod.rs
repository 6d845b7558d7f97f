//! Realistic objects and their changes, from a seed, and a log to put them into.
//!
//! Two thirds are Pods; the rest are Deployments, ReplicaSets and EndpointSlices. Bodies are some 5.5 KB and
//! share the wording of their templates, as those of a cluster do; a change moves a status, as most changes do.

#![allow(dead_code, reason = "each bench uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot set itself up has nothing to measure")]

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use strandline::clock::SystemClock;
use strandline::digest::Digest;
use strandline::log::{Appender, Batch, Begin, Epoch, LogError, LogWriter, Observation, Observed, Phase};
use strandline::model::{Kind, ResourceVersion, Uid, WatchKey};

/// Objects in one append, as a busy watch hands them over.
pub(crate) const BATCH: usize = 1000;

/// A small generator of numbers (splitmix64), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
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
            observation(object, n as u64 + 1, &mut random)
        })
        .collect()
}

/// One state of an object.
pub(crate) fn observation(object: u64, version: u64, random: &mut Random) -> Seen {
    let (kind, body) = match object % 12 {
        0 => ("Deployment", deployment(object, version, random)),
        1 | 2 => ("ReplicaSet", replica_set(object, version, random)),
        3 => ("EndpointSlice", endpoint_slice(object, version, random)),
        _ => ("Pod", pod(object, version, random)),
    };
    let observation = Observation {
        namespace: namespace(object),
        name: format!("web-{object}"),
        uid: Uid::new(uid(object)),
        resource_version: ResourceVersion::new(version.to_string()),
        digest: Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().unwrap()),
        body,
        changed_by: None,
    };
    Seen { kind, observation }
}

fn namespace(object: u64) -> String {
    format!("shop-{}", object / 200)
}

fn uid(object: u64) -> String {
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

fn time(version: u64) -> String {
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
        object / 12,
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
            object / 200
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
        object / 200,
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
    let owner = Some(("ReplicaSet", object / 12 * 12 + 1));
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
    let owner = Some(("Deployment", object / 12 * 12));
    object_of("apps/v1", "ReplicaSet", &metadata(object, version, owner), &spec, &replicas(version, random))
}

fn endpoint_slice(object: u64, version: u64, random: &mut Random) -> String {
    let mut endpoints = String::new();
    for n in 0..8 {
        let ready = random.below(10) > 0;
        let _ = write!(
            endpoints,
            r#"{}{{"addresses":["10.1.{}.{n}"],"conditions":{{"ready":{ready},"serving":{ready},"terminating":false}},"targetRef":{{"kind":"Pod","namespace":"{}","name":"web-{}","uid":"{}"}},"nodeName":"node-{}","zone":"eu-central-1a"}}"#,
            if n == 0 { "" } else { "," },
            object % 250,
            namespace(object),
            object + n,
            uid(object + n),
            n
        );
    }
    format!(
        r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{},"addressType":"IPv4","endpoints":[{endpoints}],"ports":[{{"name":"http","port":8080,"protocol":"TCP"}}]}}"#,
        metadata(object, version, None)
    )
}

fn object_of(api_version: &str, kind: &str, metadata: &str, spec: &str, status: &str) -> String {
    format!(
        r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{metadata},"spec":{spec},"status":{status}}}"#
    )
}

/// The watch that follows a kind.
pub(crate) fn watch(kind: &str) -> WatchKey {
    WatchKey { cluster: "bench".into(), kind: Kind::new("", kind), namespace: String::new() }
}

const KINDS: [&str; 5] = ["Deployment", "ReplicaSet", "EndpointSlice", "Service", "Pod"];

/// A log with its writer's thread.
pub(crate) struct Log {
    pub(crate) appender: Appender,
    thread: JoinHandle<Result<(), LogError>>,
    epochs: Vec<(&'static str, Epoch)>,
    runtime: tokio::runtime::Runtime,
}

impl Log {
    /// Opens the log of a directory.
    pub(crate) fn open(directory: &Path) -> Self {
        let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).unwrap();
        let thread = std::thread::spawn(move || writer.run());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let begin = |kind| runtime.block_on(appender.begin(Begin::new(&watch(kind), true))).unwrap().epoch;
        let epochs = KINDS.iter().map(|kind| (*kind, begin(kind))).collect();
        Log { appender, thread, epochs, runtime }
    }

    /// Appends observations in batches of `size`, each batch one watch's, with up to four under way.
    pub(crate) fn append(&self, seen: Vec<Seen>, size: usize) {
        let mut pending: Vec<Vec<Observed>> = KINDS.iter().map(|_| Vec::new()).collect();
        let mut batches = Vec::new();
        for item in seen {
            let place = KINDS.iter().position(|kind| *kind == item.kind).unwrap();
            pending[place].push(Observed::Applied(item.observation));
            if pending[place].len() == size {
                batches.push(self.batch(place, std::mem::take(&mut pending[place])));
            }
        }
        for (place, rest) in pending.into_iter().enumerate().filter(|(_, rest)| !rest.is_empty()) {
            batches.push(self.batch(place, rest));
        }
        self.runtime.block_on(async {
            for group in batches.chunks(4) {
                let appends = group.iter().map(|batch| self.appender.append(batch.clone()));
                for done in futures_util::future::join_all(appends).await {
                    done.unwrap();
                }
            }
        });
    }

    fn batch(&self, place: usize, observed: Vec<Observed>) -> Batch {
        let (kind, epoch) = self.epochs[place];
        let cursor = Some(ResourceVersion::new("1"));
        Batch { watch: watch(kind), epoch, phase: Phase::Watch, observed, cursor }
    }

    /// Closes the log.
    pub(crate) fn close(self) {
        drop(self.appender);
        self.thread.join().unwrap().unwrap();
    }
}
