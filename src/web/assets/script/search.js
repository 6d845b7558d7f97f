// The field of the header: a key leads to it, and what suggests matches is loaded when it is used first.
import { isCommand } from "./island.js";

addEventListener("keydown", (event) => {
  const isAsked = event.key === "/" ? isCommand(event) : event.key === "k" && (event.ctrlKey || event.metaKey);
  if (!isAsked) return;
  event.preventDefault();
  document.querySelector("search-box input")?.focus();
});

addEventListener("focusin", ({ target }) => {
  const box = target.closest("search-box");
  if (box) import(box.dataset.script);
});
