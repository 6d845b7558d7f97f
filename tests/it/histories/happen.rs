//! What happens to a small organization, from a seed: few names, so that they meet often.

use serde_json::{Map, Value, json};

use super::catalog;
use super::*;
use strandline_log::{Appender, Batch, Begin, Observed, Phase};
use strandline_model::{CoverageMark, CoverageState, Kind, ResourceVersion, Timestamp, WatchKey};

pub(super) const CLUSTERS: [&str; 2] = ["east", "west"];
pub(super) const NAMESPACES: [&str; 2] = ["shop", "tools"];
const APPS: [&str; 3] = ["web", "api", "db"];

/// The kinds, each with its API version; what has no namespace stands last.
const KINDS: [(&str, &str); 8] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("example.dev/v1", "Widget"),
    ("v1", "Node"),
];
const SPACELESS: usize = KINDS.len() - 1;
/// Names of each kind in a namespace.
const NAMES: usize = 4;
/// Lives that one name can have; the third is as one that ended and comes again.
const LIVES: usize = 3;

/// Chance from a seed (splitmix64), the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    /// Whether it happens, of a hundred times so often.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A name under which objects come and go.
#[derive(Clone, Copy, Debug)]
struct Slot {
    cluster: usize,
    kind: usize,
    namespace: usize,
    name: usize,
}

impl Slot {
    fn any(dice: &mut Dice) -> Self {
        // Pods come and go more often than what owns them.
        let kind = if dice.chance(35) { 2 } else { dice.below(KINDS.len()) };
        let (cluster, namespace) = (dice.below(CLUSTERS.len()), dice.below(NAMESPACES.len()));
        Slot { cluster, kind, namespace, name: dice.below(NAMES) }
    }

    fn namespace(&self) -> &'static str {
        if self.kind == SPACELESS { "" } else { NAMESPACES[self.namespace] }
    }

    fn name(&self) -> String {
        format!("{}-{}", KINDS[self.kind].1.to_lowercase(), self.name)
    }

    /// What stands under the last name has the same uid in every cluster.
    fn uid(&self, life: usize) -> String {
        let cluster = if self.name == NAMES - 1 { "any" } else { CLUSTERS[self.cluster] };
        format!("{cluster}.{}.{}.{life}", self.namespace(), self.name())
    }

    fn watch(&self) -> WatchKey {
        watch(self.cluster, self.kind)
    }
}

fn watch(cluster: usize, kind: usize) -> WatchKey {
    let (api_version, kind) = KINDS[kind];
    let kind = Kind::from_api_version(api_version, kind);
    WatchKey { cluster: CLUSTERS[cluster].to_owned(), kind, namespace: String::new() }
}

/// A history as it goes on.
pub(super) struct Happening {
    pub(super) dice: Dice,
    pub(super) clock: std::sync::Arc<ManualClock>,
    now: Timestamp,
    version: u64,
    /// What becomes known later, by a chance of its own: the rest happens as it would without.
    later: Dice,
    /// Clusters that somebody looks at before anything else happens.
    looked_at: Vec<&'static str>,
}

impl Happening {
    pub(super) fn new(seed: u64, clock: std::sync::Arc<ManualClock>) -> Self {
        let (later, mut first) = (Dice(seed ^ 0x1A7E), Dice(seed ^ 0xF125));
        let looked_at = CLUSTERS.into_iter().filter(|_| first.chance(70)).collect();
        Happening { dice: Dice(seed), clock, now: World::time(0), version: 0, later, looked_at }
    }

    /// Lets happen so many things more.
    pub(super) async fn go_on(&mut self, appender: &Appender, steps: usize) {
        for cluster in std::mem::take(&mut self.looked_at) {
            appender.mark(CoverageMark::watched(WatchKey::discovery(cluster, ""), self.now)).await.unwrap();
        }
        for _ in 0..steps {
            self.pass_time();
            match self.dice.below(100) {
                0..60 => self.apply(appender).await,
                60..70 => self.delete(appender).await,
                70..73 => self.relist(appender).await,
                73..80 => self.cover(appender).await,
                80..86 => self.say(appender).await,
                _ => {
                    self.version += 1;
                    catalog::happen(appender, &mut self.dice, self.now, self.version).await;
                }
            }
        }
    }

    /// Often no time passes between two changes, and sometimes a day.
    fn pass_time(&mut self) {
        let micros = [0, 0, 1, 1_000_000, 60_000_000, 86_400_000_000];
        self.now = self.now.plus(std::time::Duration::from_micros(self.dice.pick(&micros)));
        self.clock.set(self.now);
    }

    async fn write(&mut self, appender: &Appender, watch: WatchKey, phase: Phase, observed: Vec<Observed>) {
        let fresh = phase == Phase::ListEnd;
        let epoch = appender.begin(Begin::new(&watch, fresh)).await.unwrap().epoch;
        let cursor = Some(ResourceVersion::new(self.version.to_string()));
        appender.append(Batch { watch, epoch, phase, observed, cursor }).await.unwrap();
    }

