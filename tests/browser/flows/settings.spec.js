// Light or dark and the zone of times are a reader's choice, which this browser keeps.
const { test, expect, scenario } = require("../kit");

test("dark is chosen by hand and stays", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/");
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await colour();
  await page.getByRole("banner").getByText("Settings").click();
  await page.getByLabel("Appearance").selectOption("dark");
  const dark = await colour();
  expect(dark).not.toBe(light);
  await page.goto("/images");
  expect(await colour()).toBe(dark);
});

test("times are in the reader's zone, or in UTC", async ({ page }) => {
  await page.goto(`/environments/${scenario.environment}?at=${scenario.before}`);
  const time = page.locator("time-rail .then time");
  await expect(time).toContainText(/GMT\+|CES?T/);
  await page.getByRole("banner").getByText("Settings").click();
  await page.getByLabel("Times").selectOption("utc");
  await expect(time).toContainText("UTC");
});
