// Flows in Debian's chromium against a running server, which tests/it/browser.rs or tests/it/incidents.rs starts.
const { defineConfig } = require("@playwright/test");

module.exports = defineConfig({
  testDir: process.env.STRANDLINE_FOLDER,
  outputDir: process.env.STRANDLINE_BROWSER_OUTPUT,
  workers: 2,
  fullyParallel: true,
  // Bounds on hanging, which a machine that does other things at the same time keeps too.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: "line",
  // Pictures lie beside the flows that compare them, whatever the system.
  snapshotPathTemplate: "{testDir}/pictures/{arg}{ext}",
  updateSnapshots: process.env.STRANDLINE_PICTURES === "keep" ? "all" : "none",
  use: {
    baseURL: process.env.STRANDLINE_URL,
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    launchOptions: { executablePath: process.env.STRANDLINE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
});