    /// An object takes a state, or several of its kind do at once.
    async fn apply(&mut self, appender: &Appender) {
        let slot = Slot::any(&mut self.dice);
        let more = if self.dice.chance(10) { 3 } else { 0 };
        let mut seen = vec![self.state(slot)];
        for _ in 0..more {
            let other =
                Slot { namespace: self.dice.below(NAMESPACES.len()), name: self.dice.below(NAMES), ..slot };
            seen.push(self.state(other));
        }
        self.write(appender, slot.watch(), Phase::Watch, seen).await;
    }

    async fn delete(&mut self, appender: &Appender) {
        let slot = Slot::any(&mut self.dice);
        let resource_version = ResourceVersion::new(self.version.to_string());
        let gone = |life| Observed::Deleted {
            namespace: slot.namespace().to_owned(),
            name: slot.name(),
            uid: Uid::new(slot.uid(life)),
            resource_version: resource_version.clone(),
        };
        self.write(appender, slot.watch(), Phase::Watch, (0..LIVES).map(gone).collect()).await;
    }

    /// A kind is listed anew and most of it is gone; now and then it vanishes as a whole.
    async fn relist(&mut self, appender: &Appender) {
        let Slot { cluster, kind, .. } = Slot::any(&mut self.dice);
        let kept = if self.dice.chance(20) { 0 } else { 60 };
        let mut seen = Vec::new();
        for namespace in 0..if kind == SPACELESS { 1 } else { NAMESPACES.len() } {
            for name in 0..NAMES {
                if self.dice.chance(kept) {
                    seen.push(self.state(Slot { cluster, kind, namespace, name }));
                }
            }
        }
        self.write(appender, watch(cluster, kind), Phase::ListEnd, seen).await;
    }

    async fn cover(&mut self, appender: &Appender) {
        let slot = Slot::any(&mut self.dice);
        let watch = match self.dice.below(6) {
            0 => WatchKey::discovery(CLUSTERS[slot.cluster], self.dice.pick(&["", "apps"])),
            1 => WatchKey { namespace: slot.namespace().to_owned(), ..slot.watch() },
            _ => slot.watch(),
        };
        use CoverageState::{Excluded, Gap, Watched};
        let state = self.dice.pick(&[Gap, Watched, Watched, Excluded]);
        let reason = if state == Watched { "" } else { "forbidden" };
        let since = self.now.minus(std::time::Duration::from_secs(self.dice.below(100) as u64));
        let later = &mut self.later;
        let ago =
            |later: &mut Dice| later.pick(&[0, 1, 1_000_000, 90_000_000, 86_400_000_000, 200_000_000_000]);
        let before = |time: Timestamp, micros| time.minus(std::time::Duration::from_micros(micros));
        if later.chance(40) {
            let until = before(self.now, ago(later));
            let gap = CoverageMark::gap(watch.clone(), before(until, ago(later)), "late", "");
            appender.mark(gap.closed(until)).await.unwrap();
        }
        let since = if state == Gap && later.chance(50) { before(self.now, ago(later)) } else { since };
        let nothing_missed = state == Watched && later.chance(40);
        let mark = CoverageMark::new(watch, state, since, reason, "");
        appender.mark(CoverageMark { nothing_missed, ..mark }).await.unwrap();
    }

    /// A Kubernetes Event, which is no resource.
    async fn say(&mut self, appender: &Appender) {
        let slot = Slot::any(&mut self.dice);
        self.version += 1;
        let (name, uid) = (slot.name(), slot.uid(self.dice.below(LIVES)));
        let body = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("{name}.said"), "namespace": slot.namespace(), "uid": format!("{uid}.said")},
            "involvedObject": {"apiVersion": KINDS[slot.kind].0, "kind": KINDS[slot.kind].1,
                "namespace": slot.namespace(), "name": name, "uid": uid},
            "type": "Warning", "reason": "BackOff", "message": "it does", "count": self.version,
        });
        let seen = observation(
            slot.namespace(),
            &format!("{name}.said"),
            &format!("{uid}.said"),
            self.version,
            &body,
        );
        let watch = WatchKey { kind: Kind::new("", "Event"), ..slot.watch() };
        self.write(appender, watch, Phase::Watch, vec![Observed::Applied(seen)]).await;
    }

    fn state(&mut self, slot: Slot) -> Observed {
        self.version += 1;
        let life = if self.dice.chance(80) { 0 } else { self.dice.below(LIVES) };
        let (namespace, name, uid) = (slot.namespace(), slot.name(), slot.uid(life));
        if self.dice.chance(2) {
            return Observed::Unreadable { namespace: namespace.to_owned(), name, uid: Uid::new(uid) };
        }
        let body = if self.dice.chance(1) { json!("no object") } else { self.object(slot, &uid) };
        Observed::Applied(observation(namespace, &name, &uid, self.version, &body))
    }

    fn object(&mut self, slot: Slot, uid: &str) -> Value {
        let dice = &mut self.dice;
        let (api_version, kind) = KINDS[slot.kind];
        let mut object = judged_fields(if dice.chance(60) { 0 } else { dice.below(7) });
        let spec = fields(dice, slot);
        if kind == "EndpointSlice" {
            object.extend(spec);
        } else if let Some(Value::Object(known)) = object.get_mut("spec") {
            known.extend(spec);
        }
        let mut metadata = json!({
            "name": slot.name(), "namespace": slot.namespace(), "uid": uid,
            "creationTimestamp": "2026-09-01T00:00:00Z",
            "labels": labels(dice, slot), "annotations": annotations(dice), "ownerReferences": owners(dice, slot),
        });
        if dice.chance(3) {
            metadata["deletionTimestamp"] = "2026-11-21T00:00:00Z".into();
            metadata["finalizers"] = json!(["example.dev/wait"]);
        }
        object.extend([
            ("apiVersion".to_owned(), api_version.into()),
            ("kind".to_owned(), kind.into()),
            ("metadata".to_owned(), metadata),
        ]);
        let mut object = Value::Object(object);
        self.wait(&mut object);
        object
    }
}

