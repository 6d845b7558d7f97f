// The time of a page: by pointer, by keys, by hand.
const { test, expect, scenario } = require("../kit");

const environment = `/environments/${scenario.environment}`;
const query = (page) => new URL(page.url()).searchParams;

test("a click shows the time under it, and a link leads back", async ({ page }) => {
  await page.goto(`${environment}?span=1h`);
  const { x, y, width } = await page.locator("svg.rail .ground").boundingBox();
  await page.mouse.click(x + width * 0.999, y + 10);
  await page.waitForURL(/at=/);
  expect(Date.parse(query(page).get("at"))).toBeGreaterThan(Date.now() - 600_000);
  await expect(page.locator("time-rail .then")).toContainText("As of");
  await page.getByRole("link", { name: "Back to live" }).click();
  await expect(page.locator("live-badge strong")).toHaveText("Live");
});

test("a span is dragged, compared and zoomed into", async ({ page }) => {
  await page.goto(`${environment}?span=1h`);
  const { x, y, width } = await page.locator("svg.rail .ground").boundingBox();
  const drag = async () => {
    await page.mouse.move(x + width * 0.2, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.7, y + 14, { steps: 4 });
    await page.mouse.up();
  };
  await drag();
  await expect(page.locator(".rail-actions")).toContainText("30m");
  const compare = await page.getByRole("link", { name: "Compare its ends" }).getAttribute("href");
  expect(compare).toMatch(/\/diff\?from=.*Z&at=.*Z$/);
  await page.keyboard.press("Escape");
  await expect(page.locator(".rail-actions")).toHaveCount(0);
  await drag();
  await page.getByRole("link", { name: "Zoom in" }).click();
  await page.waitForURL(/span=20.*\/20/);
  await expect(page.locator("svg.rail")).toHaveAttribute("aria-label", /over 30m/);
});

test("the rail is one tab stop with arrows within", async ({ page }) => {
  // The record is minutes old, and before it there is nothing to lead to.
  const [from, to] = [90_000, 0].map((ago) => new Date(Date.now() - ago).toISOString());
  await page.goto(`${environment}?span=${from}/${to}`);
  const stops = page.locator("svg.rail a:not([tabindex='-1'])");
  await expect(stops).toHaveCount(1);
  await stops.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  await expect(page.locator(".rail-actions")).toContainText(/\d[sm]/);
  await page.keyboard.press("Home");
  await expect(stops).toHaveCount(1);
  await page.keyboard.press("Enter");
  await page.waitForURL(/at=/);
});

test("j and k lead to the change before and after", async ({ page }) => {
  await page.goto(`/resources/${scenario.resource}?span=1h`);
  await page.keyboard.press("j");
  await page.waitForURL(/at=/);
  const first = Date.parse(query(page).get("at"));
  await page.keyboard.press("j");
  await page.waitForURL((url) => Date.parse(url.searchParams.get("at")) < first);
  await page.keyboard.press("k");
  await page.waitForURL((url) => Date.parse(url.searchParams.get("at")) === first);
});

test("a wrong time is explained at its field, and a right one is in the reader's zone", async ({ page }) => {
  await page.goto(environment);
  await page.getByText("Choose a time").click();
  await page.locator("time-rail input[name=at]").fill("soon");
  await page.getByRole("button", { name: "Show" }).click();
  await expect(page.locator("#at-wrong")).toBeVisible();
  // The browser of the test is in Berlin, whatever the zone of the machine.
  const wall = await page.evaluate(() => {
    const time = new Date();
    const pad = (number) => String(number).padStart(2, "0");
    return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}T${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
  });
  await page.locator("time-rail input[type=datetime-local]").fill(wall);
  await page.locator("time-rail").getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/at=20/);
  const shown = Date.parse(query(page).get("at"));
  expect(Math.abs(shown - Date.now())).toBeLessThan(600_000);
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });
  test("each part of the rail is a link, and a field takes a time", async ({ page }) => {
    await page.goto(environment);
    const part = page.locator("svg.rail .stops a").last();
    await page.goto(new URL(await part.getAttribute("href"), page.url()).href);
    await expect(page.locator("time-rail .then")).toBeVisible();
    await page.getByText("Choose a time").click();
    await page.locator("time-rail input[name=at]").fill(String(scenario.before));
    await page.getByRole("button", { name: "Show" }).click();
    await expect(page).toHaveURL(new RegExp(`at=${scenario.before}`));
  });
});

for (const address of ["/", "/changes", "/events", "/images", "/coverage", "/clusters/one", "/projects/shop%2Fweb"]) {
  test(`${address} has a rail, from whose marks the past is one step away`, async ({ page }) => {
    await page.goto(address);
    const rail = page.locator("svg.rail");
    await expect(rail).toHaveAttribute("aria-label", /^Health over 24h/);
    // Both deployments, or what was changed in the objects.
    await expect(rail.locator("a.mark").first()).toBeAttached();
    await page.keyboard.press("j");
    await page.waitForURL(/at=/);
    await expect(page.locator("time-rail .then")).toContainText("As of");
  });
}
