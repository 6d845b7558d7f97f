//! With which parameters the routes are asked.

/// Parameters that have their turn, by route; names in braces are those of a moment. Those with `at={time}` are answered with what was
/// found out later too.
pub(super) const RARER: &[(&str, &[&str])] = &[
    (
        "/api/v1/environments",
        &[
            "limit=3",
            "tier=production&region=us",
            "project=payments%2F*",
            "group=writers",
            "cluster=us-west,lab",
            "agent=ops%2Fagents:west",
            "state=available,stopping,stopped",
            "name=production**",
            "health=Degraded,Progressing",
            "labels=team%3Dpayments",
            "tier=staging&health=Healthy",
            "at={time}",
        ],
    ),
    (
        "/api/v1/overview",
        &[
            "tier=production&region=us",
            "project=payments%2F*",
            "group=writers",
            "cluster=us-west,lab",
            "agent=ops%2Fagents:west",
            "state=available,stopping,stopped",
            "name=production**",
            "health=Degraded,Progressing",
            "labels=team%3Dpayments",
            "tier=staging&health=Healthy",
            "group_by=tier",
            "group_by=region,health",
            "group_by=project",
            "group_by=group&limit=2",
            "group_by=cluster",
            "group_by=agent",
            "group_by=state&state=available,stopped",
            "group_by=label:team",
            "view=by-team",
            "view=production-by-region&health=Healthy",
            "since=6h&buckets=6",
            "environments=3",
            "order=since&environments=2&group_by=cluster&tier=production",
            "order=deployed&environments=2&since=2h",
        ],
    ),
    ("/api/v1/environments/{id}", &["at={time}"]),
    (
        "/api/v1/environments/{id}/resources",
        &[
            "limit=7",
            "kind=Pod,Deployment",
            "health=Degraded,Progressing",
            "order=health&limit=5",
            "owner={uid}",
        ],
    ),
    (
        "/api/v1/environments/{id}/graph",
        &[
            "collapse=none",
            "collapse=owner",
            "collapse=kind&limit=10",
            "depth=1",
            "cluster=us-east",
            "under={uid}",
        ],
    ),
    (
        "/api/v1/changes",
        &[
            "since=12h&type=spec,health,warning&limit=9",
            "by=k*",
            "controllers=true",
            "format=csv",
            "format=atom&limit=5",
            "tier=production&region=us",
            "project=payments%2F*",
            "group=writers",
            "cluster=us-west,lab",
            "agent=ops%2Fagents:west",
            "state=available,stopping,stopped",
            "name=production**",
            "labels=team%3Dpayments",
            "since=12h&until=6h",
        ],
    ),
    (
        "/api/v1/events",
        &[
            "since=12h&type=Warning&limit=9",
            "since=12h&reason=backoff,Failed",
            "format=csv&limit=5",
            "environment={environment}&since=24h",
            "tier=production&region=us",
            "project=payments%2F*",
            "group=writers",
            "cluster=us-west,lab",
            "agent=ops%2Fagents:west",
            "state=available,stopping,stopped",
            "name=production**",
            "labels=team%3Dpayments",
            "since=12h&until=6h",
        ],
    ),
    ("/api/v1/environments/{id}/why", &["limit=1"]),
    ("/api/v1/environments/{id}/health", &["since=6h", "since=2026-11-20T06:10:00Z&limit=2"]),
    ("/api/v1/environments/{id}/events", &["type=Warning", "reason=BackOff,Failed", "limit=2"]),
    (
        "/api/v1/environments/{id}/timeline",
        &[
            "since=12h&buckets=7",
            "lane=health,gaps&limit=9",
            "lane=changes,events&order=oldest&limit=20",
            "lane=deployments",
            "limit=11",
        ],
    ),
    ("/api/v1/environments/{id}/onset", &["health=Progressing", "health=Healthy&window=1h", "window=2m"]),
    (
        "/api/v1/environments/{id}/deployments",
        &[
            "status=success",
            "status=failed,running",
            "project=payments%2F*",
            "limit=2",
            "since=12h&until=1h&format=csv",
            "by=a*,*b&ref=main,v*",
        ],
    ),
    (
        "/api/v1/environments/{id}/diff",
        &[
            "from={earlier}",
            "from={earlier}&children=true&limit=5",
            "with={environment}",
            "with={environment}&map=production:staging,us*:eu*",
            "from={earlier}&include=spec,status,noise",
            "from={earlier}&ignore=spec.replicas&format=text",
            "from={earlier}&to={at}",
        ],
    ),
    ("/api/v1/groups", &["limit=2"]),
    ("/api/v1/projects", &["limit=2"]),
    ("/api/v1/agents", &["limit=2"]),
    (
        "/api/v1/agents/{id}/allowed",
        &[
            "project=labs%2Fone&environment=qa&ref=v1&tag=true&namespace=shop",
            "project=payments%2Fapi&group=payments&environment=staging&ref=main&var=A%3D1&var=CI_COMMIT_BRANCH%3Dmain",
        ],
    ),
    (
        "/api/v1/deployments",
        &[
            "status=failed,running",
            "project=**%2Fapi",
            "limit=4",
            "environment={environment}",
            "since=12h&until=6h&tier=production",
            "region=us&cluster=us-west,lab&format=csv",
            "group=writers&state=available",
            "agent=ops%2Fagents:west&name=production**",
            "by=a*&ref=main,v*",
            "labels=team%3Dpayments",
        ],
    ),
    ("/api/v1/deployments/{id}", &["project={project}", "project=labs%2Fone"]),
    (
        "/api/v1/resources",
        &[
            "kind=deploy,po,Widget",
            "name=blog*&gone=any",
            "namespace=shop&cluster=lab",
            "gone=true&limit=9",
            "environment={environment}&gone=any",
            "kind=secrets,cm&limit=20",
        ],
    ),
    ("/api/v1/resources/{uid}", &["cluster={cluster}", "cluster=us-west"]),
    ("/api/v1/resources/{uid}/history", &["bodies=true&limit=3", "limit=2", "cluster={cluster}"]),
    (
        "/api/v1/resources/{uid}/fields",
        &[
            "field=status.phase&field=spec.replicas",
            "field=spec.template.spec.containers[0].image&limit=2",
            "field=metadata.labels&cluster={cluster}",
        ],
    ),
    (
        "/api/v1/images",
        &[
            "image=**api**",
            "image=example.com%2F**&tier=production",
            "environment={environment}",
            "region=us&limit=3",
            "from={earlier}&to={at}&at={at}",
            "from={earlier}",
        ],
    ),
    (
        "/api/v1/search",
        &[
            "q=api",
            "q=produc&type=environments,projects&limit=3",
            "q=pod%2Fblog&type=resources&limit=100",
            "q=us&type=clusters,deployments",
            "q=payments%20main",
            "q=1.&type=images&limit=20",
            "q=api&at={time}",
        ],
    ),
    (
        "/api/v1/resources/{uid}/diff",
        &[
            "from={earlier}",
            "include=spec,status,noise",
            "format=patch",
            "format=text&include=spec,metadata,status",
            "ignore=status.**",
            "from={earlier}&to={at}&format=patch",
            "cluster={cluster}",
        ],
    ),
    (
        "/api/v1/resources/{uid}/health",
        &["since=6h", "since=2026-11-20T06:10:00Z&limit=2", "cluster={cluster}"],
    ),
    (
        "/api/v1/resources/{uid}/events",
        &["type=Normal", "reason=BackOff,Failed", "limit=2", "cluster=us-west"],
    ),
    (
        "/api/v1/resources/{uid}/timeline",
        &[
            "below=true&limit=20",
            "since=12h&buckets=7",
            "lane=changes,health&order=oldest",
            "cluster=us-west",
            "limit=2&below=true",
        ],
    ),
    ("/api/v1/resources/{uid}/onset", &["health=Progressing", "health=Healthy&window=1h", "cluster=us-west"]),
    ("/api/v1/resources/{uid}/edges", &["cluster={cluster}", "cluster=us-west", "limit=2"]),
    ("/api/v1/clusters", &["limit=2", "at={time}"]),
    (
        "/api/v1/coverage",
        &[
            "cluster=us-east",
            "kind=Secret,Deployment.apps",
            "state=gap",
            "limit=30",
            "cluster=lab&state=excluded",
            "at={time}",
        ],
    ),
    ("/api/v1/relist", &["cluster=lab", "kind=Pod"]),
    ("/healthz", &["verbose=1"]),
    ("/livez", &["verbose=1"]),
    ("/readyz", &["verbose=1"]),
    ("/readyz/lists", &["verbose=1"]),
];

