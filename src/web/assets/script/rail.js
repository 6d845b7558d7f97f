// The time rail: click for a time, drag for a span, arrow keys from part to part with Shift for a span, and j and k for the
// change before and after. Without script each part of it is a link.
import { Island, element, isCommand } from "./island.js";
import { patchAttributes, patchChildren } from "./patch.js";
import { showsUtc } from "./settings.js";
import { instant, local } from "./times.js";

const SVG = "http://www.w3.org/2000/svg";
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const STEPS = [1, 5, 10, 30, 60, 180, 360, 720, 1440, 2880, 7200, 14_400, 43_200, 86_400].map((minutes) => minutes * MINUTE);

// Less than so many pixels is a click.
const DRAGGED = 5;

const duration = (ms) => {
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 1) return `${Math.round(ms / 1000)}s`;
  const parts = [[Math.floor(minutes / 1440), "d"], [Math.floor(minutes / 60) % 24, "h"], [minutes % 60, "m"]];
  return parts.filter(([count]) => count).map(([count, unit]) => `${count}${unit}`).slice(0, 2).join("");
};

class TimeRail extends Island {
  start(signal) {
    const on = (target, name, act) => target.addEventListener(name, act, { signal });
    this.choices();
    this.label();
    on(document, "zonechange", () => this.label());
    on(document, "keydown", (event) => this.command(event));
    on(document, "click", (event) => {
      const picker = this.querySelector(".picker");
      if (picker?.open && !picker.contains(event.target) && !picker.querySelector("[aria-invalid]")) picker.open = false;
    });
    on(this, "click", (event) => this.click(event));
    on(this, "keydown", (event) => this.key(event));
    on(this, "pointerdown", (event) => this.press(event));
    on(this, "pointermove", (event) => this.drag(event));
    on(this, "pointerup", () => this.release());
    on(this, "pointercancel", () => this.clear());
    on(this, "mousedown", (event) => event.target.closest("svg.rail") && event.preventDefault());
    on(this, "dragstart", (event) => event.preventDefault());
  }

  get rail() {
    return this.querySelector("svg.rail");
  }

  get window() {
    return [this.dataset.since, this.dataset.until].map((time) => Date.parse(time));
  }

  // A live page's new state; what a reader is doing here goes on.
  patch(wanted) {
    if (this.pressed || this.chosen) return;
    patchAttributes(this, wanted);
    for (const name of ["nav.spans", ".choices > .steps", ".picker .steps", "svg.rail"]) {
      const [own, other] = [this.querySelector(name), wanted.querySelector(name)];
      if (own && other && !own.closest(".picker[open]")) patchChildren(own, other);
    }
    this.label();
  }

  timeAt(x) {
    const { left, width } = this.rail.getBoundingClientRect();
    const [since, until] = this.window;
    const share = Math.min(1, Math.max(0, (x - left) / width));
    // To the second: nobody points more exactly.
    return Math.round((since + share * (until - since)) / 1000) * 1000;
  }

  placeOf(time) {
    const [since, until] = this.window;
    return ((time - since) * 100) / (until - since);
  }

  // Hours and days of the reader's zone.
  label() {
    if (!this.rail) return;
    const [since, until] = this.window;
    const step = STEPS.find((one) => (until - since) / one <= 8) ?? STEPS[STEPS.length - 1];
    const offset = (time) => (showsUtc() ? 0 : new Date(time).getTimezoneOffset() * -MINUTE);
    const ticks = this.rail.querySelector(".ticks");
    const labels = [];
    for (let wall = Math.ceil((since + offset(since)) / step) * step; ; wall += step) {
      const time = wall - offset(wall - offset(since));
      if (time >= until) break;
      const place = this.placeOf(time);
      if (place < 2 || place > 98) continue;
      const day = step >= DAY || wall % DAY === 0;
      const text = document.createElementNS(SVG, "text");
      text.setAttribute("x", `${place}%`);
      text.setAttribute("y", "64");
      const style = day ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
      text.textContent = new Intl.DateTimeFormat("en-GB", { ...style, timeZone: "UTC" }).format(wall);
      labels.push(text);
    }
    ticks.replaceChildren(...labels);
  }

  // Date and time by hand, in a zone.
  choices() {
    const part = this.querySelector(".by-hand");
    if (!part) return;
    const [when, zone] = [part.querySelector("input"), part.querySelector("select")];
    const field = this.querySelector("input[name=at]");
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    zone.append(...[...new Set([own, "UTC"])].map((name) => element("option", { value: name }, name)));
    zone.value = showsUtc() ? "UTC" : own;
    zone.disabled = part.hidden = false;
    when.addEventListener("input", () => (field.value = when.value.replace("T", " ")));
  }

