// Times in the reader's zone, with UTC on hover. The server writes UTC, which is what stays without script.
import { parsed } from "./island.js";
import { showsUtc } from "./settings.js";

const WRITTEN = /^(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC$/;
const pad = (number) => String(number).padStart(2, "0");
const zoneName = (time) =>
  new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(time).find((part) => part.type === "timeZoneName").value;

export const instant = (time) => time.toISOString().replace(".000Z", "Z");

// A time as people read it, in the zone that they chose.
export const local = (time, withDate) => {
  if (showsUtc()) {
    const [date, clock] = time.toISOString().split(/[T.]/);
    return `${withDate ? `${date} ` : ""}${clock} UTC`;
  }
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(pad).join(":");
  const date = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} `;
  return `${withDate ? date : ""}${clock} ${zoneName(time)}`;
};

// Writes the times below an element in the zone that its reader chose.
export const localize = (root) => {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const utc = time.dataset.utc ?? time.textContent.trim();
    const [, date] = WRITTEN.exec(utc) ?? [];
    const at = new Date(time.dateTime);
    if (!WRITTEN.test(utc) || Number.isNaN(at.getTime())) continue;
    time.dataset.utc = utc;
    time.textContent = local(at, date !== undefined);
    if (!time.title) time.title = utc;
  }
};

parsed.then(() => localize(document));
document.addEventListener("zonechange", () => localize(document));
