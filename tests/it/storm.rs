//! Two real clusters in one server while kinds come and go and every Pod is replaced several times: at the end
//! what is recorded equals what kubectl says, object by object.
//!
//! A tenth of the storm runs by default; `STRANDLINE_STORM=full`, which is `just storm`, runs the whole.

mod custom_kinds;
mod record;
mod truth;

use std::env;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::custom_kinds::CustomKind;
use self::record::{Record, differences};
use self::truth::Truth;
use crate::control_plane::harness::{ControlPlane, NODE, skip_without_control_plane};
use crate::server::{Result, Server, items};

/// In each cluster; each is an environment.
const NAMESPACES: [&str; 2] = ["shop-0", "shop-1"];
const PODS_OF_A_DEPLOYMENT: usize = 25;
/// How often every Pod is replaced.
const ROLLOUTS: usize = 3;
/// How long anything may take to come about: a bound on hanging, not on speed.
const PATIENCE: Duration = Duration::from_secs(600);

/// How much happens, over both clusters.
struct Size {
    kinds: usize,
    pods: usize,
}

impl Size {
    fn wanted() -> Self {
        match env::var_os("STRANDLINE_STORM").is_some_and(|value| value == "full") {
            true => Size { kinds: 200, pods: 5_000 },
            false => Size { kinds: 20, pods: 500 },
        }
    }
}

/// A cluster, and what is to happen in it.
struct Cluster {
    name: &'static str,
    plane: ControlPlane,
    /// In each namespace.
    deployments: usize,
    kinds: Vec<CustomKind>,
}

impl Cluster {
    async fn start(name: &'static str, size: &Size) -> Result<Self> {
        Ok(Cluster {
            name,
            plane: ControlPlane::start().await?,
            deployments: size.pods / 2 / NAMESPACES.len() / PODS_OF_A_DEPLOYMENT,
            kinds: (0..size.kinds / 2).map(CustomKind::new).collect(),
        })
    }

    /// Deployments in their initial state, and the kinds that are there from the beginning.
    async fn settle(&self) -> Result<()> {
        for namespace in NAMESPACES {
            self.plane.kubectl(&["create", "namespace", namespace]).await?;
        }
        self.plane.apply(&self.workloads(0)).await?;
        custom_kinds::create(&self.plane, &self.kinds).await?;
        self.wait_for_rollouts().await
    }

    /// Changes every template again and again; the last Pods of one rollout are still going while the next begins.
    async fn roll_over(&self) -> Result<()> {
        for round in 1..=ROLLOUTS {
            self.plane.apply(&self.workloads(round)).await?;
            let one = ["rollout", "status", "deployment/web-0", "-n", NAMESPACES[0], "--timeout=600s"];
            self.plane.kubectl(&one).await?;
        }
        self.wait_for_rollouts().await
    }

    /// Replaces every Pod and every custom kind once more.
    async fn replace_all(&self) -> Result<()> {
        self.plane.apply(&self.workloads(ROLLOUTS + 1)).await?;
        custom_kinds::replace(&self.plane, &self.kinds).await?;
        self.wait_for_rollouts().await
    }

    async fn wait_for_rollouts(&self) -> Result<()> {
        for namespace in NAMESPACES {
            let all = ["rollout", "status", "deployment", "-l", "app=web", "-n", namespace, "--timeout=600s"];
            self.plane.kubectl(&all).await?;
        }
        Ok(())
    }

    fn workloads(&self, round: usize) -> String {
        let deployments = NAMESPACES.iter().flat_map(|namespace| {
            (0..self.deployments).map(move |n| deployment(namespace, &format!("web-{n}"), round))
        });
        json!({"apiVersion": "v1", "kind": "List", "items": deployments.collect::<Vec<_>>()}).to_string()
    }
}

fn deployment(namespace: &str, name: &str, round: usize) -> Value {
    let container = json!({
        "name": "web",
        "image": format!("example.com/web:{round}"),
        "env": [{"name": "PASSWORD", "value": format!("hunter2-{round}")}],
    });
    let labels = json!({"app": "web", "name": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": PODS_OF_A_DEPLOYMENT,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"nodeName": NODE, "containers": [container]}},
        },
    })
}

fn config(clusters: &[Cluster; 2]) -> String {
    let (mut entries, mut environments) = (Vec::new(), Vec::new());
    for Cluster { name, plane, .. } in clusters {
        entries.push(json!({"name": name, "kubeconfig": plane.kubeconfig_path()}));
        for namespace in NAMESPACES {
            environments.push(json!({
                "project": "shop/web",
                "name": format!("{name}-{namespace}"),
                "cluster": name,
                "namespace": namespace,
            }));
        }
    }
    // YAML takes JSON for what it is.
    json!({"clusters": entries, "environments": environments}).to_string()
}

