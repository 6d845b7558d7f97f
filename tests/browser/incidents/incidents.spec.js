// Three incidents of the demo, each solved from the start page by clicks alone, with script and without.
//
// What has to be found is what the simulated fleet itself says (tests/it/incidents.rs) and what the API answers. With
// STRANDLINE_PICTURES=write the pictures of docs/guide.md are taken on the way.
const fs = require("fs");
const path = require("path");
const { test, expect, scenario, violations, overflow } = require("../kit");

const PICTURES = path.join(__dirname, "../../../docs/images");

test.use({ timezoneId: "UTC", viewport: { width: 1200, height: 900 } });

// A picture as WebP, a third as large, made by the browser itself.
const small = async (context, png) => {
  const page = await context.newPage();
  const webp = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext("2d").drawImage(picture, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
    return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
  }, png.toString("base64"));
  await page.close();
  return Buffer.from(webp, "base64");
};

// Whoever solves an incident opens the start page, and from there only clicks.
class Solver {
  constructor(page, incident, javaScriptEnabled) {
    Object.assign(this, { page, incident, javaScriptEnabled });
    this.main = page.locator("main");
  }

  async begin() {
    await this.page.goto("/");
    await expect(this.page.getByRole("heading", { name: "Production", level: 1 })).toBeVisible();
  }

  // Clicks a link and waits for the page that it leads to.
  async click(link, address, position) {
    await link.click({ position });
    await this.page.waitForURL(address);
  }

  // A page on the way holds what every page has to; some are shown in the documents.
  async look(name, height) {
    expect(await overflow(this.page)).toBeLessThanOrEqual(0);
    if (!this.javaScriptEnabled) return;
    expect(await violations(this.page)).toEqual([]);
    if (!name || process.env.STRANDLINE_PICTURES !== "write") return;
    await this.page.setViewportSize({ width: 1200, height });
    await this.page.mouse.move(0, 0);
    const png = await this.page.screenshot({ animations: "disabled" });
    const webp = await small(this.page.context(), png);
    expect(webp.length).toBeLessThan(120_000);
    fs.writeFileSync(path.join(PICTURES, `${name}.webp`), webp);
  }

  // The page of a deployment names the commit that caused it, its author and what it changed, and the API says the same.
  async solved(request) {
    const { incident, page } = this;
    const fact = (name) => page.locator("dl.facts div", { has: page.getByText(name, { exact: true }) }).getByRole("definition");
    await expect(fact("Commit")).toHaveText(incident.sha);
    await expect(fact("Started by")).toHaveText(incident.user);
    await expect(page.getByRole("heading", { level: 1 })).toContainText(incident.reference);
    await expect(page.locator("section", { has: page.getByRole("heading", { name: "What it changed" }) })).toContainText(
      incident.changed,
    );
    const number = new URL(page.url()).pathname.split("/").pop();
    const told = await (await request.get(`/api/v1/deployments?environment=${incident.environment}&status=failed&until=${incident.at}`)).json();
    const cause = told.items.find(({ id }) => String(id) === number);
    expect({ sha: cause.sha, user: cause.user }).toEqual({ sha: incident.sha, user: incident.user });
  }
}

const environments = /\/environments\/[^/?]+\?at=/;
const deployments = /\/deployments\/\d+/;
const around = (page) => page.getByRole("region", { name: "Deployments at that time" });

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with script" : "without script", () => {
    test.use({ javaScriptEnabled });

    test("a release that crashes: from the environment to the change of its Deployment, and to the commit", async ({ page, request }) => {
      const solver = new Solver(page, scenario.crash, javaScriptEnabled);
      await solver.begin();
      await solver.look("start", 900);
      await solver.click(solver.main.getByRole("link", { name: `${scenario.crash.project} production/us-region at` }), environments);
      await expect(page.getByRole("heading", { name: "Why Degraded" })).toBeVisible();
      await expect(page.getByText("CrashLoopBackOff").first()).toBeVisible();
      await solver.look("environment", 900);
      const before = page.getByRole("region", { name: /^Changes before it became Degraded/ });
      await solver.click(before.getByRole("link", { name: /^changed spec/ }).first(), /\/resources\/[^/]+\/diff\?/);
      await expect(page.locator(".diff ins", { hasText: /payments\/api\/api:/ })).toBeVisible();
      await solver.look("crash-change", 780);
      await solver.click(around(page).getByRole("link", { name: /^#\d+$/ }).first(), deployments);
      await solver.look("crash-deployment", 900);
      await solver.solved(request);
    });

    test("an image that is not there: from all tiers to the Pod, and to the commit", async ({ page, request }) => {
      const solver = new Solver(page, scenario.image, javaScriptEnabled);
      await solver.begin();
      await solver.click(page.getByRole("link", { name: /^Remove filter: Tier/ }), /tier=all/);
      const card = page.getByRole("article").filter({ hasText: scenario.image.project });
      await solver.look("image-start", 760);
      await solver.click(card.getByRole("link", { name: /^indexer-/ }), /\/resources\//);
      await expect(page.locator(".verdict")).toContainText(/ErrImagePull|ImagePullBackOff/);
      await solver.look("image-pod", 900);
      await solver.click(around(page).getByRole("link", { name: /^#\d+$/ }).first(), deployments);
      await solver.look();
      await solver.solved(request);
    });

    test("a setting that is lost: from the rail to the difference with before, and to the commit", async ({ page, request }) => {
      const solver = new Solver(page, scenario.setting, javaScriptEnabled);
      await solver.begin();
      const part = page.locator("svg.rail").getByRole("link", { name: /: 1 Degraded, / }).first();
      const { width, height } = await part.boundingBox();
      // A script shows the time under the pointer, and the part is Degraded at its end.
      await solver.click(part, /\?at=/, { x: width - 2, y: height / 2 });
      const card = page.getByRole("article").filter({ hasText: scenario.setting.project });
      await expect(card).toContainText("CreateContainerConfigError");
      await solver.look("overview", 900);
      await solver.click(card.getByRole("link", { name: /^Compare with before/ }), /\/diff\?/);
      const settings = page.locator("section.change", { has: page.getByRole("link", { name: /^~ ConfigMap .*cart-config/ }) });
      await expect(settings).toContainText("data.features");
      await solver.look("setting-change", 900);
      await solver.click(around(page).getByRole("link", { name: /^#\d+$/ }).first(), deployments);
      await solver.look("setting-deployment", 860);
      await solver.solved(request);
    });
  });
}
