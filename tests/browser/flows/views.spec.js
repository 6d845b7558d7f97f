// What is shown on the start page can be saved in the browser under a title, shown again, and removed.
const { test, expect } = require("../kit");

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with script" : "without script", () => {
    test.use({ javaScriptEnabled });
    test("a view is saved, shown again at another time, and removed", async ({ page }) => {
      const title = "All <b>by</b> project";
      const views = page.getByRole("navigation", { name: "Views" });
      const open = () => page.getByText("Save view", { exact: true }).click();
      await page.goto("/?tier=all&group_by=project");
      await expect(views.getByRole("link", { name: title })).toHaveCount(0);
      await open();
      const form = page.getByRole("form", { name: "Save what is shown" });
      await form.getByLabel("Title").fill(title);
      await form.getByRole("button", { name: "Save" }).click();
      await expect(views.getByRole("link", { name: title })).toHaveAttribute("aria-current", "page");
      await page.goto("/?at=5");
      await views.getByRole("link", { name: title }).click();
      const shown = new URL(page.url()).searchParams;
      expect(Object.fromEntries(shown)).toEqual({ at: "5", group_by: "project", tier: "all" });
      await open();
      await page.getByRole("button", { name: `Remove the view ${title}` }).click();
      await expect(page.getByRole("heading", { level: 1, name: "All environments" })).toBeVisible();
      await expect(views.getByRole("link", { name: title })).toHaveCount(0);
    });
  });
}
