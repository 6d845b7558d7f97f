//! What environments amount to, told from the log without the view.

use super::*;

/// What an environment amounts to after an offset, told without the view.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    pub(super) members: BTreeMap<String, Option<Health>>,
    pub(super) state: Option<Health>,
}

/// The world as a fold over the log leaves it.
#[derive(Default)]
pub(super) struct World {
    pub(super) objects: BTreeMap<ResourceId, (ResourceKey, serde_json::Value, Option<Health>)>,
    spec: Option<EnvironmentSpec>,
    gaps: BTreeSet<Kind>,
}

impl World {
    pub(super) fn take(&mut self, change: &Change, name: &str) {
        match change {
            Change::Applied { key, .. } if key.kind.is_event() => {}
            Change::Applied { id, key, body, .. } => {
                let health =
                    strandline_health::assess(&strandline_object::Object::parse(body).unwrap()).health;
                self.objects.insert(*id, (key.clone(), serde_json::from_str(body).unwrap(), health));
            }
            Change::Deleted { id, .. } => _ = self.objects.remove(id),
            Change::Declared { fact: CatalogFact::Environment(e), .. } if e.id.as_str() == name => {
                self.spec = Some((**e).clone());
            }
            Change::Withdrawn { name: gone, .. } if gone == name => self.spec = None,
            // What was over when it was recorded says nothing of now.
            Change::Coverage(mark) if mark.until.is_some() => {}
            Change::Coverage(mark) if mark.state == CoverageState::Gap => {
                self.gaps.insert(mark.watch.kind.clone());
            }
            Change::Coverage(mark) => _ = self.gaps.remove(&mark.watch.kind),
            Change::Clock(_)
            | Change::Erased(_)
            | Change::Forgotten { .. }
            | Change::Declared { .. }
            | Change::Withdrawn { .. } => {}
        }
    }

    /// Into which namespace the environment looks, which alone decides here who its readers are.
    pub(super) fn looks_into(&self) -> Option<String> {
        self.spec.as_ref().map(|spec| spec.targets[0].namespace.clone())
    }

    /// What matches the target, and whatever hangs below it.
    pub(super) fn members(&self, target: &TargetSpec) -> BTreeSet<String> {
        let matches = |object: &serde_json::Value| {
            let labelled =
                |(name, value): (&String, &String)| object["metadata"]["labels"][name] == value.as_str();
            let here =
                target.namespace.is_empty() || object["metadata"]["namespace"] == target.namespace.as_str();
            here && target.labels.iter().flatten().all(labelled)
                && target.inventory.as_ref().is_none_or(|id| marked(object, id))
        };
        let objects = || self.objects.values().map(|(_, object, _)| object);
        let mut members: BTreeSet<String> = objects().filter(|object| matches(object)).map(uid_of).collect();
        loop {
            let below = objects().filter(|object| owners(object).iter().any(|owner| members.contains(owner)));
            let more: BTreeSet<String> = below.map(uid_of).filter(|uid| !members.contains(uid)).collect();
            if more.is_empty() {
                return members;
            }
            members.extend(more);
        }
    }
}

/// Whether an object carries the one mark that these tests give.
fn marked(object: &serde_json::Value, inventory: &Inventory) -> bool {
    let mark = &object["metadata"]["annotations"]["config.k8s.io/owning-inventory"];
    mark.as_str().is_some_and(|id| *inventory == Inventory::CliUtils(id.to_owned()))
}

pub(super) fn uid_of(object: &serde_json::Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

pub(super) fn owners(object: &serde_json::Value) -> Vec<String> {
    let references = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let uids = references.iter().filter_map(|reference| reference["uid"].as_str().map(str::to_owned));
    uids.filter(|owner| *owner != uid_of(object)).collect()
}

pub(super) fn world(records: &[Record], name: &str) -> World {
    let mut world = World::default();
    records.iter().for_each(|record| world.take(&record.change, name));
    world
}

/// The naive fold: everything in memory, everything computed anew.
pub(super) fn fold(records: &[Record], name: &str) -> Option<Told> {
    let world = world(records, name);
    let members = world.members(&world.spec.as_ref()?.targets[0]);
    let inside: Vec<_> =
        world.objects.values().filter(|(_, object, _)| members.contains(&uid_of(object))).collect();
    let roots =
        inside.iter().filter(|(_, object, _)| !owners(object).iter().any(|owner| members.contains(owner)));
    let known = roots.filter_map(|(_, _, health)| *health).max();
    let blind = world.gaps.contains(&Kind::new("", ""));
    let unwatched = blind || inside.iter().any(|(key, ..)| world.gaps.contains(&key.kind));
    Some(Told {
        members: inside.iter().map(|(_, object, health)| (uid_of(object), *health)).collect(),
        state: if unwatched { Some(Health::Unknown) } else { known },
    })
}
