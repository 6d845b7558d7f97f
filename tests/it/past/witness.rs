//! Somebody who changes a cluster and writes down, at many moments, what kubectl says that it holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use strandline_clock::{Clock, SystemClock};
use strandline_model::Timestamp;

use crate::control_plane::harness::ControlPlane;
use crate::random::Random;
use crate::server::{Result, Server, gaps, items};

/// Objects by name, each with its uid and resourceVersion.
type State = BTreeMap<String, (String, String)>;

/// The witness.
pub(super) struct Witness {
    random: Random,
    rounds: u64,
    seen: Vec<(Timestamp, State)>,
}

impl Default for Witness {
    fn default() -> Self {
        Witness { random: Random::new(14), rounds: 0, seen: Vec::new() }
    }
}

/// How long the record may take to hold what the cluster holds.
const PATIENCE: Duration = Duration::from_secs(240);

const KINDS: &str = "configmaps";

/// Whether a kind is watched, as the answer about coverage says.
pub(super) fn is_watched(coverage: &Value, kind: &str) -> bool {
    items(coverage).any(|item| item["kind"] == kind && item["state"] == "watched")
}

impl Witness {
    /// Makes, changes or removes one object of a few.
    pub(super) async fn change(&mut self, plane: &ControlPlane) -> Result<()> {
        self.rounds += 1;
        let name = format!("thing-{}", self.random.below(6));
        if self.random.below(4) == 0 {
            plane.kubectl(&["delete", "configmap", &name, "-n", "past", "--ignore-not-found"]).await?;
            return Ok(());
        }
        let round = self.rounds;
        let manifest = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: past}}\ndata: {{round: \"{round}\"}}\n"
        );
        plane.apply(&manifest).await?;
        Ok(())
    }

    /// Lets the revision of the store run past where it stood before it was set back; what the witness looks at is
    /// changed first, so that whoever resumes behind it misses that.
    pub(super) async fn overtake(&mut self, plane: &ControlPlane) -> Result<()> {
        for _ in 0..4 {
            self.change(plane).await?;
        }
        self.look(plane).await?;
        let secrets: Vec<String> = (0..300)
            .map(|n| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: fill-{n}, namespace: past}}\n"))
            .collect();
        plane.apply(&secrets.join("---\n")).await?;
        Ok(())
    }

    /// Writes down what there is.
    pub(super) async fn look(&mut self, plane: &ControlPlane) -> Result<()> {
        let printed = plane.kubectl(&["get", KINDS, "-n", "past", "-o", "json"]).await?;
        let state = state(&serde_json::from_str(&printed)?, |item| {
            let metadata = &item["metadata"];
            [&metadata["name"], &metadata["uid"], &metadata["resourceVersion"]].map(text)
        });
        self.seen.push((SystemClock.now(), state));
        Ok(())
    }

    /// Waits until the newest state that was written down is what is recorded.
    pub(super) async fn until_recorded(&self, server: &Server) -> Result<()> {
        let Some((_, wanted)) = self.seen.last() else { return Ok(()) };
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let recorded = recorded(server, "").await.map(|(state, _)| state);
            match recorded {
                Ok(state) if state == *wanted => return Ok(()),
                recorded if tokio::time::Instant::now() > until => {
                    return Err(format!(
                        "the record never held what the cluster holds: {recorded:?} is not {wanted:?}\n{}",
                        server.output()
                    )
                    .into());
                }
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Holds the answers about every moment against what was seen then.
    pub(super) async fn compare(&self, server: &Server) -> Result<()> {
        let (mut outside, mut named) = (0, BTreeSet::new());
        for (index, (time, seen)) in self.seen.iter().enumerate() {
            let (answered, metadata) = recorded(server, &format!("&at={time}")).await?;
            let within: Vec<String> =
                gaps(&metadata).filter(|gap| concerns(gap)).map(Value::to_string).collect();
            named.extend(within.iter().cloned());
            if !within.is_empty() {
                continue;
            }
            outside += 1;
            let delay = Duration::from_millis(metadata["delay_ms"].as_u64().unwrap_or(5_000));
            let from = time.minus(delay);
            let within = self.seen[..index].iter().rev().take_while(|(before, _)| *before >= from).count();
            // The one before the first within the delay is what held at its beginning.
            let first = index.saturating_sub(within + 1);
            let allowed = |name: &String| -> BTreeSet<Option<&(String, String)>> {
                self.seen[first..=index].iter().map(|(_, state)| state.get(name)).collect()
            };
            for name in seen.keys().chain(answered.keys()) {
                if !allowed(name).contains(&answered.get(name)) {
                    return Err(format!(
                        "at {time} `{name}` is answered as {:?}, and kubectl saw {:?}; the answer says {metadata}",
                        answered.get(name),
                        allowed(name),
                    )
                    .into());
                }
            }
        }
        // An answer that names a gap for everything would be true and of no use.
        match outside * 4 >= self.seen.len() {
            true => Ok(()),
            false => {
                let all = self.seen.len();
                Err(format!("only {outside} of {all} moments lie outside of gaps: {named:#?}").into())
            }
        }
    }
}

/// What the server answers in the witness's words, with what the answer says of itself.
async fn recorded(server: &Server, at: &str) -> Result<(State, Value)> {
    let list = server.ask(&format!("/resources?kind=ConfigMap&namespace=past&limit=500{at}")).await?;
    let metadata = list["metadata"].clone();
    let offset = metadata["offset"].as_u64().ok_or("no offset")?;
    let mut state = State::new();
    for item in items(&list) {
        let (name, uid) = (text(&item["name"]), text(&item["id"]));
        let detail = server.ask(&format!("/resources/{uid}?at={offset}")).await?;
        state.insert(name, (uid, text(&detail["resource_version"])));
    }
    Ok((state, metadata))
}

/// Whether a gap is one of what the witness looks at.
fn concerns(gap: &Value) -> bool {
    let is = |field: &str, wanted: &str| {
        gap[field].as_str().is_none_or(|value| value.is_empty() || value == wanted)
    };
    is("kind", "ConfigMap") && is("namespace", "past")
}

fn state(list: &Value, of: impl Fn(&Value) -> [String; 3]) -> State {
    items(list).map(of).map(|[name, uid, version]| (name, (uid, version))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
