// What flows share. A flow is a file in `flows` that takes `test` and `expect` from here: every page that it opens must
// load without an error on the console and without anything that the Content Security Policy forbids.
const { test: base, expect } = require("@playwright/test");
const { AxeBuilder } = require("@axe-core/playwright");

// What the server shows: names and addresses of what there is to open, see tests/it/browser.rs.
const scenario = JSON.parse(process.env.STRANDLINE_SCENARIO);

// Every page, with the status that it is answered with. Add yours here.
const pages = [
  ["/", 200],
  ["/?tier=all&group_by=project", 200],
  ["/?at=someday&health=Sick", 400],
  [`/?at=${scenario.before}`, 200],
  [`/environments/${scenario.environment}`, 200],
  [`/environments/${scenario.environment}?collapse=none&span=1h`, 200],
  [`/environments/${scenario.environment}?at=${scenario.before}`, 200],
  [`/environments/${scenario.environment}?at=soon`, 400],
  [`/environments/${scenario.environment}/diff`, 200],
  [`/environments/${scenario.environment}/diff?from=${scenario.before}&include=metadata,status`, 200],
  [`/resources/${scenario.resource}`, 200],
  [`/resources/${scenario.resource}?at=${scenario.before}`, 200],
  [`/resources/${scenario.resource}/diff`, 200],
  [`/resources/${scenario.resource}/diff?layout=split&include=metadata,status,noise`, 200],
  [`/resources/${scenario.resource}/diff?layout=round`, 400],
  [`/deployments/${scenario.deployment}`, 200],
  ["/deployments", 200],
  [`/deployments?environment=${scenario.environment}&status=success`, 200],
  ["/deployments?status=moon&since=soon", 400],
  ["/changes", 200],
  ["/changes?type=spec,created,deleted,deployment,health,warning&controllers=true", 200],
  ["/changes?type=moon&since=soon", 400],
  ["/events", 200],
  [`/events?environment=${scenario.environment}&since=30d`, 200],
  ["/events?type=moon&since=soon", 400],
  ["/images", 200],
  ["/images?from=1", 200],
  ["/coverage", 200],
  ["/clusters", 200],
  ["/clusters/one", 200],
  [`/clusters/one?at=${scenario.before}`, 200],
  ["/projects/shop%2Fweb", 200],
  ["/agents", 200],
  ["/agents/shop%2Fagents%3Aone", 200],
  ["/agents/shop%2Fagents%3Aone?project=shop%2Fweb&environment=production&ref=main", 200],
  ["/search", 200],
  ["/search?q=web", 200],
  ["/search?q=nothing-is-called-so&type=images", 200],
  ["/search?q=a+b+c+d+e+f+g+h+i", 400],
  ["/help/search", 200],
  ["/help/troubleshooting", 200],
  ["/environments/nothing?at=1", 404],
  ["/deployments/9", 404],
  ["/clusters/nothing", 404],
  ["/projects/nothing", 404],
  ["/agents/no%2Fproject%3Anothing", 404],
  ["/nothing", 404],
];

const test = base.extend({
  page: async ({ page }, use) => {
    const faults = [];
    page.on("console", (message) => {
      // The browser itself says so of a page that is answered with an error.
      if (/^Failed to load resource: the server responded with a status of 4/.test(message.text())) return;
      if (["error", "warning"].includes(message.type())) faults.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => faults.push(`${page.url()}: ${error.message}`));
    await use(page);
    expect(faults).toEqual([]);
  },
});

// What axe finds, in short, by all its rules or by some. Its legacy mode does without a second page, in which it
// would put together what it found in frames of other sites: there are none.
const violations = async (page, rules) => {
  const axe = new AxeBuilder({ page }).setLegacyMode();
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.map(({ id, help, nodes }) => ({ id, help, first: nodes.slice(0, 3).map((node) => node.html) }));
};

// By how many pixels a page is wider than its window.
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

module.exports = { test, expect, scenario, pages, violations, overflow };
