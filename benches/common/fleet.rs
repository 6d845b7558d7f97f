//! A fleet of workloads as its clusters would tell of it, from a seed and without end: first all that is there, then what
//! happens to it.
//!
//! Things happen as they do together. A Pod that is no longer ready moves its EndpointSlice, its ReplicaSet and its
//! Deployment, and an Event says why; a Pod that is replaced ends, another comes in steps, and the same others move.

use std::collections::VecDeque;

use strandline_log::Observed;
use strandline_model::{ResourceVersion, Uid};

use super::Random;
use super::objects::{PER_NAMESPACE, WORKLOAD, in_life, namespace, object_of, observation, seen, time, uid};

/// Objects that share a Node.
const PER_NODE: u64 = 100;

/// What a watch sees, with its kind.
pub(crate) type Sight = (&'static str, Observed);

/// A fleet. Its first namespace is the busiest, and in its second nothing happens.
pub(crate) struct Fleet {
    random: Random,
    objects: u64,
    /// Of a hundred things, how many happen in the first namespace.
    busy: u64,
    /// The lives of all places so far.
    lives: Vec<u32>,
    version: u64,
    begun: u64,
    waiting: VecDeque<Sight>,
}

impl Fleet {
    /// A fleet of about so many objects, at least three namespaces of them.
    pub(crate) fn new(seed: u64, objects: u64, busy: u64) -> Self {
        let objects = objects.div_ceil(PER_NAMESPACE).max(3) * PER_NAMESPACE;
        let lives = vec![0; usize::try_from(objects).unwrap()];
        let (random, waiting) = (Random(seed), VecDeque::new());
        Fleet { random, objects, busy, lives, version: 0, begun: 0, waiting }
    }

    /// The objects that are there when all has been told for the first time, besides Nodes.
    pub(crate) const fn objects(&self) -> u64 {
        self.objects
    }

    /// How many sights tell of all that is there for the first time.
    pub(crate) const fn first(&self) -> u64 {
        self.objects + self.objects / PER_NODE
    }

    /// The namespaces, the busy one first, then the quiet one.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = String> {
        (0..self.objects / PER_NAMESPACE).map(|n| namespace(n * PER_NAMESPACE))
    }

    fn object(&self, place: u64) -> u64 {
        let life = usize::try_from(place).ok().and_then(|place| self.lives.get(place));
        in_life(place, life.map_or(0, |life| u64::from(*life)))
    }

    /// What stands in a place takes another state.
    fn moves(&mut self, place: u64) {
        self.version += 1;
        let (object, version, mut random) = (self.object(place), self.version, Random(self.random.next()));
        let seen = observation(object, version, &mut random, |place| self.object(place));
        self.waiting.push_back((seen.kind, Observed::Applied(seen.observation)));
    }

    /// The next object that is there for the first time, without Nodes; none when all are.
    pub(crate) fn comes(&mut self) -> Option<Sight> {
        (self.begun < self.objects).then(|| self.moves(self.begun))?;
        self.begun += 1;
        self.waiting.pop_back()
    }

    /// What happens next to the objects that are there, of which there are at least three namespaces, before others come.
    pub(crate) fn meanwhile(&mut self) -> Sight {
        loop {
            match self.waiting.pop_front() {
                Some(sight) => return sight,
                None => self.happen(),
            }
        }
    }

    /// Something happens among those that are there.
    fn happen(&mut self) {
        let there = self.begun.min(self.objects);
        let busy = self.random.below(100) < self.busy;
        let workload = if busy {
            self.random.below(PER_NAMESPACE / WORKLOAD)
        } else {
            let quiet = 2 * PER_NAMESPACE / WORKLOAD;
            quiet + self.random.below(there / WORKLOAD - quiet)
        };
        let first = workload * WORKLOAD;
        let pod = first + 4 + self.random.below(8);
        match self.random.below(100) {
            0..30 => self.replace(pod),
            30..99 => {
                self.moves(pod);
                self.say(pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503");
            }
            _ => self.node(pod / PER_NODE),
        }
        [first + 3, first + 1, first].into_iter().for_each(|place| self.moves(place));
    }

    /// A Pod ends, and another comes.
    fn replace(&mut self, pod: u64) {
        let gone = self.object(pod);
        self.say(pod, "Killing", "Stopping container web");
        self.version += 1;
        let resource_version = ResourceVersion::new(self.version.to_string());
        let (namespace, name) = (namespace(gone), format!("web-{gone}"));
        let uid = Uid::new(uid(gone));
        self.waiting.push_back(("Pod", Observed::Deleted { namespace, name, uid, resource_version }));
        self.lives[usize::try_from(pod).unwrap()] += 1;
        self.moves(pod);
        self.say(pod, "Scheduled", "Successfully assigned the pod to a node");
        self.moves(pod);
        self.say(pod, "Started", "Started container web");
    }

    /// An Event of a Pod; Events have names of their own, and each is told once.
    fn say(&mut self, pod: u64, reason: &str, message: &str) {
        self.version += 1;
        let (object, version) = (self.object(pod), self.version);
        let (namespace, name) = (namespace(object), format!("web-{object}.{version:x}"));
        let own = format!("event-{version}");
        let at = time(version);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"Event","metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{own}","resourceVersion":"{version}","creationTimestamp":"{at}"}},"involvedObject":{{"apiVersion":"v1","kind":"Pod","namespace":"{namespace}","name":"web-{object}","uid":"{}","fieldPath":"spec.containers{{web}}"}},"reason":"{reason}","message":"{message}","source":{{"component":"kubelet","host":"node-{}"}},"firstTimestamp":"{at}","lastTimestamp":"{at}","count":1,"type":"Normal","reportingComponent":"kubelet","reportingInstance":"node-{}"}}"#,
            uid(object),
            pod / PER_NODE,
            pod / PER_NODE,
        );
        let observed = Observed::Applied(seen(namespace, name, own, version, body));
        self.waiting.push_back(("Event", observed));
    }

    fn node(&mut self, node: u64) {
        self.version += 1;
        let (version, ready) = (self.version, self.random.below(20) > 0);
        let (name, at) = (format!("node-{node}"), time(version));
        let condition = |kind: &str, holds: bool, reason: &str| {
            let status = if holds { "True" } else { "False" };
            format!(
                r#"{{"type":"{kind}","status":"{status}","lastHeartbeatTime":"{at}","lastTransitionTime":"{at}","reason":"{reason}","message":"kubelet says {reason}"}}"#
            )
        };
        let conditions = [
            condition("MemoryPressure", !ready, "KubeletHasSufficientMemory"),
            condition("DiskPressure", false, "KubeletHasNoDiskPressure"),
            condition("PIDPressure", false, "KubeletHasSufficientPID"),
            condition("Ready", ready, "KubeletReady"),
        ];
        let image = |n: u64| {
            let digest = Random(n).next();
            format!(
                r#"{{"names":["registry.example.com/shop/web@sha256:{digest:016x}{digest:016x}","registry.example.com/shop/web:4.2.{n}"],"sizeBytes":{}}}"#,
                digest >> 36
            )
        };
        let images: Vec<String> = (0..25).map(image).collect();
        let metadata = format!(
            r#"{{"name":"{name}","uid":"uid-{name}","resourceVersion":"{version}","creationTimestamp":"{}","labels":{{"kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","kubernetes.io/arch":"amd64","topology.kubernetes.io/region":"eu-central","topology.kubernetes.io/zone":"eu-central-1{}","node.kubernetes.io/instance-type":"m7.2xlarge"}}}}"#,
            time(node),
            ["a", "b", "c"][usize::try_from(node % 3).unwrap()],
        );
        let spec = format!(r#"{{"podCIDR":"10.1.{}.0/24","providerID":"example:///{name}"}}"#, node % 250);
        let status = format!(
            r#"{{"capacity":{{"cpu":"8","ephemeral-storage":"104845292Ki","memory":"32386416Ki","pods":"110"}},"allocatable":{{"cpu":"7910m","memory":"31369584Ki","pods":"110"}},"conditions":[{}],"addresses":[{{"type":"InternalIP","address":"10.0.{}.{}"}},{{"type":"Hostname","address":"{name}"}}],"nodeInfo":{{"kernelVersion":"6.12.0","osImage":"Example Linux","containerRuntimeVersion":"containerd://2.2.0","kubeletVersion":"v1.36.1","operatingSystem":"linux","architecture":"amd64"}},"images":[{}]}}"#,
            conditions.join(","),
            node / 250,
            node % 250,
            images.join(","),
        );
        let body = object_of("v1", "Node", &metadata, &spec, &status);
        let own = format!("uid-{name}");
        self.waiting.push_back(("Node", Observed::Applied(seen(String::new(), name, own, version, body))));
    }
}

impl Iterator for Fleet {
    type Item = Sight;

    fn next(&mut self) -> Option<Sight> {
        while self.waiting.is_empty() {
            if self.begun < self.objects {
                self.moves(self.begun);
                self.begun += 1;
            } else if self.begun < self.first() {
                self.node(self.begun - self.objects);
                self.begun += 1;
            } else {
                self.happen();
            }
        }
        self.waiting.pop_front()
    }
}
