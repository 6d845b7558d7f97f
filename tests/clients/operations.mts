// Calls every operation of the contract with generated types, against the log of tests/kept-log; tests/it/clients.rs type-checks and
// runs it. Each answer says what the log says. Prints the operations that were called, and writes `answers.mts`: each JSON that was sent
// as a value of the type that is generated for it, which the compiler then judges.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./strandline.js";

// Sends what is sent by `fetch`, until the view has what was just written.
const patiently: typeof fetch = async (...request) => {
  const [sent] = request;
  for (let round = 0; ; round += 1) {
    const response = await fetch(sent instanceof Request ? sent.clone() : sent);
    // A bound on hanging.
    if (response.status !== 503 || round > 2400) return response;
    const problem = (await response.clone().json()) as components["schemas"]["Problem"];
    if (problem.code !== "view_building") return response;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const options = {
  baseUrl: process.env.STRANDLINE_URL ?? "",
  headers: { Authorization: `Bearer ${process.env.STRANDLINE_TOKEN}` },
  fetch: patiently,
};
const client = createClient<paths, "application/json" | "application/problem+json">(options);
// The same for other formats.
const texts = createClient<paths>(options);

// Where the kept log ends, and when its story begins.
const at = "1629";
const since = "2026-11-20T06:00:00Z";
const staging = "payments.api.staging";

const called = new Set<string>();
const answers: string[] = [];

const record: Middleware = {
  async onResponse({ request, response, schemaPath }) {
    const media = response.headers.get("content-type")?.split(";")[0] ?? "";
    if (response.ok) called.add(`${request.method} ${schemaPath}`);
    if (!media.endsWith("json")) return;
    const type = `paths["${schemaPath}"]["${request.method.toLowerCase()}"]["responses"][${response.status}]["content"]["${media}"]`;
    answers.push(`export const answer${answers.length}: ${type} = ${await response.clone().text()};`);
  },
};
client.use(record);
texts.use(record);

// The answer, which is there.
async function got<Answer>(asked: Promise<{ data?: Answer; error?: unknown; response: Response }>): Promise<NonNullable<Answer>> {
  const { data, error, response } = await asked;
  assert(data, `${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data;
}

// The answer to a read, for where the kept log ends.
async function read<Answer extends { metadata: components["schemas"]["Snapshot"] }>(
  asked: Promise<{ data?: Answer; error?: unknown; response: Response }>,
): Promise<Answer> {
  const answer = await got(asked);
  assert.equal(answer.metadata.offset, Number(at));
  assert.equal(answer.metadata.coverage.complete, answer.metadata.coverage.gaps.length === 0);
  return answer;
}

const ids = <Id,>(page: { items: { id: Id }[] }): Id[] => page.items.map((one) => one.id);

async function environments() {
  const path = { id: staging };
  const page = await read(
    client.GET("/api/v1/environments", { params: { query: { at, group: ["payments"], tier: ["staging"] } } }),
  );
  assert.deepEqual(ids(page), [staging, "payments.ledger.staging"]);
  const first = await read(client.GET("/api/v1/environments", { params: { query: { at, limit: 1 } } }));
  const next = { limit: 1, continue: first.metadata.continue ?? "" };
  const second = await got(client.GET("/api/v1/environments", { params: { query: next } }));
  assert.deepEqual([...ids(first), ...ids(second)], ["labs.one.production", "labs.one.qa"]);
  const one = await read(client.GET("/api/v1/environments/{id}", { params: { path, query: { at } } }));
  assert.deepEqual([one.health.state, one.health.since, one.health.counts.degraded], ["Degraded", "2026-11-20T07:40:20Z", 2]);
  assert.deepEqual([one.tier, one.last_deployment?.id, one.last_deployment?.status], ["staging", 1795154420, "success"]);
  const overview = await read(
    client.GET("/api/v1/overview", { params: { query: { at, since, group_by: ["region"], environments: 3 } } }),
  );
  assert.deepEqual(overview.groups.find((group) => group.keys[0] === "us")?.total, 8);
  assert.equal(overview.environments?.items[0]?.id, staging);
  assert(overview.trend && overview.trend.buckets.length > 0);
  const found = await read(
    client.GET("/api/v1/environments/{id}/resources", { params: { path, query: { at, health: ["Degraded"] } } }),
  );
  assert.deepEqual(found.items.map((resource) => resource.kind).sort(), ["Deployment", "Pod"]);
  const graph = await read(client.GET("/api/v1/environments/{id}/graph", { params: { path, query: { at } } }));
  assert(graph.edges.some((edge) => edge.kind === "owns"));
  const why = await read(client.GET("/api/v1/environments/{id}/why", { params: { path, query: { at } } }));
  assert.deepEqual(why.paths[0]?.steps.map((step) => step.kind), ["Deployment", "ReplicaSet", "Pod"]);
  const health = await read(client.GET("/api/v1/environments/{id}/health", { params: { path, query: { at, since } } }));
  assert.deepEqual([health.intervals[0]?.health, health.intervals[0]?.until], ["Degraded", null]);
  const events = await read(client.GET("/api/v1/environments/{id}/events", { params: { path, query: { at } } }));
  assert.deepEqual(events.items.map((event) => [event.reason, event.count]), [["BackOff", 7]]);
  const timeline = await read(
    client.GET("/api/v1/environments/{id}/timeline", { params: { path, query: { at, since, buckets: 7, limit: 5 } } }),
  );
  assert.deepEqual([timeline.buckets.length, timeline.totals.deployments, timeline.entries.length], [7, 4, 5]);
  const onset = await read(client.GET("/api/v1/environments/{id}/onset", { params: { path, query: { at } } }));
  assert.deepEqual([onset.before, onset.causes[0]?.rank], ["Progressing", "deployment"]);
  const range = { from: "1400", to: at };
  const diff = await got(client.GET("/api/v1/environments/{id}/diff", { params: { path, query: range } }));
  const image = diff.items[0]?.differences[0];
  assert.deepEqual([image?.class, image?.after], ["spec", "registry.example.com/payments/api/api:2.34.1-7c4db2f4"]);
  assert.equal(diff.items[0]?.before?.health, "Healthy");
  const views = await got(client.GET("/api/v1/views"));
  assert.deepEqual(views.items.map((view) => view.name), ["production-by-region", "by-team"]);
}

async function feeds() {
  const changes = await read(client.GET("/api/v1/changes", { params: { query: { at, since, type: ["spec"], limit: 2 } } }));
  assert.deepEqual([changes.items[0]?.summary, changes.items[0]?.by], ["image api 2.34.0 → 2.35.0", "kustomize-controller"]);
  assert.deepEqual(changes.items[0]?.resource?.parts, ["spec"]);
  const events = await read(client.GET("/api/v1/events", { params: { query: { at, since, type: ["Warning"], limit: 3 } } }));
  assert.deepEqual([events.items[0]?.reason, events.items[0]?.environments[0]?.id], ["BackOff", staging]);
  const types = { at, q: "payments", type: ["environments" as const, "projects" as const] };
  const found = await read(client.GET("/api/v1/search", { params: { query: types } }));
  assert(found.environments?.items.some((hit) => hit.item.id === staging));
  assert.equal(found.projects?.items[0]?.match, "prefix");
  const images = await read(client.GET("/api/v1/images", { params: { query: { at, environment: staging } } }));
  assert(images.items.some((image) => image.tag === "2.34.0"));
  const csv = await got(
    texts.GET("/api/v1/changes", { params: { query: { at, since, format: "csv" } }, parseAs: "text" }),
  );
  assert(csv.includes("image api 2.34.0 → 2.35.0"));
  const atom = await got(
    texts.GET("/api/v1/changes", { params: { query: { at, since, format: "atom" } }, parseAs: "text" }),
  );
  assert(atom.includes('<feed xmlns="http://www.w3.org/2005/Atom"') && atom.includes("image api 2.34.0 → 2.35.0"));
  await stream();
}

// The stream ends after what was missed.
async function stream() {
  const asked = { params: { query: { from: at, timeout: "0s" } }, parseAs: "stream" as const };
  const body = await got(texts.GET("/api/v1/watch", asked));
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) text += part;
  const events = text.trim().split("\n\n").map((event) => {
    const lines = event.split("\n").map((line): [string, string] => [line.split(":")[0] ?? "", line.slice(line.indexOf(":") + 1)]);
    return Object.fromEntries(lines);
  });
  assert.equal(events.at(-1)?.["event"], "bookmark");
  const left = events.filter((event) => event["event"] === "leave").map((event) => event["data"] ?? "");
  assert(left.some((data) => (JSON.parse(data) as components["schemas"]["WatchedEnvironment"]).id === staging));
  for (const data of left) answers.push(`export const left${answers.length}: components["schemas"]["WatchedEnvironment"] = ${data};`);
}

async function catalog() {
  const query = { at };
  assert.equal((await read(client.GET("/api/v1/groups", { params: { query: { at, limit: 2 } } }))).items[0]?.id, "identity");
  assert(ids(await read(client.GET("/api/v1/projects", { params: { query } }))).includes("payments/api"));
  const project = await read(client.GET("/api/v1/projects/{path}", { params: { path: { path: "payments/api" }, query } }));
  assert.equal(project.number, 1201);
  assert(ids(await read(client.GET("/api/v1/agents", { params: { query } }))).includes("ops/agents:west"));
  const path = { id: "ops/agents:west" };
  const agent = await read(client.GET("/api/v1/agents/{id}", { params: { path, query } }));
  assert(agent.cluster === "us-west" && agent.environments.includes("writers.blog.shared"));
  const job = { at, project: "writers/blog", environment: "production" };
  const allowed = await read(client.GET("/api/v1/agents/{id}/allowed", { params: { path, query: job } }));
  assert.deepEqual([allowed.allowed, allowed.entry?.kind, allowed.reason], [true, "project", "no_rules"]);
  const failed = await read(
    client.GET("/api/v1/deployments", { params: { query: { at, status: ["failed"], project: ["payments/api"] } } }),
  );
  assert(ids(failed).includes(1795154443));
  const of = await read(
    client.GET("/api/v1/environments/{id}/deployments", { params: { path: { id: staging }, query } }),
  );
  assert.deepEqual(ids(of).slice(0, 2), [1795154443, 1795154420]);
  const one = await read(client.GET("/api/v1/deployments/{id}", { params: { path: { id: 1795154443 }, query } }));
  assert.deepEqual([one.user, one.job?.name, one.authorization?.allowed], ["bjorn", "deploy-eu-west", true]);
  const left = await read(client.GET("/api/v1/environments/{id}/left-behind", { params: { path: { id: staging }, query } }));
  assert.deepEqual([left.stopped_at, left.namespaces], [null, []]);
}

async function resources() {
  const query = { at };
  const deployments = { at, kind: ["deploy"], environment: staging };
  const found = await read(client.GET("/api/v1/resources", { params: { query: deployments } }));
  assert.deepEqual(found.items.map((resource) => resource.name), ["api"]);
  const uid = found.items[0]?.id ?? "";
  const path = { uid };
  const gone = await read(client.GET("/api/v1/resources", { params: { query: { at, gone: "true", limit: 1 } } }));
  assert(gone.items[0]?.gone && gone.items[0].gone.last_offset <= Number(at));
  const one = await read(client.GET("/api/v1/resources/{uid}", { params: { path, query } }));
  assert.deepEqual([one.health, one.reason, one.environments], ["Degraded", "ProgressDeadlineExceeded", [staging]]);
  assert.equal(one.object["kind"], "Deployment");
  const versions = await read(
    client.GET("/api/v1/resources/{uid}/history", { params: { path, query: { at, bodies: true, limit: 3 } } }),
  );
  assert.deepEqual([versions.items[0]?.type, versions.items[0]?.object?.["kind"]], ["applied", "Deployment"]);
  const field = ["spec.template.spec.containers[0].image"];
  const values = await read(client.GET("/api/v1/resources/{uid}/fields", { params: { path, query: { at, field } } }));
  assert.deepEqual(values.items[0]?.values, ["registry.example.com/payments/api/api:2.34.1-7c4db2f4"]);
  const diff = await got(client.GET("/api/v1/resources/{uid}/diff", { params: { path, query: { at, from: "1400" } } }));
  assert.deepEqual([diff.from.version?.offset, diff.to.version?.offset], [880, 1620]);
  const why = await read(client.GET("/api/v1/environments/{id}/why", { params: { path: { id: staging }, query } }));
  const pod = { uid: why.paths[0]?.steps.at(-1)?.id ?? "" };
  const made = await got(client.GET("/api/v1/resources/{uid}/diff", { params: { path: pod, query: { at, from: "1400" } } }));
  assert.equal(made.from.version, null);
  const patch = { params: { path, query: { at, from: "1400", format: "patch" as const } }, parseAs: "json" as const };
  const operations = (await got(texts.GET("/api/v1/resources/{uid}/diff", patch))) as components["schemas"]["JsonPatch"];
  const image = operations.find((one) => one.path === "/spec/template/spec/containers/0/image");
  assert.deepEqual([image?.op, image?.value], ["replace", "registry.example.com/payments/api/api:2.34.1-7c4db2f4"]);
  const text = { params: { path, query: { at, from: "1400", format: "text" as const } }, parseAs: "text" as const };
  assert((await got(texts.GET("/api/v1/resources/{uid}/diff", text))).includes("spec.template.spec.containers"));
  const health = await read(client.GET("/api/v1/resources/{uid}/health", { params: { path, query: { at, since } } }));
  assert.equal(health.intervals[0]?.reason, "ProgressDeadlineExceeded");
  const events = await read(client.GET("/api/v1/resources/{uid}/events", { params: { path: pod, query } }));
  assert.deepEqual(events.items.map((event) => event.reason), ["BackOff"]);
  const timeline = await read(
    client.GET("/api/v1/resources/{uid}/timeline", { params: { path, query: { at, since, below: true, limit: 3 } } }),
  );
  assert(timeline.below && timeline.below.resources > 1);
  const onset = await read(client.GET("/api/v1/resources/{uid}/onset", { params: { path, query } }));
  assert.equal(onset.causes[0]?.deployment?.id, 1795154443);
  const edges = await read(client.GET("/api/v1/resources/{uid}/edges", { params: { path, query } }));
  assert.deepEqual([...new Set(edges.items.map((edge) => edge.far))].sort(), ["cause", "dependent"]);
  const missing = await client.GET("/api/v1/resources/{uid}", { params: { path: { uid: "no-such-resource" }, query } });
  assert.deepEqual([missing.response.status, missing.error?.code], [404, "not_found"]);
}

async function clusters() {
  const list = await read(client.GET("/api/v1/clusters", { params: { query: { at } } }));
  assert.deepEqual(ids(list), ["eu-central", "eu-west", "us-east", "us-west"]);
  const query = { at, cluster: ["eu-west"], kind: ["ConfigMap"] };
  const coverage = await read(client.GET("/api/v1/coverage", { params: { query } }));
  assert.deepEqual(coverage.items.map((watch) => watch.state), ["watched"]);
}

async function service() {
  const me = await got(client.GET("/api/v1/whoami"));
  assert.deepEqual([me.name, me.method, me.reads.everything], ["all", "token", true]);
  assert.equal((await got(client.GET("/api/v1/login"))).oidc, null);
  const tokens = await got(client.GET("/api/v1/tokens"));
  assert.deepEqual(tokens.items.map((one) => one.name), ["all", "writers", "payments"]);
  assert.deepEqual((await got(client.GET("/api/v1/relist"))).watches, []);
  const rebuild = await got(client.GET("/api/v1/rebuild"));
  assert(rebuild.serving && rebuild.head >= Number(at) && rebuild.state !== "failed");
  assert.equal((await got(client.GET("/api/v1/openapi.json")))["openapi"], "3.1.0");
  const yaml = await got(texts.GET("/openapi.yaml", { parseAs: "text" }));
  assert(yaml.startsWith("openapi: 3.1.0"));
  const metrics = await got(texts.GET("/metrics", { parseAs: "text" }));
  assert(metrics.includes("strandline_http_requests_total"));
  for (const probe of ["/healthz", "/livez", "/readyz", "/readyz/lists"] as const) {
    assert.equal(await got(texts.GET(probe, { parseAs: "text" })), "ok");
  }
}

async function writes() {
  const project = { path: "made/here" };
  const body = { id: 77, default_branch: "main" };
  const written = await got(client.PUT("/api/v1/projects/{path}", { params: { path: project }, body }));
  assert.deepEqual([written.path, written.number], ["made/here", 77]);
  const agent = { id: "made/here:one" };
  const configuration = "ci_access: {projects: [{id: made/here}]}";
  assert.equal((await got(client.PUT("/api/v1/agents/{id}", { params: { path: agent }, body: { configuration } }))).id, agent.id);
  const declared = [{ name: "production" }, { name: "review/1", tier: "development" as const }];
  const made = await got(
    client.POST("/api/v1/projects/{path}/environments", { params: { path: project }, body: declared }),
  );
  assert("items" in made);
  assert.deepEqual(ids(made), ["made.here.production", "made.here.review.1"]);
  const production = { params: { path: { id: "made.here.production" } } };
  const one = await got(client.PUT("/api/v1/environments/{id}", { ...production, body: { name: "production", region: "eu" } }));
  assert.deepEqual([one.region, one.tier], ["eu", "production"]);
  const job: components["schemas"]["DeploymentInput"] = {
    project: "made/here",
    environment: "production",
    status: "running",
    kubernetes: { agent: agent.id, namespace: "made" },
  };
  const deployment = await got(client.POST("/api/v1/deployments", { body: job }));
  assert.deepEqual([deployment.authorization?.allowed, deployment.agent?.kubernetes_namespace], [true, "made"]);
  const ended = await got(
    client.PUT("/api/v1/deployments/{id}", { params: { path: { id: deployment.id } }, body: { status: "success" } }),
  );
  assert.equal(ended.status, "success");
  const review = { params: { path: { id: "made.here.review.1" } } };
  const stopped = await got(client.POST("/api/v1/environments/{id}/stop", review));
  assert.equal(stopped.state, "stopped");
  // A read at the offset of a write includes it.
  const then = { params: { ...review.params, query: { at: `${stopped.metadata.offset}` } } };
  assert.equal((await got(client.GET("/api/v1/environments/{id}", then))).state, "stopped");
  const query = "query($path: ID!, $at: String) { project(fullPath: $path, at: $at) { environments { count } } }";
  const variables = { path: "made/here", at: `${stopped.metadata.offset}` };
  const answer = await got(client.POST("/api/v1/graphql", { body: { query, variables } }));
  assert.deepEqual(answer.data, { project: { environments: { count: 2 } } });
  const forget = { params: { path: { cluster: "us-west" } }, body: { kind: "ConfigMap", dry_run: true, force: true } };
  const forgotten = await got(client.POST("/api/v1/clusters/{cluster}/forget", forget));
  assert.deepEqual([forgotten.dry_run, forgotten.kind, forgotten.ended], [true, "ConfigMap", forgotten.resources.length]);
  await got(client.DELETE("/api/v1/environments/{id}", review));
  const withdrawn = await got(client.DELETE("/api/v1/agents/{id}", { params: { path: agent } }));
  await got(client.DELETE("/api/v1/projects/{path}", { params: { path: project } }));
  const after = { at: `${withdrawn.metadata.offset}` };
  const missing = await client.GET("/api/v1/agents/{id}", { params: { path: agent, query: after } });
  assert.equal(missing.error?.code, "not_found");
  assert.deepEqual((await got(client.POST("/api/v1/relist"))).watches, []);
  assert(["building", "done"].includes((await got(client.POST("/api/v1/rebuild"))).state));
}

// What the compiler refuses; it is not called.
export async function mistakes() {
  // @ts-expect-error: no such path
  await client.GET("/api/v1/environment");
  // @ts-expect-error: no such parameter
  await client.GET("/api/v1/environments", { params: { query: { tiers: ["staging"] } } });
  // @ts-expect-error: no such choice
  await client.GET("/api/v1/environments", { params: { query: { tier: ["stage"] } } });
  const page = await got(client.GET("/api/v1/environments"));
  // @ts-expect-error: no such member
  return page.items[0]?.status;
}

for (const part of [environments, feeds, catalog, resources, clusters, service, writes]) await part();
const head = 'import type { components, paths } from "./strandline.js";\n';
writeFileSync("answers.mts", head + answers.join("\n"));
console.log(JSON.stringify([...called].sort()));
