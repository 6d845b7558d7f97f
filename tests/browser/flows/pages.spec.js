// Every page at the width of a phone, of a desk and of a wall, light and dark, with script and without.
const { test, expect, pages, violations, overflow } = require("../kit");

const WIDTHS = [390, 1400, 2560];
// Colours and widths have nothing to do with each other, and but for its colours a dark page is the light one: what is looked at
// in two of the six says all.
const LOOKED_AT = { "light 390": undefined, "dark 1400": ["color-contrast", "link-in-text-block"] };
// A page has its time, however many there are and whatever else the machine does.
const EACH_MS = 10_000;

for (const [address, status] of pages) {
  test(`${address} is sound`, async ({ page }) => {
    expect((await page.goto(address)).status()).toBe(status);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        expect(await overflow(page), `wider than ${width}`).toBeLessThanOrEqual(0);
        const look = `${colorScheme} ${width}`;
        if (look in LOOKED_AT) expect(await violations(page, LOOKED_AT[look])).toEqual([]);
      }
    }
  });
}

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });
  test("each page is readable", async ({ page }) => {
    test.setTimeout(pages.length * EACH_MS);
    for (const [address, status] of pages) {
      expect((await page.goto(address)).status(), address).toBe(status);
      await expect(page.locator("main"), address).toBeVisible();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.locator("html").evaluate((html) => html.scrollWidth - window.innerWidth);
        expect(wide, `${address}: wider than ${width}`).toBeLessThanOrEqual(0);
      }
    }
  });
});

test("what is bad is found", async ({ page }) => {
  await page.setContent("<!doctype html><img src='data:,'><p>text");
  expect(await violations(page)).not.toEqual([]);
});

test("every link of every page answers", async ({ page, request }) => {
  test.setTimeout(pages.length * EACH_MS);
  const found = new Map();
  for (const [address, status] of pages) {
    // Pages about what is not there lead to where it may be, under the same address. The picker's earlier times are left
    // out: this record begins a moment ago.
    if (status !== 200) continue;
    await page.goto(address);
    const links = await page.locator("a[href]:not(.picker .steps a), link[href], script[src]").evaluateAll((all) =>
      all.map((one) => one.href?.baseVal ?? one.getAttribute("href") ?? one.getAttribute("src")).map((href) => new URL(href, location.href).href),
    );
    for (const link of links) {
      const url = new URL(link);
      url.hash = "";
      // The rail and the charts have a link for each part of the time: one of each form is enough.
      const form = `${url.pathname}?${[...url.searchParams.keys()].sort()}`;
      const known = found.get(form) ?? [];
      if (url.origin === new URL(page.url()).origin && known.length < 3) found.set(form, [...known, [url.href, address]]);
    }
  }
  const all = [...found.values()].flat();
  expect(all.length).toBeGreaterThan(30);
  test.setTimeout((pages.length + all.length) * EACH_MS);
  const broken = [];
  for (const [link, from] of all) {
    const status = (await request.get(link)).status();
    if (status !== 200) broken.push(`${status} ${link} on ${from}`);
  }
  expect(broken).toEqual([]);
});