/// Waits until every kind that is there from the beginning is watched, so that the storm meets open watches.
async fn kinds_are_watched(clusters: &[Cluster; 2], record: &mut Record, server: &Server) -> Result<()> {
    let started = Instant::now();
    loop {
        record.read_on()?;
        let of = |cluster: &Cluster| {
            cluster.kinds.iter().filter(|kind| !record.is_watched(cluster.name, &kind.kind())).count()
        };
        let unwatched: usize = clusters.iter().map(of).sum();
        match unwatched {
            0 => return Ok(()),
            _ if started.elapsed() > PATIENCE => {
                return Err(format!("{unwatched} kinds are not watched\n{}", server.output()).into());
            }
            _ => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
}

/// Waits until what is recorded equals what kubectl says of both clusters.
async fn agree(clusters: &[Cluster; 2], record: &mut Record, server: &Server) -> Result<[Truth; 2]> {
    let started = Instant::now();
    loop {
        let [one, two] = clusters;
        let truths = tokio::try_join!(Truth::of(one.name, &one.plane), Truth::of(two.name, &two.plane))?;
        let truths = <[Truth; 2]>::from(truths);
        record.read_on()?;
        let found: Vec<String> = truths.iter().flat_map(|truth| differences(truth, record)).collect();
        if found.is_empty() {
            return Ok(truths);
        }
        if started.elapsed() > PATIENCE {
            let first = found.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
            let count = found.len();
            return Err(format!("{count} differences remain:\n{first}\n{}", server.output()).into());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The API tells of all environments what the record says.
async fn assert_all(truths: &[Truth; 2], record: &Record, server: &Server) -> Result<()> {
    for truth in truths {
        assert_environments(truth, record, server).await?;
    }
    Ok(())
}

/// The API tells of each environment of a cluster what its namespace holds, and of its health what it may.
async fn assert_environments(truth: &Truth, record: &Record, server: &Server) -> Result<()> {
    let leftovers = record.leftovers(truth);
    for namespace in NAMESPACES {
        let environment = format!("/environments/shop.web.{}-{namespace}", truth.cluster);
        let left: Vec<_> = leftovers.iter().filter(|(key, _)| key.namespace == namespace).collect();
        // Of what is left over from kinds that are gone nobody knows how it is.
        let health = if left.is_empty() { "Healthy" } else { "Unknown" };
        // The record is in the log; the view may be about to take it in.
        let is_there =
            |answer: &Value| answer["health"]["state"] == health && answer["metadata"]["lag_changes"] == 0;
        server.until(&environment, is_there).await?;
        let here = truth.objects.keys().filter(|(key, _)| key.namespace == namespace);
        let mut uids: Vec<String> =
            here.chain(left.into_iter().copied()).map(|(_, uid)| uid.to_string()).collect();
        uids.sort();
        assert_eq!(told(&environment, server).await?, uids, "{environment}");
    }
    Ok(())
}

/// The sorted uids of an environment's resources, page by page.
async fn told(environment: &str, server: &Server) -> Result<Vec<String>> {
    let path = format!("{environment}/resources?limit=500");
    let (mut next, mut told) = (path.clone(), Vec::new());
    loop {
        let page = server.ask(&next).await?;
        told.extend(items(&page).map(|item| item["id"].as_str().unwrap_or_default().to_owned()));
        let Some(token) = page["metadata"]["continue"].as_str() else { break };
        next = format!("{path}&continue={token}");
    }
    told.sort();
    Ok(told)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_storm_in_two_real_clusters_the_record_equals_kubectl() -> Result<()> {
    if skip_without_control_plane("after_a_storm_in_two_real_clusters_the_record_equals_kubectl") {
        return Ok(());
    }
    let (size, started) = (Size::wanted(), Instant::now());
    let clusters =
        <[Cluster; 2]>::from(tokio::try_join!(Cluster::start("east", &size), Cluster::start("west", &size))?);
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(folder.path(), &config(&clusters)).await?;
    let mut record = Record::open(&server.data())?;
    let [one, two] = &clusters;
    tokio::try_join!(one.settle(), two.settle())?;
    kinds_are_watched(&clusters, &mut record, &server).await?;
    agree(&clusters, &mut record, &server).await?;

    tokio::try_join!(
        one.roll_over(),
        two.roll_over(),
        custom_kinds::storm(&one.plane, &one.kinds),
        custom_kinds::storm(&two.plane, &two.kinds),
    )?;
    assert_all(&agree(&clusters, &mut record, &server).await?, &record, &server).await?;

    let mut peak = server.peak_memory()?;
    server.kill().await?;
    tokio::try_join!(one.replace_all(), two.replace_all())?;
    server.kill_and_restart().await?;
    let truths = agree(&clusters, &mut record, &server).await?;
    assert_all(&truths, &record, &server).await?;
    peak = peak.max(server.peak_memory()?);

    let (pods, incarnations) = (record.live_of("Pod"), record.incarnations_of("Pod"));
    assert_eq!(pods, size.pods);
    assert!(incarnations > size.pods, "no Pod was ever replaced");
    let objects: usize = truths.iter().map(|truth| truth.objects.len()).sum();
    let leftovers: usize = truths.iter().map(|truth| record.leftovers(truth).len()).sum();
    // Not `eprintln!`, which the test runner hides when a test passes.
    writeln!(
        io::stderr(),
        "storm: {pods} Pods ({incarnations} over time), {} custom kinds ({leftovers} objects left over), \
         {objects} objects compared, {} changes, {} s, the server's peak {} MB",
        size.kinds,
        record.head(),
        started.elapsed().as_secs(),
        peak / (1024 * 1024),
    )?;
    server.stop().await?;
    for cluster in clusters {
        cluster.plane.stop().await?;
    }
    Ok(())
}
