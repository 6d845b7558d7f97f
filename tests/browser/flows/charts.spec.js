// A chart is one tab stop; arrow keys reach each of its columns and stay within it.
const { test, expect, scenario } = require("../kit");

test("arrow keys walk through a chart", async ({ page }) => {
  await page.goto(`/environments/${scenario.environment}`);
  const chart = page.locator("key-chart").first();
  const columns = await chart.locator("a").count();
  test.skip(columns === 0, "nothing happened");
  const stops = chart.locator("a:not([tabindex='-1'])");
  await expect(stops).toHaveCount(1);
  await stops.focus();
  for (const key of ["Home", ...Array(Math.min(columns, 12)).fill("ArrowRight"), "ArrowLeft", "ArrowDown", "ArrowUp", "End"]) {
    await page.keyboard.press(key);
    expect(await chart.evaluate((element) => element.contains(document.activeElement))).toBe(true);
  }
  await expect(stops).toHaveCount(1);
});
