// Kubernetes Events across environments: filters are in the address, and each Event leads to its object as it was then.
const { test, expect, scenario } = require("../kit");

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with script" : "without script", () => {
    test.use({ javaScriptEnabled });
    test("Events are filtered by a form and by chips, and lead to their objects", async ({ page }) => {
      await page.goto("/");
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Events" }).click();
      await expect(page.getByRole("heading", { name: "Events", level: 1 })).toBeVisible();
      const row = page.locator("table.changes tbody tr").filter({ hasText: "BackOff" });
      await expect(row).toContainText("<script>alert(1)</script>");
      await page.locator("details.filters summary").click();
      await page.getByRole("textbox", { name: "Reason", exact: true }).fill("nothing-is-called-so");
      await page.getByRole("button", { name: "Show" }).last().click();
      await expect(page).toHaveURL(/reason=nothing-is-called-so/);
      await expect(page.getByText("No Events match")).toBeVisible();
      await page.getByRole("link", { name: "Remove filter: Reason" }).click();
      await expect(page).not.toHaveURL(/reason=/);
      await row.getByRole("link", { name: "Pod ill" }).click();
      await expect(page).toHaveURL(/\/resources\/.*at=\d+/);
      await expect(page.getByRole("heading", { level: 1 })).toContainText("ill");
    });
    test("the page of an environment leads to its Events", async ({ page }) => {
      await page.goto(`/environments/${scenario.environment}?tab=events`);
      await page.getByRole("link", { name: "Filter Events by type, reason and time" }).click();
      await expect(page).toHaveURL(new RegExp(`environment=${scenario.environment}`));
      await expect(page.locator("table.changes tbody tr").filter({ hasText: "BackOff" })).toBeVisible();
    });
  });
}
