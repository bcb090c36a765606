// What is said of the time before the memory of the manager, which a Prometheus may know.
import { duration, moment } from "./format.js";

// beforeSays are sentences; live is whether the source is a manager.
export function beforeSays(history, live) {
  const { before, begins, complete } = history, store = before && "Prometheus at " + before.source;
  const began = begins === null || complete ? "" : "History begins at " + moment(begins) + "; nothing is known of the time before.";
  if (before?.until) {
    return ["What is before " + moment(before.until) + " is from " + store + ", a value every " + duration(before.step)
      + ": replicas, load, ITL and cost. It holds no TTFT, no missed requests, and no decisions with their reasons.", began].filter(Boolean);
  }
  if (before?.pending) return [began, "Asking " + store + " for the time before…"].filter(Boolean);
  if (before?.trouble) return [began, store + " does not show the time before: " + before.trouble + "."].filter(Boolean);
  return began === "" ? [] : [began + (live && !before ? " wva dashboard --prometheus URL reads it from the Prometheus that scrapes the manager." : "")];
}
