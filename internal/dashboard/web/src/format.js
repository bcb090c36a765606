// How times, costs and counts are written.
import { absent, number } from "../../../chart/number.js";

const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minuteFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const costFormat = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const countFormat = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

// clock writes a time of the day, in the time zone of the browser.
export function clock(t) {
  return t === null || t === undefined ? absent : clockFormat.format(t * 1000);
}

export function minutes(t) {
  return minuteFormat.format(t * 1000);
}

export function day(t) {
  return dayFormat.format(t * 1000);
}

// moment writes a time with its day where that is not today.
export function moment(t) {
  if (t === null || t === undefined) return absent;
  return day(t) === day(Date.now() / 1000) ? clock(t) : day(t) + ", " + clock(t);
}

// offset is how far the clock of the browser is ahead of UTC at a time, in seconds.
export function offset(t) {
  return -new Date(t * 1000).getTimezoneOffset() * 60;
}

// duration writes seconds: 45 s, 3 min 10 s, 2 h 5 min, 3 d 4 h.
export function duration(s) {
  if (s === null || s === undefined) return absent;
  const whole = Math.max(0, Math.round(s));
  if (whole < 60) return whole + " s";
  const [big, size, small, part] = whole < 3600 ? ["min", 60, "s", 1] : whole < 86400 ? ["h", 3600, "min", 60] : ["d", 86400, "h", 3600];
  const rest = Math.floor(whole % size / part);
  return Math.floor(whole / size) + " " + big + (rest ? " " + rest + " " + small : "");
}

export function ago(s) {
  return s < 1 ? "now" : duration(s) + " ago";
}

export function cost(v) {
  return v === null || v === undefined ? absent : costFormat.format(v);
}

export function count(v) {
  return v === null || v === undefined ? absent : countFormat.format(v);
}

// some writes a count with its noun: 1 model, 3 models.
export function some(n, one, more) {
  return count(n) + " " + (n === 1 ? one : more);
}

// total adds up; what is not known is counted apart.
export function total(values) {
  let sum = 0, unknown = 0;
  for (const v of values) if (v === null || v === undefined) unknown++; else sum += v;
  return { sum, unknown, known: values.length - unknown };
}

// sumText writes a total: "–" where nothing of it is known, and a mark where a part is not.
export function sumText({ sum, unknown, known }, write = number) {
  if (known === 0 && unknown > 0) return absent;
  return write(sum) + (unknown > 0 ? " + ?" : "");
}