  command(event) {
    if (!isCommand(event)) return;
    if (event.key === "Escape" && this.chosen) this.clear();
    const link = /^[jk]$/.test(event.key) && this.querySelector(`[data-step="${event.key}"]`);
    if (link) link.click();
  }

  click(event) {
    const part = event.target.closest(".stops a");
    if (!part || event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    // A click chooses the time under it, and not only the end of the part.
    event.preventDefault();
    if (!this.dragged) location.assign(this.dataset.at.replace("{at}", instant(new Date(this.timeAt(event.clientX)))));
    this.dragged = false;
  }

  press(event) {
    if (event.button !== 0 || !event.target.closest("svg.rail")) return;
    this.clear();
    this.pressed = event.clientX;
    this.dragged = false;
  }

  drag(event) {
    if (this.pressed === undefined) return;
    if (!this.dragged && Math.abs(event.clientX - this.pressed) < DRAGGED) return;
    if (!this.dragged) this.setPointerCapture(event.pointerId);
    this.dragged = true;
    this.choose(this.timeAt(this.pressed), this.timeAt(event.clientX));
  }

  release() {
    if (this.pressed === undefined) return;
    this.pressed = undefined;
    if (this.dragged && this.chosen) this.offer();
    // The click that ends a drag may never come.
    setTimeout(() => (this.dragged = false));
  }

  choose(one, other) {
    this.chosen = [Math.min(one, other), Math.max(one, other)];
    let shown = this.rail.querySelector(".chosen");
    if (!shown) {
      shown = document.createElementNS(SVG, "rect");
      for (const [name, value] of [["class", "chosen"], ["y", "10"], ["height", "42"]]) shown.setAttribute(name, value);
      this.rail.append(shown);
    }
    const [from, to] = this.chosen.map((time) => this.placeOf(time));
    shown.setAttribute("x", `${from}%`);
    shown.setAttribute("width", `${to - from}%`);
  }

  // What can be done with a span.
  offer() {
    this.querySelector(".rail-actions")?.remove();
    const [from, to] = this.chosen.map((time) => new Date(time));
    const date = to - from >= DAY || from.toDateString() !== to.toDateString();
    const link = (template, text) => {
      const [since, until] = [from, to].map(instant);
      return template ? [element("a", { href: template.replace("{from}", since).replace("{to}", until) }, text)] : [];
    };
    const close = element("button", { type: "button", class: "plain", "aria-label": "Clear the span" }, "✕");
    close.addEventListener("click", () => this.clear());
    const { changes, compare, zoom } = this.dataset;
    const words = `${local(from, date)} to ${local(to, date)}, ${duration(to - from)}`;
    const links = [link(changes, "Changes in it"), link(compare, "Compare its ends"), link(zoom, "Zoom in")].flat();
    this.append(element("div", { class: "rail-actions", role: "status" }, element("b", {}, words), ...links, close));
  }

  clear() {
    this.pressed = this.chosen = this.anchor = undefined;
    this.querySelector(".chosen")?.remove();
    this.querySelector(".rail-actions")?.remove();
  }

  // One tab stop: arrows move within a row, up and down between the parts and the marks.
  key(event) {
    const link = event.target.closest?.("svg.rail a");
    if (!link || event.altKey || event.ctrlKey || event.metaKey) return;
    const rows = [this.rail.querySelectorAll(".mark"), this.rail.querySelectorAll(".stops a")].map((row) => [...row]);
    const row = rows.find((one) => one.includes(link));
    const place = row.indexOf(link);
    const x = (one) => one.getBoundingClientRect().x;
    const nearest = (others) => others.reduce((best, one) => (!best || Math.abs(x(one) - x(link)) < Math.abs(x(best) - x(link)) ? one : best), null);
    const keys = {
      ArrowLeft: () => row[place - 1],
      ArrowRight: () => row[place + 1],
      ArrowUp: () => nearest(rows[0]),
      ArrowDown: () => nearest(rows[1]),
      Home: () => row[0],
      End: () => row[row.length - 1],
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    const next = keys[event.key]();
    if (!next) return;
    link.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    const time = (one) => {
      const { x: left, width } = one.getBoundingClientRect();
      return this.timeAt(left + width);
    };
    if (!event.shiftKey) return this.chosen && this.clear();
    this.anchor ??= time(link);
    this.choose(this.anchor, time(next));
    this.offer();
  }
}

customElements.define("time-rail", TimeRail);
