// The feed of changes as a page: filters are in the address, each as a chip that takes it away again.
const { test, expect } = require("../kit");

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with script" : "without script", () => {
    test.use({ javaScriptEnabled });
    test("changes are filtered by a form and by chips", async ({ page }) => {
      await page.goto("/");
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Changes" }).click();
      await expect(page.getByRole("heading", { name: "Changes", level: 1 })).toBeVisible();
      const rows = page.locator("table.changes tbody tr");
      await expect(rows.first()).toBeVisible();
      await page.locator("details.filters summary").click();
      await page.getByRole("textbox", { name: "By", exact: true }).fill("nobody-at-all");
      await page.getByRole("button", { name: "Show" }).last().click();
      await expect(page).toHaveURL(/by=nobody-at-all/);
      await expect(page.getByText("No changes match")).toBeVisible();
      await page.getByRole("link", { name: "Remove filter: By" }).click();
      await expect(page).not.toHaveURL(/by=/);
      await expect(rows.first()).toBeVisible();
      await rows.first().getByRole("link").first().click();
      await expect(page).toHaveURL(/at=\d+/);
    });
  });
}

for (const address of ["/changes?type=created", "/deployments?status=failed", "/events?type=warning"]) {
  test(`a reader of feeds finds the feed of ${address}`, async ({ page, request }) => {
    await page.goto(address);
    const href = await page.locator('link[type="application/atom+xml"]').getAttribute("href");
    expect(href).toContain(address.split("?")[1]);
    await expect(page.getByRole("link", { name: "Atom" })).toHaveAttribute("href", href);
    const answer = await request.get(href);
    expect(answer.status()).toBe(200);
    expect(answer.headers()["content-type"]).toContain("application/atom+xml");
    expect(await answer.text()).toContain("<feed xmlns=");
  });
}
