"""Calls every operation of the contract with a generated client, against the log of tests/kept-log; tests/it/clients.rs runs it.

Each answer is parsed, is what the generated types say, holds all that was sent, and says what the log says. Prints the functions
that were called, as JSON.
"""

import json
import os
import time
from importlib import import_module
from typing import Any

import conforms
from strandline_client import AuthenticatedClient, Client
from strandline_client import models as m
from strandline_client.api.service import get_login_methods

CLIENT = AuthenticatedClient(
    os.environ["STRANDLINE_URL"], token=os.environ["STRANDLINE_TOKEN"], raise_on_unexpected_status=True
)

# Where the kept log ends, and when its story begins.
AT, SINCE = "1629", "2026-11-20T06:00:00Z"
STAGING = "payments.api.staging"
PATIENCE = 120

called: set[str] = set()


def send(operation: str, *args: Any, **kwargs: Any) -> Any:
    """The response to an operation, which is named by its group and function."""
    function = import_module(f"strandline_client.api.{operation}").sync_detailed
    begun = time.monotonic()
    while True:
        response = function(*args, client=CLIENT, **kwargs)
        # For a short time the view does not have what was just written. The bound is one on hanging.
        building = response.status_code == 503 and response.parsed.code is m.ProblemCode.VIEW_BUILDING
        if not building or time.monotonic() - begun > PATIENCE:
            return response
        time.sleep(0.05)


def call(operation: str, *args: Any, **kwargs: Any) -> Any:
    """The answer to an operation."""
    response = send(operation, *args, **kwargs)
    answer = response.parsed
    assert 200 <= response.status_code < 300, (operation, response.status_code, response.content)
    called.add(operation.split(".")[1])
    if not isinstance(answer, str | None):
        found = conforms.faults(answer, type(answer))
        assert not found, (operation, found)
        sent = conforms.plain(json.loads(response.content))
        assert conforms.plain(answer.to_dict()) == sent, (operation, "the types do not hold all that was sent")
    return answer


def read(operation: str, *args: Any, **kwargs: Any) -> Any:
    """The answer to a read, for where the kept log ends."""
    answer = call(operation, *args, at=AT, **kwargs)
    coverage = answer.metadata.coverage
    assert answer.metadata.offset == int(AT) and coverage.complete == (not coverage.gaps), operation
    return answer


def ids(page: Any) -> list[Any]:
    return [one.id for one in page.items]


def environments() -> None:
    page = read("environments.list_environments", group=["payments"], tier=[m.Tier.STAGING])
    assert ids(page) == [STAGING, "payments.ledger.staging"], ids(page)
    first = read("environments.list_environments", limit=1)
    second = call("environments.list_environments", limit=1, continue_=first.metadata.continue_)
    assert ids(first) + ids(second) == ["labs.one.production", "labs.one.qa"]
    one = read("environments.get_environment", STAGING)
    assert one.health.state is m.Health.DEGRADED and one.health.counts.degraded == 2 and one.tier is m.Tier.STAGING
    assert one.health.since.isoformat() == "2026-11-20T07:40:20+00:00"
    assert one.last_deployment.id == 1795154420 and one.last_deployment.status is m.DeploymentStatus.SUCCESS
    overview = read("environments.get_overview", group_by=["region"], environments=3, since=SINCE)
    assert {tuple(group.keys): group.total for group in overview.groups}[("us",)] == 8, overview.groups
    assert overview.environments.items[0].id == STAGING and overview.trend.buckets
    found = read("environments.list_environment_resources", STAGING, health=[m.Health.DEGRADED])
    assert sorted(one.kind for one in found.items) == ["Deployment", "Pod"]
    graph = read("environments.get_environment_graph", STAGING)
    assert "owns" in {edge.kind for edge in graph.edges}
    why = read("environments.get_environment_why", STAGING)
    assert [step.kind for step in why.paths[0].steps] == ["Deployment", "ReplicaSet", "Pod"]
    health = read("environments.get_environment_health", STAGING, since=SINCE)
    assert health.intervals[0].health is m.Health.DEGRADED and health.intervals[0].until is None
    events = read("environments.list_environment_events", STAGING)
    assert [(one.reason, one.count) for one in events.items] == [("BackOff", 7)]
    timeline = read("environments.get_environment_timeline", STAGING, since=SINCE, buckets=7, limit=5)
    assert len(timeline.buckets) == 7 and timeline.totals.deployments == 4 and len(timeline.entries) == 5
    onset = read("environments.get_environment_onset", STAGING)
    assert onset.before is m.Health.PROGRESSING and onset.causes[0].rank is m.OnsetChangeRank.DEPLOYMENT
    diff = call("environments.get_environment_diff", STAGING, from_="1400", to=AT)
    image = diff.items[0].differences[0]
    assert image.class_ is m.DifferenceClass.SPEC and image.after == "registry.example.com/payments/api/api:2.34.1-7c4db2f4"
    assert diff.items[0].before.health is m.Health.HEALTHY
    names = [view.name for view in call("environments.list_views").items]
    assert names == ["production-by-region", "by-team"], names


