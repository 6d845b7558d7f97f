//! What the imagined organization runs: projects and their components.

use std::sync::Arc;

use crate::api_server::Author;
use strandline_model::Tier;

/// A project of the organization.
#[derive(Debug)]
pub(crate) struct Project {
    /// GitLab's number of it.
    pub(crate) id: u32,
    /// Full path.
    pub(crate) path: &'static str,
    /// What it deploys.
    pub(crate) components: &'static [Component],
    /// In whose name it is deployed.
    pub(crate) deployer: Author,
    /// Whether its chart puts GitLab's labels on Pods too; where not, Pods belong by their owners only.
    pub(crate) labels_pods: bool,
    /// Whether it has an environment for tests.
    pub(crate) tested: bool,
    /// Whether merge requests get review apps.
    pub(crate) reviewed: bool,
}

/// One thing that a project deploys.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) port: u16,
    /// Replicas in production.
    pub(crate) replicas: u32,
    /// Whether it is served to the outside.
    pub(crate) ingress: bool,
    /// Whether production scales with the time of day.
    pub(crate) autoscaled: bool,
}

/// How a component runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A Deployment with a Service.
    Server,
    /// A Deployment without one.
    Worker,
    /// A StatefulSet with a headless Service and a claim for each Pod.
    Stateful,
    /// A custom resource whose operator runs Pods on claims.
    Database,
}

impl Component {
    pub(crate) const fn is_deployment(&self) -> bool {
        matches!(self.shape, Shape::Server | Shape::Worker)
    }

    const fn server(name: &'static str, replicas: u32) -> Self {
        Component { name, shape: Shape::Server, port: 8080, replicas, ingress: false, autoscaled: false }
    }

    const fn worker(name: &'static str, replicas: u32) -> Self {
        Component { shape: Shape::Worker, port: 9090, ..Component::server(name, replicas) }
    }

    const fn stateful(name: &'static str, replicas: u32, port: u16) -> Self {
        Component { shape: Shape::Stateful, port, ..Component::server(name, replicas) }
    }

    const fn database(name: &'static str, replicas: u32) -> Self {
        Component { shape: Shape::Database, port: 5432, ..Component::server(name, replicas) }
    }

    const fn public(self) -> Self {
        Component { ingress: true, ..self }
    }

    const fn scaled(self) -> Self {
        Component { autoscaled: true, ..self }
    }
}

const HELM: Author = Author::updates("helm");
const KUSTOMIZE: Author = Author::applies("kustomize-controller");
const KUBECTL: Author = Author::applies("kubectl");

const fn project(id: u32, path: &'static str, components: &'static [Component], deployer: Author) -> Project {
    Project { id, path, components, deployer, labels_pods: true, tested: false, reviewed: false }
}

/// The projects, in groups by their paths.
pub(crate) static PROJECTS: [Project; 12] = [
    Project {
        reviewed: true,
        tested: true,
        ..project(1101, "shop/web", &[Component::server("web", 6).public().scaled()], HELM)
    },
    Project {
        labels_pods: false,
        reviewed: true,
        ..project(
            1102,
            "shop/cart",
            &[Component::server("cart", 4).scaled(), Component::stateful("cart-redis", 3, 6379)],
            HELM,
        )
    },
    project(
        1103,
        "shop/checkout",
        &[Component::server("checkout", 4).public().scaled(), Component::worker("checkout-worker", 3)],
        HELM,
    ),
    Project {
        tested: true,
        ..project(1201, "payments/api", &[Component::server("api", 6).public().scaled()], KUSTOMIZE)
    },
    Project {
        labels_pods: false,
        ..project(
            1202,
            "payments/ledger",
            &[Component::server("ledger", 3), Component::database("ledger-db", 3)],
            KUSTOMIZE,
        )
    },
    project(1203, "payments/fraud", &[Component::worker("fraud", 4)], KUSTOMIZE),
    Project {
        labels_pods: false,
        ..project(
            1301,
            "search/indexer",
            &[Component::worker("indexer", 4), Component::stateful("index", 3, 9200)],
            HELM,
        )
    },
    Project {
        tested: true,
        ..project(1302, "search/query", &[Component::server("query", 6).scaled()], HELM)
    },
    Project {
        tested: true,
        ..project(
            1401,
            "identity/accounts",
            &[Component::server("accounts", 4).public(), Component::database("accounts-db", 2)],
            KUSTOMIZE,
        )
    },
    project(1402, "identity/sessions", &[Component::server("sessions", 4).scaled()], KUBECTL),
    Project {
        reviewed: true,
        ..project(1501, "media/images", &[Component::server("images", 5).public()], HELM)
    },
    project(
        1601,
        "platform/notifications",
        &[Component::server("notifications", 3), Component::worker("mailer", 3)],
        KUBECTL,
    ),
];

/// One environment of a project in one cluster: what the objects in its namespace have in common.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) project: &'static Project,
    /// Name of the environment, such as `production/us-region`.
    pub(crate) environment: String,
    pub(crate) slug: String,
    pub(crate) tier: Tier,
    pub(crate) region: String,
    pub(crate) cluster: String,
    pub(crate) namespace: String,
}

impl Location {
    /// The host under which a component is served.
    pub(crate) fn host(&self, component: &Component) -> String {
        match self.tier {
            Tier::Production => format!("{}.{}.example.com", component.name, self.region),
            _ => format!("{}.{}.example.dev", component.name, self.namespace),
        }
    }
}

/// What the Pods of a workload are made from.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) component: &'static Component,
    /// Image tag.
    pub(crate) version: Arc<str>,
    /// Generation of the configuration that it mounts.
    pub(crate) config: u32,
    /// What becomes of its Pods.
    pub(crate) fate: Fate,
    /// `pod-template-hash`, or the revision of a stateful set.
    pub(crate) hash: String,
}

/// What becomes of the Pods of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They become ready.
    Good,
    /// Their image is not there.
    BadImage,
    /// Their program ends soon after it started.
    Crashes,
    /// Their configuration lacks [`NEEDED`], so that their container cannot be made.
    Misconfigured,
}

/// The key of its configuration without which no component starts.
pub(crate) const NEEDED: &str = "features";

impl Template {
    /// The image that its containers run.
    pub(crate) fn image(&self, location: &Location) -> String {
        match self.component.shape {
            Shape::Server | Shape::Worker => {
                format!(
                    "registry.example.com/{}/{}:{}",
                    location.project.path, self.component.name, self.version
                )
            }
            Shape::Stateful if self.component.port == 6379 => {
                format!("registry.example.com/mirror/redis:{}", self.version)
            }
            Shape::Stateful => format!("registry.example.com/mirror/opensearch:{}", self.version),
            Shape::Database => format!("registry.example.com/platform/postgresql:{}", self.version),
        }
    }
}
