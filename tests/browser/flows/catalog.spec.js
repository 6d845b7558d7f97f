// Clusters, projects and agents have pages that lead to each other.
const { test, expect } = require("../kit");

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with script" : "without script", () => {
    test.use({ javaScriptEnabled });
    test("a cluster leads to its environments, they to their project, and its agent tries a job", async ({ page }) => {
      await page.goto("/");
      const main = page.getByRole("navigation", { name: "Main" });
      await main.getByRole("link", { name: "Clusters" }).click();
      await page.getByRole("link", { name: "one", exact: true }).click();
      await expect(page.getByRole("heading", { level: 1, name: "Cluster one" })).toBeVisible();
      await page.locator("main").getByRole("link", { name: "shop/web production" }).first().click();
      await expect(page.getByRole("heading", { level: 1, name: "production" })).toBeVisible();
      await page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "web" }).click();
      await expect(page.getByRole("heading", { level: 1, name: "Project web" })).toBeVisible();
      await expect(page.getByRole("link", { name: "#2", exact: true })).toBeVisible();
      await main.getByRole("link", { name: "Agents" }).click();
      await page.getByRole("link", { name: "shop/agents one" }).click();
      const job = page.getByRole("form", { name: "Job to try" });
      await job.getByLabel("Project of the job").fill("shop/web");
      await job.getByRole("button", { name: "Try" }).click();
      await expect(page.getByRole("status").getByText("Allowed")).toBeVisible();
      await expect(job.getByLabel("Project of the job")).toHaveValue("shop/web");
      await job.getByLabel("Project of the job").fill("ops/other");
      await job.getByRole("button", { name: "Try" }).click();
      await expect(page.getByRole("status").getByText("Denied")).toBeVisible();
    });
  });
}
