// One tab stop for a chart: the arrow keys, Home and End move from column to column, Enter follows the column's link.
// Without script the newest column is the tab stop, and the lists below the chart lead to other moments.
import { Island } from "./island.js";

const start = (column) => Number(column.querySelector("rect").getAttribute("x"));
const nearest = (lane, column) => {
  const distance = (one) => Math.abs(start(one) - start(column));
  return lane?.reduce((best, one) => (distance(one) < distance(best) ? one : best));
};

class KeyChart extends Island {
  // Looked up each time: a live page may have changed them.
  lanes() {
    const columns = [...this.querySelectorAll("svg")].map((lane) => [...lane.querySelectorAll("a")]);
    return columns.filter((lane) => lane.length > 0);
  }

  start(signal) {
    this.addEventListener("keydown", (event) => this.move(event), { signal });
    // Whoever clicks into the chart goes on from there.
    this.addEventListener("focusin", (event) => this.stopAt(event.target.closest("a")), { signal });
  }

  stopAt(column) {
    if (!column) return;
    for (const one of this.lanes().flat()) one.setAttribute("tabindex", one === column ? "0" : "-1");
  }

  move(event) {
    const lanes = this.lanes();
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
    this.stopAt(next);
    next.focus();
  }
}

customElements.define("key-chart", KeyChart);