def feeds() -> None:
    changes = read("environments.list_changes", since=SINCE, type_=[m.FeedType.SPEC], limit=2)
    assert changes.items[0].summary == "image api 2.34.0 → 2.35.0" and changes.items[0].by == "kustomize-controller"
    assert changes.items[0].resource.parts == [m.ObjectPart.SPEC]
    events = read("environments.list_events", since=SINCE, type_=[m.EventType.WARNING], limit=3)
    assert events.items[0].reason == "BackOff" and events.items[0].environments[0].id == STAGING
    found = read("environments.search", q="payments", type_=[m.SearchType.ENVIRONMENTS, m.SearchType.PROJECTS])
    assert "payments.api.staging" in [hit.item.id for hit in found.environments.items]
    assert [hit.match for hit in found.projects.items][:1] == [m.SearchMatch.PREFIX]
    images = read("environments.list_images", environment=STAGING)
    assert {image.tag for image in images.items} >= {"2.34.0"}
    # The stream ends after what was missed.
    stream = call("environments.watch_environments", from_=AT, timeout="0s")
    events = [dict(line.split(":", 1) for line in event.splitlines()) for event in stream.strip().split("\n\n")]
    left = [m.WatchedEnvironment.from_dict(json.loads(one["data"])).id for one in events if one["event"] == "leave"]
    assert STAGING in left and events[-1]["event"] == "bookmark", events
    lines = {"from": AT, "timeout": "0s"}
    with CLIENT.get_httpx_client().stream("GET", "/api/v1/watch", params=lines) as stream:
        assert "event:bookmark" in stream.iter_lines()
    with CLIENT.get_httpx_client().stream("GET", "/api/v1/environments", params={"watch": "true", **lines}) as stream:
        assert "event:leave" in stream.iter_lines()
    # Of answers in more than one format the client parses JSON; the others are asked for as they are.
    for format, media in {"csv": "text/csv", "atom": "application/atom+xml"}.items():
        asked = CLIENT.get_httpx_client().get("/api/v1/changes", params={"at": AT, "since": SINCE, "format": format})
        assert asked.headers["content-type"].startswith(media) and "image api 2.34.0 → 2.35.0" in asked.text


def catalog() -> None:
    assert read("catalog.list_groups", limit=2).items[0].id == "identity"
    assert "payments/api" in ids(read("catalog.list_projects"))
    assert read("catalog.get_project", "payments/api").number == 1201
    assert "ops/agents:west" in ids(read("catalog.list_agents"))
    agent = read("catalog.get_agent", "ops/agents:west")
    assert agent.cluster == "us-west" and "writers.blog.shared" in agent.environments
    allowed = read("catalog.get_agent_allowed", "ops/agents:west", project="writers/blog", environment="production")
    assert allowed.allowed and allowed.entry.kind is m.EntryRefKind.PROJECT and allowed.reason == "no_rules"
    failed = read("catalog.list_deployments", status=[m.DeploymentStatus.FAILED], project=["payments/api"])
    assert 1795154443 in ids(failed)
    deployments = read("catalog.list_environment_deployments", STAGING)
    assert ids(deployments)[:2] == [1795154443, 1795154420], ids(deployments)
    one = read("catalog.get_deployment", 1795154443)
    assert one.user == "bjorn" and one.job.name == "deploy-eu-west" and one.authorization.allowed
    left = read("catalog.get_environment_left_behind", STAGING)
    assert left.stopped_at is None and left.namespaces == []


def resources() -> None:
    found = read("resources.find_resources", kind=["deploy"], environment=STAGING)
    assert [one.name for one in found.items] == ["api"]
    uid = found.items[0].id
    gone = read("resources.find_resources", gone=m.WhetherGone.TRUE, limit=1)
    assert gone.items[0].gone.last_offset <= int(AT)
    one = read("resources.get_resource", uid)
    assert one.health is m.Health.DEGRADED and one.reason == "ProgressDeadlineExceeded"
    assert one.object_.to_dict()["metadata"]["uid"] == uid and one.environments == [STAGING]
    versions = read("resources.list_resource_versions", uid, bodies=True, limit=3)
    assert versions.items[0].type_ is m.VersionType.APPLIED and versions.items[0].object_["kind"] == "Deployment"
    field = "spec.template.spec.containers[0].image"
    values = read("resources.list_resource_fields", uid, field=[field])
    assert values.items[0].values == ["registry.example.com/payments/api/api:2.34.1-7c4db2f4"]
    diff = call("resources.get_resource_diff", uid, from_="1400", at=AT)
    assert diff.from_.version.offset == 880 and diff.to.version.offset == 1620 and diff.differences
    lines = {"from": "1400", "at": AT, "format": "text"}
    text = CLIENT.get_httpx_client().get(f"/api/v1/resources/{uid}/diff", params=lines)
    assert text.headers["content-type"].startswith("text/plain") and "spec.template.spec.containers" in text.text
    health = read("resources.get_resource_health", uid, since=SINCE)
    assert health.intervals[0].reason == "ProgressDeadlineExceeded"
    pod = read("environments.get_environment_why", STAGING).paths[0].steps[-1].id
    assert [one.reason for one in read("resources.list_resource_events", pod).items] == ["BackOff"]
    made = call("resources.get_resource_diff", pod, from_="1400", at=AT)
    assert made.from_.version is None and made.to.version.offset > 1500
    timeline = read("resources.get_resource_timeline", uid, since=SINCE, below=True, limit=3)
    assert timeline.below.resources > 1
    onset = read("resources.get_resource_onset", uid)
    assert onset.causes[0].deployment.id == 1795154443
    edges = read("resources.list_resource_edges", uid)
    assert {edge.far for edge in edges.items} == {m.ResourceEdgeFar.CAUSE, m.ResourceEdgeFar.DEPENDENT}
    gone = send("resources.get_resource", "no-such-resource", at=AT)
    assert gone.status_code == 404 and gone.parsed.code is m.ProblemCode.NOT_FOUND, gone


