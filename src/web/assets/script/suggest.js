// Matches below the search field as one types. A module of its own, loaded when the field is used first: what it shows is the
// page of results, read as a document, so that there is one way of finding and of showing.
const PAUSE_MS = 120;

const page = (address, signal) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = 10_000;
    request.onload = () => (request.status === 200 ? resolve(request.response) : reject(new Error(request.status)));
    request.onerror = request.ontimeout = () => reject(new Error("no answer"));
    signal.addEventListener("abort", () => request.abort());
    request.send();
  });

const made = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

class Suggestions {
  constructor(box) {
    this.field = box.querySelector("input");
    this.form = this.field.form;
    this.list = made("div", { id: "matches", role: "listbox", "aria-label": "Matches" });
    this.status = made("p", { class: "quiet small", role: "status" });
    this.panel = made("div", { class: "matches", hidden: "" }, this.list, this.status);
    box.append(this.panel);
    for (const [name, value] of Object.entries({
      role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "matches",
    })) this.field.setAttribute(name, value);
    this.field.addEventListener("input", () => this.ask(PAUSE_MS));
    this.field.addEventListener("focus", () => this.ask(0));
    this.field.addEventListener("keydown", (event) => this.press(event));
    box.addEventListener("focusout", ({ relatedTarget }) => box.contains(relatedTarget) || this.close());
    // A click on a match would else take the focus from the field, and close the list before it is one.
    this.panel.addEventListener("mousedown", (event) => event.preventDefault());
    if (this.field.value && document.activeElement === this.field) this.ask(0);
  }

  get options() {
    return [...this.list.querySelectorAll("[role=option]")];
  }

  get active() {
    return this.list.querySelector("[aria-selected=true]");
  }

  // Only the answer to what stands in the field is shown.
  ask(pause) {
    clearTimeout(this.waiting);
    this.asking?.abort();
    if (!this.field.value.trim()) return this.close();
    this.waiting = setTimeout(async () => {
      this.asking = new AbortController();
      const { signal } = this.asking;
      try {
        const answer = await page(`${this.form.action}?${new URLSearchParams(new FormData(this.form))}`, signal);
        if (!signal.aborted) this.show(answer);
      } catch {
        if (!signal.aborted) this.close();
      }
    }, pause);
  }

  show(answer) {
    const groups = [...answer.querySelectorAll(".found")].map((section, place) => {
      const heading = made("p", { id: `matches-${place}`, role: "presentation" }, section.querySelector("h2").textContent);
      const options = [...section.querySelectorAll("li")].map((item, number) => {
        const link = item.querySelector("a");
        const content = document.importNode(item, true);
        content.querySelector("a").replaceWith(made("b", {}, link.textContent));
        return made("a", {
          id: `match-${place}-${number}`, role: "option", "aria-selected": "false", tabindex: "-1",
          href: link.getAttribute("href"), class: item.className,
        }, ...content.childNodes);
      });
      return made("div", { role: "group", "aria-labelledby": heading.id }, heading, ...options);
    });
    const none = answer.querySelector("main .empty, main .wrong");
    // Who chose a match of an earlier answer has it still, wherever it stands now.
    const chosen = this.active?.getAttribute("href");
    this.list.replaceChildren(...groups);
    const count = this.options.length;
    this.choose(chosen && this.options.find((option) => option.getAttribute("href") === chosen));
    this.list.hidden = !count;
    this.panel.hidden = !(count || none) || document.activeElement !== this.field;
    this.field.setAttribute("aria-expanded", String(count > 0 && !this.panel.hidden));
    const counted = `${count} ${count === 1 ? "match" : "matches"}; Enter shows the page of all`;
    this.status.textContent = count ? counted : (none?.textContent ?? "");
  }

  close() {
    clearTimeout(this.waiting);
    this.asking?.abort();
    this.panel.hidden = true;
    this.choose(undefined);
    this.status.textContent = "";
    this.field.setAttribute("aria-expanded", "false");
  }

  choose(option) {
    this.active?.setAttribute("aria-selected", "false");
    if (!option) return this.field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", option.id);
  }

  press(event) {
    if (event.isComposing) return;
    const { options, active } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !this.panel.hidden && options.length) {
      event.preventDefault();
      // Beyond both ends is the field itself.
      const next = options.indexOf(active) + step + (active || step > 0 ? 0 : options.length + 1);
      this.choose(options[next]);
    } else if (step === 1) {
      this.ask(0);
    } else if (event.key === "Enter" && active) {
      event.preventDefault();
      active.click();
    } else if (event.key === "Escape" && !this.panel.hidden) {
      event.preventDefault();
      this.close();
    }
  }
}

for (const box of document.querySelectorAll("search-box")) new Suggestions(box);
