// Brings a page up to date in place: what is equal stays as it is, and with it focus, scroll, selection and open details.
import { localize } from "./times.js";

// How long what has changed is marked.
const MARKED_MS = 2000;

// Another state of a page, as a document. The browser parses it here, so no text of ours becomes HTML.
export const load = (address) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = 60_000;
    request.onload = () => {
      if (request.status !== 200 || !request.response) return reject(new Error(request.status));
      localize(request.response);
      resolve(request.response);
    };
    request.onerror = request.ontimeout = () => reject(new Error("no answer"));
    request.send();
  });

// What makes a node the same one in both states: its id, or of a row in a list the first link that it has.
const keyOf = (node) => {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  if (node.id) return `#${node.id}`;
  if (node.dataset?.key) return node.dataset.key;
  return /^(TR|LI)$/.test(node.tagName) ? (node.querySelector("a[href]")?.getAttribute("href") ?? null) : null;
};

const alike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;

// Ages grow all the time; that is no change worth a mark.
const mark = (node) => {
  const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
  if (!element || element.closest("time, .age, [data-quiet]")) return;
  const shown = element.closest("tr, li, dd, .card, .tile, .row") ?? element;
  shown.classList.add("changed");
  setTimeout(() => {
    shown.classList.remove("changed");
    if (!shown.classList.length) shown.removeAttribute("class");
  }, MARKED_MS);
};

export const patchAttributes = (old, wanted) => {
  const skipped = (name) => (name === "open" && old.tagName === "DETAILS") || (name === "tabindex" && old.closest("key-chart"));
  const marked = old.classList.contains("changed");
  for (const { name, value } of [...wanted.attributes]) {
    if (!skipped(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!skipped(name) && !wanted.hasAttribute(name)) old.removeAttribute(name);
  }
  if (marked) old.classList.add("changed");
};

const place = (parent, node, before) =>
  parent.moveBefore && node.isConnected ? parent.moveBefore(node, before) : parent.insertBefore(node, before);

export const patchChildren = (old, wanted) => {
  const wantedKeys = new Set([...wanted.childNodes].map(keyOf).filter(Boolean));
  const keyed = new Map();
  for (const child of [...old.childNodes]) {
    const key = keyOf(child);
    if (!key) continue;
    if (wantedKeys.has(key) && !keyed.has(key)) keyed.set(key, child);
    else child.remove();
  }
  let next = old.firstChild;
  for (const child of [...wanted.childNodes]) {
    const key = keyOf(child);
    let match = key ? keyed.get(key) : next;
    while (!key && match && (keyOf(match) || !alike(match, child))) match = match.nextSibling;
    keyed.delete(key);
    if (!match || !alike(match, child)) {
      const added = document.importNode(child, true);
      old.insertBefore(added, next);
      if (added.nodeType === Node.ELEMENT_NODE) mark(added);
      continue;
    }
    if (match === next) next = next.nextSibling;
    else place(old, match, next);
    patch(match, child);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
};

// Makes a node what is wanted of it. An island that knows better does it by its method `patch`.
export const patch = (old, wanted) => {
  if (old.isEqualNode(wanted)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = wanted.data;
    mark(old);
  } else if (old.patch) {
    old.patch(wanted);
  } else {
    patchAttributes(old, wanted);
    patchChildren(old, wanted);
  }
};
