// Times in the reader's zone, with UTC on hover. The server writes UTC, which is what stays without script.
import { showsUtc } from "./settings.js";

const WRITTEN = /^(\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d) UTC$/;
const pad = (number) => String(number).padStart(2, "0");
const zoneName = (time) =>
  new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(time).find((part) => part.type === "timeZoneName").value;

// A time as people read it, in the zone that they chose.
export const local = (time, withDate) => {
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(pad).join(":");
  const date = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} `;
  return `${withDate ? date : ""}${clock} ${zoneName(time)}`;
};

// Writes the times below an element in the reader's zone, or again in UTC.
export const localize = (root) => {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const utc = time.dataset.utc ?? time.textContent.trim();
    const [, date] = WRITTEN.exec(utc) ?? [];
    const instant = new Date(time.dateTime);
    if (!WRITTEN.test(utc) || Number.isNaN(instant.getTime())) continue;
    if (showsUtc()) {
      if (time.dataset.utc) time.textContent = utc;
    } else {
      time.dataset.utc = utc;
      time.textContent = local(instant, date !== undefined);
      if (!time.title) time.title = utc;
    }
  }
};

document.addEventListener("DOMContentLoaded", () => localize(document));
document.addEventListener("zonechange", () => localize(document));