impl Happening {
    /// Some wait for what may not come: no node takes a Pod, and nobody reports.
    fn wait(&mut self, object: &mut Value) {
        let Happening { now, later, .. } = self;
        if !later.chance(30) {
            return;
        }
        let ago = std::time::Duration::from_secs(later.pick(&[0, 1, 59, 240, 299, 86_400]));
        let since = now.minus(ago).to_string();
        match object["kind"].as_str() {
            Some("Pod") => {
                let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": "no node", "lastTransitionTime": since});
                object["status"] = json!({"phase": "Pending", "conditions": [condition]});
            }
            Some("Widget") => object["status"] = json!({}),
            _ => {}
        }
    }
}

/// The part of a kind's spec by which it is linked.
fn fields(dice: &mut Dice, slot: Slot) -> Map<String, Value> {
    let named = |kind: usize, dice: &mut Dice| Slot { kind, name: dice.below(NAMES), ..slot };
    let pod = named(2, dice);
    let (uid, settings) = (pod.uid(dice.below(LIVES)), named(4, dice).name());
    let value = match KINDS[slot.kind].1 {
        "Pod" => json!({"nodeName": named(SPACELESS, dice).name(),
            "volumes": [{"name": "a", "configMap": {"name": settings}}]}),
        "Service" if dice.chance(20) => json!({}),
        "Service" => json!({"selector": {"app": dice.pick(&APPS)}}),
        "EndpointSlice" => json!({"endpoints": [
            {"targetRef": {"kind": "Pod", "namespace": pod.namespace(), "name": pod.name(), "uid": uid}}]}),
        _ => json!({}),
    };
    value.as_object().cloned().unwrap()
}

fn labels(dice: &mut Dice, slot: Slot) -> Value {
    let mut labels = Map::new();
    if dice.chance(60) {
        labels.insert("app".into(), dice.pick(&APPS).into());
    }
    if dice.chance(25) {
        labels.insert("app.gitlab.com/project_id".into(), "1".into());
        labels.insert("app.gitlab.com/environment_slug".into(), dice.pick(&["production", "staging"]).into());
    }
    match KINDS[slot.kind].1 {
        "EndpointSlice" => {
            let service = Slot { kind: 3, name: dice.below(NAMES), ..slot };
            labels.insert("kubernetes.io/service-name".into(), service.name().into());
        }
        "Node" if dice.chance(70) => {
            labels.insert("topology.kubernetes.io/region".into(), dice.pick(&["eu", "eu", "us"]).into());
        }
        _ => {}
    }
    Value::Object(labels)
}

fn annotations(dice: &mut Dice) -> Value {
    if dice.chance(15) { json!({"config.k8s.io/owning-inventory": "shop-1"}) } else { json!({}) }
}

/// Mostly what owns such things, sometimes anything: itself, what owns its owner, two at once, or nothing that is there.
fn owners(dice: &mut Dice, slot: Slot) -> Value {
    let count = dice.pick(&[0, 1, 1, 1, 2]);
    let owner = |dice: &mut Dice| {
        let kind =
            if slot.kind > 0 && dice.chance(80) { slot.kind.min(2) - 1 } else { dice.below(KINDS.len()) };
        let cluster = if dice.chance(5) { dice.below(CLUSTERS.len()) } else { slot.cluster };
        let namespace = if dice.chance(5) { dice.below(NAMESPACES.len()) } else { slot.namespace };
        let owner = Slot { cluster, kind, namespace, name: dice.below(NAMES) };
        let life = if dice.chance(85) { 0 } else { dice.below(LIVES) };
        json!({"apiVersion": KINDS[kind].0, "kind": KINDS[kind].1, "name": owner.name(), "uid": owner.uid(life)})
    };
    (0..count).map(|_| owner(dice)).collect()
}
