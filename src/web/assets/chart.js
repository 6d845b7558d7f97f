// One tab stop for a chart: the arrow keys, Home and End move from column to column, Enter follows the column's link.
// Without this script the newest column is the tab stop, and the lists below the chart lead to other moments.
"use strict";

for (const chart of document.querySelectorAll("[data-chart]")) {
  const columns = [...chart.querySelectorAll("svg")].map((lane) => [...lane.querySelectorAll("a")]);
  const lanes = columns.filter((lane) => lane.length > 0);
  const start = (column) => Number(column.querySelector("rect").getAttribute("x"));
  const nearest = (lane, column) => {
    const distance = (one) => Math.abs(start(one) - start(column));
    return lane?.reduce((best, one) => (distance(one) < distance(best) ? one : best));
  };

  chart.addEventListener("keydown", (event) => {
    const column = event.target.closest("a");
    const row = lanes.findIndex((lane) => lane.includes(column));
    if (row < 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const lane = lanes[row];
    const place = lane.indexOf(column);
    const keys = {
      ArrowLeft: () => lane[place - 1],
      ArrowRight: () => lane[place + 1],
      ArrowUp: () => nearest(lanes[row - 1], column),
      ArrowDown: () => nearest(lanes[row + 1], column),
      Home: () => lane[0],
      End: () => lane[lane.length - 1],
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    const next = keys[event.key]();
    if (!next) return;
    column.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });

  // Whoever clicks into the chart goes on from there.
  chart.addEventListener("focusin", (event) => {
    for (const one of lanes.flat()) one.setAttribute("tabindex", one === event.target ? "0" : "-1");
  });
}
