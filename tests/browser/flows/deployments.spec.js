// A deployment has a page, which is reached from wherever the deployment is named.
const { test, expect, scenario } = require("../kit");

const heading = (page) => page.getByRole("heading", { level: 1, name: /Deployment #2/ });

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with script" : "without script", () => {
    test.use({ javaScriptEnabled });
    test("a deployment leads to what it changed and to the one before it", async ({ page }) => {
      await page.goto(`/environments/${scenario.environment}?tab=deployments`);
      await page.getByRole("link", { name: "#2", exact: true }).click();
      await expect(heading(page)).toBeVisible();
      await expect(page.getByRole("heading", { name: "Health of the environment" })).toBeVisible();
      await expect(page.getByRole("heading", { name: "What it changed" })).toBeVisible();
      await expect(page.getByText("alice", { exact: true })).toBeVisible();
      await page.getByRole("link", { name: "compare both times" }).click();
      await expect(page.getByRole("heading", { level: 1, name: /Changes of/ })).toBeVisible();
      await page.goBack();
      await page.getByRole("link", { name: /v1 .*by alice, success \(#1\)/ }).click();
      await expect(page.getByRole("heading", { level: 1, name: /Deployment #1/ })).toBeVisible();
      await page.getByRole("link", { name: /failed \(#2\)/ }).click();
      await expect(heading(page)).toBeVisible();
    });

    test("the change feed and the timeline lead to it", async ({ page }) => {
      for (const address of ["/changes?type=deployment", `/environments/${scenario.environment}?tab=timeline`]) {
        await page.goto(address);
        await page.locator("a:not(.mark)", { hasText: "Deployment of v2" }).first().click();
        await expect(heading(page)).toBeVisible();
      }
    });
  });
}
