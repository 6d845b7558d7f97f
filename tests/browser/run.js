// Shows each page at each width in a frame, lets axe-core look at it, and leaves what was found as the text of this document.
"use strict";

const frame = (html, width) =>
  new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.width = width;
    frame.height = 900;
    frame.srcdoc = html;
    frame.onload = () => resolve(frame);
    document.body.append(frame);
  });

const press = (window, key) => {
  const options = { key, bubbles: true, cancelable: true };
  window.document.activeElement.dispatchEvent(new window.KeyboardEvent("keydown", options));
};

// How many tab stops each chart has, before and after the arrow keys were pressed, and how many columns they reached.
const charts = (window) =>
  [...window.document.querySelectorAll("key-chart")].map((chart) => {
    const columns = [...chart.querySelectorAll("a")];
    const stops = () => columns.filter((column) => column.tabIndex >= 0);
    const before = stops().length;
    if (before === 0) return { columns: columns.length, before, after: 0, reached: 0 };
    stops()[0].focus();
    const reached = new Set();
    for (const key of ["Home", ...columns.map(() => "ArrowRight"), "ArrowLeft", "ArrowDown", "ArrowUp", "End"]) {
      press(window, key);
      reached.add(window.document.activeElement);
    }
    const left = [...reached].some((one) => !columns.includes(one));
    return { columns: columns.length, before, after: stops().length, reached: reached.size, left };
  });

const look = async ({ name, html }, width) => {
  const shown = await frame(html, width);
  const window = shown.contentWindow;
  const { violations } = await window.axe.run(window.document, { resultTypes: ["violations"] });
  const found = {
    name,
    width,
    violations: violations.map(({ id, impact, help, nodes }) => ({
      id,
      impact,
      help,
      count: nodes.length,
      first: nodes.slice(0, 3).map((node) => node.html),
    })),
    overflow: window.document.documentElement.scrollWidth - width,
    charts: charts(window),
  };
  shown.remove();
  return found;
};

window.onload = async () => {
  const found = [];
  for (const page of pages) {
    for (const width of [390, 1400]) found.push(await look(page, width));
  }
  document.documentElement.textContent = JSON.stringify(found);
};
