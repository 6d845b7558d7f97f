// What pages look like, held against pictures that are kept: of the demo, whose seed and clock are fixed.
//
// A picture belongs to the browser and the fonts that it was taken with, which `pictures/taken-with.json` names; elsewhere
// nothing is compared, and that is said. STRANDLINE_PICTURES=keep takes them anew.
const fs = require("fs");
const path = require("path");
const { test, expect, scenario } = require("../kit");

const WITH = path.join(__dirname, "pictures", "taken-with.json");
const TAKES = process.env.STRANDLINE_PICTURES === "keep";

// In one cluster: of what happens in several at one time, each run records something else first.
const { environment: id, at } = scenario.image;
const environment = `/environments/${id}`;

// A page in one width, and as much of it as shows what it is made of: [name, address, width, height, colours].
const PICTURES = [
  ["start", "/", 1400, 1000, "light"],
  ["start", "/", 390, 1600, "light"],
  ["all", "/?tier=all&group_by=group,region", 1400, 1000, "dark"],
  ["wall", "/?wall=1", 2560, 1000, "dark"],
  ["environment", `${environment}?at=${at}`, 1400, 1200, "light"],
  ["environment", `${environment}?at=${at}`, 390, 1600, "dark"],
  ["graph", `${environment}?tab=graph&collapse=none&at=${at}`, 1400, 1000, "dark"],
  ["timeline", `${environment}?tab=timeline`, 1400, 900, "light"],
  ["compare", `${environment}/diff?from=-2h&at=${at}`, 1400, 900, "light"],
  ["deployments", "/deployments?status=failed", 1400, 900, "light"],
  ["deployments", "/deployments?status=failed", 390, 1200, "light"],
  ["clusters", "/clusters", 1400, 700, "light"],
  ["images", "/images", 390, 900, "light"],
];

// The browser, and how wide its fonts draw a line.
const here = async (browser, page) => ({
  browser: browser.version().split(".")[0],
  fonts: await page.evaluate(() =>
    Object.fromEntries(
      ["system-ui", "ui-monospace, monospace"].map((family) => {
        const context = document.createElement("canvas").getContext("2d");
        context.font = `100px ${family}`;
        return [family, Math.round(context.measureText("Degraded since 14:05 ✕ ● → 2.40.0").width)];
      }),
    ),
  ),
});

test.describe("kept pictures", () => {
  // Pictures of the documents are of a longer past.
  test.skip(process.env.STRANDLINE_PICTURES === "write", "another demo is shown");
  test.use({ timezoneId: "UTC" });

  for (const [name, address, width, height, colorScheme] of PICTURES) {
    const picture = `${name}-${width}-${colorScheme}.png`;
    test(picture, async ({ browser, page }) => {
      await page.goto("/help/search");
      const taken = await here(browser, page);
      if (TAKES) fs.writeFileSync(WITH, `${JSON.stringify(taken, null, 2)}\n`);
      const kept = JSON.parse(fs.readFileSync(WITH, "utf8"));
      test.skip(JSON.stringify(kept) !== JSON.stringify(taken), "pictures are of another browser or other fonts");
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.goto(address);
      await page.mouse.move(0, 0);
      await expect(page).toHaveScreenshot(picture, { maxDiffPixelRatio: 0.002 });
    });
  }
});
