// Measures pages of a large organization, which benches/browser.rs serves: a JSON object for each figure, in lines. A line
// `{"changes": …}` asks for changes in the cluster to begin or to end.
const { chromium } = require("@playwright/test");

const { STRANDLINE_URL: url, STRANDLINE_ENVIRONMENT: environment } = process.env;
const ROUNDS = 5;
const FOLLOWED = 15_000;
// What web vitals call good.
const GOOD_DELAY = 200;

const tell = (line) => console.log(JSON.stringify(line));
const figure = (name, unit, ours, at_most) => tell({ name, unit, ours, at_most });
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];

// Collects how long each interaction took until it showed, and how long tasks kept the page busy.
const observe = () => {
  window.seen = { delays: [], busy: 0 };
  const each = (type, more, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  each("event", { durationThreshold: 16 }, (entry) => entry.interactionId && window.seen.delays.push(entry.duration));
  each("longtask", {}, (entry) => (window.seen.busy += entry.duration));
};

// What a page weighs, and when it was painted, for somebody who comes for the first time.
const opened = async (browser, address) => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 } });
  const page = await context.newPage();
  await page.addInitScript(observe);
  await page.goto(url + address);
  await page.locator("main").waitFor();
  const loaded = await page.evaluate(async () => {
    const paint = () => performance.getEntriesByName("first-contentful-paint")[0];
    while (!paint()) await new Promise((done) => setTimeout(done, 20));
    const [document] = performance.getEntriesByType("navigation");
    const all = [document, ...performance.getEntriesByType("resource")].filter((one) => !one.name.includes("/watch"));
    return {
      painted: paint().startTime,
      sent: all.reduce((sum, one) => sum + one.transferSize, 0),
      bytes: document.decodedBodySize,
      answered: document.responseEnd - document.requestStart,
      elements: window.document.querySelectorAll("*").length,
    };
  });
  return { context, page, loaded };
};

// The longest that any of some interactions took.
const delay = async (page, interact) => {
  await page.evaluate(() => (window.seen.delays = []));
  await interact(page);
  await page.waitForTimeout(300);
  // What takes less than a frame or two is not reported.
  return Math.max(16, ...(await page.evaluate(() => window.seen.delays)));
};

const unfold = async (page) => {
  const groups = page.locator("main details:not([open]) > summary");
  for (let n = 0; n < 3 && (await groups.count()) > 0; n += 1) await groups.first().click();
};
const type = async (page) => {
  await page.keyboard.press("/");
  await page.keyboard.type("web", { delay: 50 });
  await page.keyboard.press("Escape");
};
const zoom = async (page) => {
  const tools = page.locator("pan-zoom .tools button");
  for (let n = 0; n < (await tools.count()); n += 1) await tools.nth(n).click();
};

// A page of the same shell without data: what the browser takes anyway.
const EMPTY = ["a page without data", "/help/search", type];
const PAGES = [
  ["the start page, production", "/", type, true],
  ["the start page, all tiers by group and region", "/?tier=all&group_by=group,region", unfold, true],
  ["20,000 Pods, drawn", `/environments/${environment}`, zoom],
  ["20,000 Pods, as a tree", `/environments/${environment}?tab=tree`, unfold],
  ["20,000 Pods, their timeline", `/environments/${environment}?tab=timeline`, type],
];

const main = async () => {
  const executablePath = process.env.STRANDLINE_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  for (const [name, address, interact, isFirst] of [EMPTY, ...PAGES]) {
    const rounds = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const { context, page, loaded } = await opened(browser, address);
      const found = { ...loaded, delay: await delay(page, interact) };
      // The first round warms the server.
      if (round > 0) rounds.push(found);
      await context.close();
    }
    const of = (what) => median(rounds.map((one) => one[what]));
    figure(`${name}: sent`, "KB", of("sent") / 1000, isFirst && 100);
    figure(`${name}: its HTML`, "KB", of("bytes") / 1000);
    figure(`${name}: answered`, "ms", of("answered"));
    figure(`${name}: painted`, "ms", of("painted"), isFirst && 500);
    figure(`${name}: the slowest interaction`, "ms", of("delay"), GOOD_DELAY);
    figure(`${name}: elements`, "", of("elements"));
  }
  tell({ changes: true });
  for (const [name, address, interact] of PAGES) {
    const { context, page } = await opened(browser, address);
    await page.waitForTimeout(2000);
    await page.evaluate(() => {
      window.seen.busy = 0;
      window.updates = 0;
      document.addEventListener("pageupdate", () => (window.updates += 1));
    });
    await page.waitForTimeout(FOLLOWED);
    const { busy, updates } = await page.evaluate(() => ({ busy: window.seen.busy, updates: window.updates }));
    figure(`${name}, following: busy`, "%", (100 * busy) / FOLLOWED, 10);
    figure(`${name}, following: updates a minute`, "", (updates * 60_000) / FOLLOWED);
    figure(`${name}, following: the slowest interaction`, "ms", await delay(page, interact), GOOD_DELAY);
    await context.close();
  }
  tell({ changes: false });
  await browser.close();
};

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
