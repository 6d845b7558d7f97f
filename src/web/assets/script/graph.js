// A drawing that is moved by dragging, zoomed by buttons, Ctrl with the wheel, + and -, and walked through by the arrow
// keys from box to box with one tab stop. Without script it scrolls, and every box is a tab stop.
import { Island, element, isCommand } from "./island.js";

const SMALLEST = 0.2;
const LARGEST = 3;

class PanZoom extends Island {
  start(signal) {
    this.figure = this.querySelector("svg");
    if (!this.figure) return;
    this.whole = { width: Number(this.figure.getAttribute("width")), height: Number(this.figure.getAttribute("height")) };
    this.scale = 1;
    const button = (label, text, act) => {
      const made = element("button", { type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", act);
      return made;
    };
    this.tools = element("div", { class: "tools" },
      button("Zoom out", "−", () => this.zoom(this.scale / 1.25)),
      button("Zoom in", "+", () => this.zoom(this.scale * 1.25)),
      button("Actual size", "1:1", () => this.zoom(1)),
      button("Fit", "Fit", () => this.fit()));
    if (!this.querySelector(".tools")) this.prepend(this.tools);
    this.addEventListener("wheel", (event) => this.wheel(event), { signal, passive: false });
    this.addEventListener("keydown", (event) => this.key(event), { signal });
    this.addEventListener("pointerdown", (event) => this.drag(event), { signal });
    this.addEventListener("focusin", (event) => this.stopAt(event.target.closest("a.cell")), { signal });
    // A link that was only dragged is not followed.
    this.addEventListener("click", (event) => { if (this.dragged) event.preventDefault(); }, { signal, capture: true });
    this.stopAt(this.cells()[0]);
  }

  // Patched in place on live pages: the boxes are new, how they are looked at stays.
  patch(wanted) {
    const figure = wanted.querySelector("svg");
    if (!figure || !this.figure || figure.outerHTML === this.source) return;
    this.source = figure.outerHTML;
    const held = this.figure.querySelector("a.cell:focus")?.getAttribute("href");
    this.whole = { width: Number(figure.getAttribute("width")), height: Number(figure.getAttribute("height")) };
    this.figure.setAttribute("viewBox", figure.getAttribute("viewBox"));
    this.figure.replaceChildren(...figure.childNodes);
    this.zoom(this.scale);
    const cells = this.cells();
    const again = cells.find((cell) => cell.getAttribute("href") === held);
    this.stopAt(again ?? cells[0]);
    again?.focus({ preventScroll: true });
  }

  cells() {
    return [...this.figure.querySelectorAll("a.cell")];
  }

  stopAt(cell) {
    if (!cell) return;
    for (const one of this.cells()) one.setAttribute("tabindex", one === cell ? "0" : "-1");
  }

  zoom(scale, x = this.clientWidth / 2, y = this.clientHeight / 2) {
    const wanted = Math.min(LARGEST, Math.max(SMALLEST, scale));
    const [left, top] = [(this.scrollLeft + x) / this.scale, (this.scrollTop + y) / this.scale];
    this.scale = wanted;
    this.figure.setAttribute("width", Math.round(this.whole.width * wanted));
    this.figure.setAttribute("height", Math.round(this.whole.height * wanted));
    this.scrollTo(left * wanted - x, top * wanted - y);
  }

  fit() {
    this.zoom(Math.min(1, (this.clientWidth - 20) / this.whole.width));
    this.scrollTo(0, 0);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = this.getBoundingClientRect();
    this.zoom(this.scale * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }

  drag(event) {
    this.dragged = false;
    if (event.button !== 0 || event.pointerType === "touch" || event.target.closest("button")) return;
    const from = { x: event.clientX, y: event.clientY, left: this.scrollLeft, top: this.scrollTop };
    const until = new AbortController();
    const move = (moved) => {
      const [x, y] = [moved.clientX - from.x, moved.clientY - from.y];
      if (Math.abs(x) + Math.abs(y) > 5) this.dragged = true;
      if (this.dragged) this.scrollTo(from.left - x, from.top - y);
    };
    window.addEventListener("pointermove", move, { signal: until.signal });
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => until.abort(), { signal: until.signal });
    // Links and pictures are dragged as such otherwise.
    this.addEventListener("dragstart", (start) => start.preventDefault(), { signal: until.signal });
  }

  key(event) {
    if (!isCommand(event)) return;
    const zooms = { "+": 1.25, "=": 1.25, "-": 0.8 };
    if (Object.hasOwn(zooms, event.key)) {
      event.preventDefault();
      this.zoom(this.scale * zooms[event.key]);
      return;
    }
    const cell = event.target.closest?.("a.cell");
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!cell || !Object.hasOwn(ways, event.key)) return;
    event.preventDefault();
    const next = this.nearest(cell, ways[event.key]);
    if (!next) return;
    this.stopAt(next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // The nearest box in a direction; what is beside that direction counts as further away.
  nearest(cell, [right, down]) {
    const middle = (one) => {
      const body = one.querySelector(".body");
      const [x, y, height] = ["x", "y", "height"].map((name) => Number(body.getAttribute(name)));
      return [x, y + height / 2];
    };
    const [x, y] = middle(cell);
    let best;
    for (const one of this.cells()) {
      const [otherX, otherY] = middle(one);
      const ahead = (otherX - x) * right + (otherY - y) * down;
      const beside = Math.abs((otherX - x) * down) + Math.abs((otherY - y) * right);
      if (ahead <= 1) continue;
      const distance = ahead + 2 * beside;
      if (!best || distance < best.distance) best = { one, distance };
    }
    return best?.one;
  }
}

customElements.define("pan-zoom", PanZoom);