def clusters() -> None:
    assert ids(read("clusters.list_clusters")) == ["eu-central", "eu-west", "us-east", "us-west"]
    coverage = read("clusters.list_coverage", cluster=["eu-west"], kind=["ConfigMap"])
    assert [one.state for one in coverage.items] == [m.CoverageState.WATCHED]


def service() -> None:
    me = call("service.who_am_i")
    assert (me.name, me.method, me.reads.everything) == ("all", m.WhoAmIMethod.TOKEN, True)
    assert call("service.get_login_methods").oidc is None
    assert get_login_methods.sync(client=Client(os.environ["STRANDLINE_URL"])).oidc is None
    assert [token.name for token in call("service.list_tokens").items] == ["all", "writers", "payments"]
    assert call("service.get_relist").watches == []
    rebuild = call("service.get_rebuild")
    assert rebuild.serving and rebuild.head >= int(AT) and rebuild.state is not m.RebuildState.FAILED
    assert call("service.get_openapi_json")["openapi"] == "3.1.0"
    assert call("service.get_openapi_yaml").startswith("openapi: 3.1.0")
    assert "strandline_http_requests_total" in call("service.get_metrics")
    for probe in ["get_healthz", "get_livez", "get_readyz", "get_readyz_lists"]:
        assert call(f"service.{probe}") == "ok", probe


def writes() -> None:
    project = call("catalog.put_project", "made/here", body=m.ProjectInput(id=77, default_branch="main"))
    assert (project.path, project.number) == ("made/here", 77)
    body = m.AgentInput(configuration="ci_access: {projects: [{id: made/here}]}")
    assert call("catalog.put_agent", "made/here:one", body=body).id == "made/here:one"
    inputs = [m.EnvironmentInput(name="production"), m.EnvironmentInput(name="review/1", tier=m.Tier.DEVELOPMENT)]
    made = call("catalog.post_environments", "made/here", body=inputs)
    assert ids(made) == ["made.here.production", "made.here.review.1"], ids(made)
    one = call("catalog.put_environment", "made.here.production", body=m.EnvironmentInput(name="production", region="eu"))
    assert one.region == "eu" and one.tier is m.Tier.PRODUCTION
    job = m.DeploymentInput(project="made/here", environment="production", status=m.DeploymentStatus.RUNNING)
    job.kubernetes = m.JobKubernetes(agent="made/here:one", namespace="made")
    deployment = call("catalog.post_deployment", body=job)
    assert deployment.authorization.allowed and deployment.agent.kubernetes_namespace == "made"
    ended = call("catalog.put_deployment", deployment.id, body=m.StatusInput(status=m.DeploymentStatus.SUCCESS))
    assert ended.status is m.DeploymentStatus.SUCCESS
    stopped = call("catalog.stop_environment", "made.here.review.1")
    assert stopped.state is m.EnvironmentState.STOPPED
    # A read at the offset of a write includes it.
    after = call("environments.get_environment", "made.here.review.1", at=str(stopped.metadata.offset))
    assert after.state is m.EnvironmentState.STOPPED
    query = "query($path: ID!, $at: String) { project(fullPath: $path, at: $at) { environments { count } } }"
    variables = m.GraphqlObject.from_dict({"path": "made/here", "at": str(stopped.metadata.offset)})
    answer = call("environments.ask_graphql", body=m.GraphqlRequest(query, variables=variables))
    assert answer.data["project"]["environments"]["count"] == 2, answer
    forgotten = call("clusters.forget", "us-west", body=m.ForgetInput(kind="ConfigMap", dry_run=True, force=True))
    assert forgotten.dry_run and forgotten.kind == "ConfigMap" and forgotten.ended == len(forgotten.resources)
    call("catalog.delete_environment", "made.here.review.1")
    withdrawn = call("catalog.delete_agent", "made/here:one")
    call("catalog.delete_project", "made/here")
    gone = send("catalog.get_agent", "made/here:one", at=str(withdrawn.metadata.offset))
    assert gone.parsed.code is m.ProblemCode.NOT_FOUND, gone
    assert call("service.begin_relist").watches == []
    assert call("service.begin_rebuild").state in (m.RebuildState.BUILDING, m.RebuildState.DONE)


for part in [environments, feeds, catalog, resources, clusters, service, writes]:
    part()
print(json.dumps(sorted(called)))
