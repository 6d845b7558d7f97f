// What a reader chose by hand, kept in this browser: light or dark, and in which zone times are shown.
import { Island } from "./island.js";

const read = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // Storage is off: nothing was chosen.
  }
};

const write = (name, value) => {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // It holds for this page only.
  }
};

export const showsUtc = () => read("zone") === "utc";

const applyTheme = (theme) => {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
};

applyTheme(read("theme"));

class ViewSettings extends Island {
  start(signal) {
    this.hidden = false;
    for (const select of this.querySelectorAll("select")) {
      const stored = read(select.name) ?? "";
      if ([...select.options].some((option) => option.value === stored)) select.value = stored;
      select.addEventListener("change", () => this.choose(select), { signal });
    }
    const menu = this.querySelector("details");
    document.addEventListener("click", (event) => this.contains(event.target) || (menu.open = false), { signal });
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    }, { signal });
  }

  choose({ name, value }) {
    write(name, value);
    if (name === "theme") applyTheme(value);
    else document.dispatchEvent(new Event("zonechange"));
  }
}

customElements.define("view-settings", ViewSettings);
