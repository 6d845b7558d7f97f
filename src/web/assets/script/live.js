// A page without a time follows the stream of changes: when something in it may have changed, it is loaded again and
// patched in place. The badge in the header says whether that works.
import { Island, element } from "./island.js";
import { load, patch } from "./patch.js";
import { instant, local } from "./times.js";

// The least time between two looks at the page, and by how much more than it took the last one is waited for.
const PAUSE_MS = 1000;
const SHARE = 10;
// The least time between two looks because of changes that no event of the stream names.
const UNNAMED_MS = 10_000;
const RETRY_MS = [2000, 5000, 15_000];

class LiveBadge extends Island {
  start(signal) {
    if (!this.dataset.stream) return;
    this.word = this.querySelector("strong");
    this.clock = this.querySelector("time");
    // The server's clock, which need not be this machine's.
    this.ahead = Date.parse(this.clock.dateTime) - performance.now();
    this.looked = performance.now();
    this.button = element("button", { type: "button", class: "plain" }, "Pause");
    this.append(this.button);
    this.button.addEventListener("click", () => (this.paused ? this.resume() : this.pause("Paused")), { signal });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && !this.paused) this.pause("Paused", true);
      else if (!document.hidden && this.asleep) this.resume();
    }, { signal });
    signal.addEventListener("abort", () => this.close());
    this.stale = this.word.dataset.state === "stale";
    this.connected();
    this.open();
  }

  show(state, word) {
    this.word.dataset.state = state;
    if (this.word.textContent !== word) this.word.textContent = word;
    this.button.textContent = this.paused ? "Resume" : "Pause";
  }

  showTime(time) {
    this.clock.dateTime = instant(time);
    this.clock.dataset.utc = `${time.toISOString().slice(11, 19)} UTC`;
    this.clock.textContent = local(time, false);
  }

  // A browser opens few connections to one server: pages that nobody sees give theirs back.
  pause(word, asleep = false) {
    this.paused = true;
    this.asleep = asleep;
    this.close();
    this.show("paused", word);
  }

  resume() {
    this.paused = this.asleep = false;
    this.connected();
    this.look();
    this.open();
  }

  close() {
    this.source?.close();
    clearTimeout(this.retry);
    clearTimeout(this.waiting);
    this.waiting = undefined;
  }

  // Nothing is followed any more until somebody logs in, which leads back here.
  expire() {
    this.pause("Session expired");
    const to = encodeURIComponent(location.pathname + location.search);
    this.button.replaceWith(element("a", { href: `/login?to=${to}` }, "Log in"));
  }

  open() {
    this.close();
    if (this.paused) return;
    this.source = new EventSource(this.dataset.stream);
    this.source.addEventListener("open", () => this.connected());
    for (const name of ["enter", "health", "change", "leave"]) {
      this.source.addEventListener(name, () => this.lookSoon(PAUSE_MS));
    }
    this.source.addEventListener("bookmark", ({ lastEventId }) => {
      this.connected();
      if (lastEventId !== this.seen) this.lookSoon(UNNAMED_MS);
      this.seen = lastEventId;
    });
    this.source.addEventListener("reset", () => this.look().then(() => this.open()));
    this.source.addEventListener("error", () => this.disconnected());
  }

  // A page that loads says nothing of its stream, which may be refused each time.
  connected(failures = 0) {
    if (this.paused) return;
    this.failures = failures;
    this.lost = undefined;
    if (this.stale) this.show("stale", "Not recording");
    else this.show("live", "Live");
    this.showTime(new Date(this.ahead + performance.now()));
  }

  disconnected() {
    if (this.paused) return;
    this.lost ??= new Date(this.ahead + performance.now());
    this.show("disconnected", "Disconnected since");
    this.showTime(this.lost);
    // After an answer that is no stream the browser does not try again by itself.
    if (this.source.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.look().then(() => this.open()), RETRY_MS[this.failures] ?? 60_000);
    this.failures += 1;
  }

  lookSoon(pause) {
    if (this.looking) {
      this.again = true;
      return;
    }
    const due = this.looked + Math.max(pause, this.took * SHARE || 0) - performance.now();
    if (this.waiting && this.due <= performance.now() + due) return;
    clearTimeout(this.waiting);
    this.due = performance.now() + Math.max(due, 0);
    this.waiting = setTimeout(() => this.look(), Math.max(due, 0));
  }

  // Loads the page again and brings what is shown up to date.
  async look() {
    clearTimeout(this.waiting);
    this.waiting = undefined;
    if (this.looking) return this.looking;
    this.looking = this.update().catch(({ message }) => (message === "401" ? this.expire() : this.disconnected()));
    await this.looking;
    this.looking = undefined;
    if (this.again) this.lookSoon(PAUSE_MS);
    this.again = false;
  }

  async update() {
    const began = performance.now();
    const page = await load(location.href);
    for (const part of document.querySelectorAll("[data-live]")) {
      const wanted = page.getElementById(part.id);
      if (wanted) patch(part, wanted);
    }
    document.title = page.title;
    const badge = page.querySelector("live-badge");
    if (badge?.dataset.stream) this.dataset.stream = badge.dataset.stream;
    const time = Date.parse(badge?.querySelector("time")?.dateTime);
    if (time) this.ahead = time - performance.now();
    this.stale = badge?.querySelector("strong")?.dataset.state === "stale";
    this.connected(this.failures);
    this.looked = performance.now();
    this.took = this.looked - began;
    document.dispatchEvent(new Event("pageupdate"));
  }
}

customElements.define("live-badge", LiveBadge);
