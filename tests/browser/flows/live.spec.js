// Pages that show the present follow what changes, and leave alone what their reader does.
const { test, expect, scenario } = require("../kit");

const pulse = `/environments/${scenario.pulse}`;

test("what changes is shown without a reload, and marked", async ({ page }) => {
  await page.goto(pulse);
  await page.evaluate(() => (window.stays = true));
  const badge = page.locator(".heading .badge").first();
  await expect(badge).toContainText("Degraded", { timeout: 30_000 });
  await expect(badge).toContainText("Healthy", { timeout: 30_000 });
  await expect(page.locator(".changed").first()).toBeVisible({ timeout: 30_000 });
  expect(await page.evaluate(() => window.stays)).toBe(true);
});

test("focus, selection, open details and scroll stay", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 500 });
  await page.goto(`${pulse}?tab=tree`);
  const before = await page.evaluate(() => {
    for (const one of document.querySelectorAll("main details")) one.open = one.wasOpened = true;
    const link = document.querySelector("main .tree a");
    link.focus({ preventScroll: true });
    getSelection().selectAllChildren(document.querySelector("h1"));
    scrollTo(0, 200);
    window.updates = 0;
    document.addEventListener("pageupdate", () => (window.updates += 1));
    return { focus: document.activeElement.href, selected: String(getSelection()) };
  });
  await page.waitForFunction(() => window.updates >= 2, undefined, { timeout: 30_000 });
  const after = await page.evaluate(() => ({
    focus: document.activeElement.href,
    selected: String(getSelection()),
    // What comes to be above moves the window along with what is in it.
    scrolled: scrollY > 0,
    closed: [...document.querySelectorAll("main details")].filter((one) => one.wasOpened && !one.open).length,
  }));
  expect(after).toEqual({ ...before, scrolled: true, closed: 0 });
});

test("a page is paused by hand and goes on", async ({ page }) => {
  await page.goto(pulse);
  const state = page.locator("live-badge strong");
  await expect(state).toHaveText("Live");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(state).toHaveText("Paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(state).toHaveText("Live");
});

test("an expired session is said, with a way to log in that leads back", async ({ page }) => {
  await page.goto(pulse);
  const state = page.locator("live-badge strong");
  await expect(state).toHaveText("Live");
  await page.route("**/*", (route) => route.fulfill({ status: 401, body: "" }));
  await page.evaluate(() => document.querySelector("live-badge").disconnected(document.querySelector("live-badge").source.close()));
  await expect(state).toHaveText("Session expired", { timeout: 30_000 });
  const link = page.getByRole("link", { name: "Log in" });
  await expect(link).toHaveAttribute("href", `/login?to=${encodeURIComponent(pulse)}`);
  await expect(page.getByRole("button", { name: /Pause|Resume/ })).toHaveCount(0);
});

test.describe("while the server is away", () => {
  // The browser itself says on the console that nothing answers.
  const base = require("@playwright/test").test;
  base("the badge says since when", async ({ page }) => {
    await page.goto(pulse);
    await expect(page.locator("live-badge strong")).toHaveText("Live");
    await page.context().setOffline(true);
    await page.route("**/*", (route) => route.abort());
    await page.evaluate(() => {
      const badge = document.querySelector("live-badge");
      badge.source.close();
      badge.open();
    });
    await expect(page.locator("live-badge")).toContainText(/Disconnected since.*\d\d:\d\d:\d\d/s);
    await page.unroute("**/*");
    await page.context().setOffline(false);
    await expect(page.locator("live-badge strong")).toHaveText("Live", { timeout: 30_000 });
  });
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });
  test("a page says as of when it is and reloads itself", async ({ page }) => {
    await page.goto(pulse);
    const said = await page.locator("live-badge").evaluate((badge) => badge.textContent);
    expect(said).toMatch(/As of.*UTC.*refreshes every minute/s);
    await expect(page.locator("meta[http-equiv=refresh]")).toHaveCount(1);
    await page.goto(`${pulse}?at=${scenario.before}`);
    await expect(page.locator("meta[http-equiv=refresh]")).toHaveCount(0);
  });
});