/// Queries in the language of GitLab's own API.
pub(super) const GRAPHQL: [&str; 3] = [
    r#"query($path: ID!, $at: String) { project(fullPath: $path, at: $at) {
        id fullPath offset complete
        environments(first: 5) { count nodes {
            id name slug tier state region externalUrl autoStopAt health { state since lastKnown }
            lastDeployment { id status ref tag sha project createdAt finishedAt agent { id name project kubernetesNamespace } }
        } } } }"#,
    r#"query($path: ID!, $at: String) { project(fullPath: $path, at: $at) {
        id environment(name: "production") { slug lastDeployment(status: SUCCESS) { agent { id name project kubernetesNamespace } } }
    } }"#,
    r#"query($path: ID!, $at: String) { project(fullPath: $path, at: $at) {
        environments { count nodes { name deployments(statuses: [SUCCESS, FAILED], first: 3) { count nodes { id status finishedAt } } } }
    } }"#,
];

/// The parameters without which a route refuses to answer.
pub(super) fn needed(route: &str) -> &'static str {
    match route {
        "/api/v1/agents/{id}/allowed" => ALLOWED,
        "/api/v1/resources/{uid}/fields" => "field=metadata.labels&field=status",
        "/api/v1/search" => "q=api",
        _ => "",
    }
}

/// A job that asks for an agent.
const ALLOWED: &str = "project=writers%2Fblog&environment=production&ref=main&protected=true";
