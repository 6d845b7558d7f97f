// Islands: custom elements that make a part of a page more comfortable. Each page works without them.

// When all of the page is there.
export const parsed = new Promise((resolve) => {
  if (document.readyState !== "loading") resolve();
  else document.addEventListener("DOMContentLoaded", resolve, { once: true });
});

// The base of every island. The script may run before the page is read, so `start` is called when all of it is there;
// listeners that take `signal` end when the element leaves the page.
export class Island extends HTMLElement {
  async connectedCallback() {
    await parsed;
    if (!this.isConnected || this.leaving) return;
    this.leaving = new AbortController();
    this.start(this.leaving.signal);
  }

  disconnectedCallback() {
    this.leaving?.abort();
    this.leaving = undefined;
  }
}

// Whether a key is for us: without modifiers, and not typed into a field.
export const isCommand = (event) =>
  !(event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) &&
  !event.target.closest?.("input, select, textarea, [contenteditable]");

// An element with attributes and children; text stays text.
export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
