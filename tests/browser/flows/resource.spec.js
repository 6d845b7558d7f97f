// The page of a resource: its object folds without script and is copied and downloaded as the same text, and its versions
// are compared.
const { test, expect, scenario } = require("../kit");

const address = `/resources/${scenario.resource}`;

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("the object folds", async ({ page }) => {
    await page.goto(address);
    const line = page.locator(".object div", { hasText: /^ {2}name: / }).first();
    await expect(line).toBeVisible();
    await page.locator(".object summary", { hasText: /^metadata:$/ }).click();
    await expect(line).toBeHidden();
  });

  test("any two versions are compared, one below the other and side by side", async ({ page }) => {
    await page.goto(address);
    const offsets = await page.locator("input[name=from]").evaluateAll((all) => all.map(({ value }) => Number(value)));
    const [later, earlier] = [Math.max(...offsets), Math.min(...offsets)];
    await page.locator(`input[name=from][value="${earlier}"]`).check();
    await page.locator(`input[name=at][value="${later}"]`).check();
    await page.getByRole("button", { name: "Compare chosen" }).click();
    await expect(page).toHaveURL(new RegExp(`/diff\\?(.*&)?at=${later}&from=${earlier}`));
    await expect(page.locator(".diff del").first()).toBeVisible();
    await page.getByRole("link", { name: "Side by side" }).click();
    await expect(page.locator(".sides ins").first()).toBeVisible();
  });
});

test("the object is copied and downloaded as YAML", async ({ page, context, request }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address);
  const yaml = await (await request.get(`${address}/object.yaml`)).text();
  expect(yaml).toMatch(/^apiVersion: /);
  await page.getByRole("link", { name: "Copy YAML" }).click();
  await expect(page.getByText("Copied", { exact: true })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(yaml);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download", exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^[a-z]+-[\w-]+\.yaml$/);
});
