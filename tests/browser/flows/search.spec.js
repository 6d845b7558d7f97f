// Search: a page that needs no script, and matches below the field as one types.
const { test, expect, scenario, violations, overflow } = require("../kit");

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });
  test("the field of the header leads to a page of matches", async ({ page }) => {
    await page.goto(`/environments/${scenario.environment}`);
    await page.getByRole("searchbox", { name: "Search" }).fill("shop production");
    await page.getByRole("searchbox", { name: "Search" }).press("Enter");
    await expect(page).toHaveURL(/\/search\?q=shop\+production/);
    await expect(page.getByRole("heading", { name: "Search: shop production" })).toBeVisible();
    await page.locator("main").getByRole("link", { name: scenario.environment, exact: true }).click();
    await expect(page).toHaveURL(new RegExp(`/environments/${scenario.environment}$`));
  });
});

const field = (page) => page.locator("search-box input");
const matches = (page) => page.locator("search-box").getByRole("option");

test("a key leads to the field, and arrows and Enter to a match", async ({ page }) => {
  await page.goto("/coverage");
  await page.keyboard.press("/");
  await expect(field(page)).toBeFocused();
  await page.keyboard.type("shop");
  const options = matches(page);
  await expect(options.first()).toBeVisible();
  await expect(field(page)).toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("ArrowDown");
  await expect(options.first()).toHaveAttribute("aria-selected", "true");
  await expect(field(page)).toHaveAttribute("aria-activedescendant", await options.first().getAttribute("id"));
  await page.keyboard.press("ArrowUp");
  await expect(page.locator('[role="option"][aria-selected="true"]')).toHaveCount(0);
  await page.keyboard.press("ArrowUp");
  await expect(options.last()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const href = await options.first().getAttribute("href");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(href);
});

test("a match that is chosen stays chosen when the answer to more text comes", async ({ page }) => {
  await page.goto("/coverage");
  const held = [];
  await page.route("**/search?q=shop", (route) => held.push(route));
  await field(page).fill("sho");
  const chosen = matches(page).filter({ hasText: scenario.environment }).first();
  await expect(chosen).toBeVisible();
  const asked = page.waitForRequest("**/search?q=shop");
  await field(page).press("p");
  await asked;
  await expect(async () => {
    await page.keyboard.press("ArrowDown");
    await expect(chosen).toHaveAttribute("aria-selected", "true", { timeout: 100 });
  }).toPass();
  await page.locator("search-box .matches").evaluate((panel) => panel.querySelectorAll("a").forEach((one) => (one.dataset.old = "")));
  await expect.poll(() => held.length).toBe(1);
  await held[0].continue();
  await expect(page.locator("search-box [data-old]")).toHaveCount(0);
  await expect(chosen).toHaveAttribute("aria-selected", "true");
  await expect(field(page)).toHaveAttribute("aria-activedescendant", await chosen.getAttribute("id"));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/environments/${scenario.environment}$`));
});

test("Ctrl-K leads to the field, Escape closes the matches, Enter shows the page of all", async ({ page }) => {
  await page.goto(`/environments/${scenario.environment}`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("well");
  await expect(matches(page).filter({ hasText: "Pod/well" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("listbox")).toBeHidden();
  await expect(field(page)).toHaveValue("well");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/search\?q=well/);
});

test("a slash that is typed into a field is a slash", async ({ page }) => {
  await page.goto("/images");
  await page.getByRole("textbox", { name: "Image" }).fill("a");
  await page.getByRole("textbox", { name: "Image" }).press("/");
  await expect(page.getByRole("textbox", { name: "Image" })).toHaveValue("a/");
});

test("matches fit the window and are sound, light and dark", async ({ page }) => {
  await page.goto("/");
  for (const [colorScheme, width] of [["light", 390], ["dark", 1400]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await field(page).fill("");
    await field(page).fill("web");
    await expect(matches(page).first()).toBeVisible();
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await violations(page)).toEqual([]);
  }
  await field(page).fill("nothing-is-called-so");
  await expect(page.getByText("Nothing that you have access to")).toBeVisible();
  expect(await violations(page)).toEqual([]);
});

test("the module is loaded once it is used", async ({ page }) => {
  const loaded = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await page.goto("/coverage");
  await page.waitForLoadState("load");
  expect(loaded).not.toContain("/assets/suggest.js");
  await field(page).focus();
  await expect(field(page)).toHaveRole("combobox");
  expect(loaded).toContain("/assets/suggest.js");
});
