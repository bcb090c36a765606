// The time that charts show: as wide as a button says, up to the last cycle, or a stretch that was chosen.
import { html, timeTicks } from "../../../chart/draw.js";
import { frameOf } from "../../../chart/panels.js";
import { clock, day, minutes, moment, offset } from "./format.js";

const spans = { "1h": 3600, "6h": 21600, "24h": 86400 };
const names = { "1h": "1 hour", "6h": "6 hours", "24h": "24 hours" };

// Times is what an address says: ?range=1h, or ?from=…&to=… for a stretch that stays.
export class Times {
  constructor(query) {
    const from = Number(query.get("from")), to = Number(query.get("to"));
    this.fixed = from > 0 && to > from ? [from, to] : null;
    this.span = query.get("range") in spans ? query.get("range") : "6h";
  }

  // range is what is shown of a fleet: of a history that is shorter all there is, two minutes at least. begins is
  // since when there is history where that is not the fleet's.
  range({ at, from }, begins) {
    return this.fixed || [Math.max(at - spans[this.span], Math.min(from ?? 0, begins ?? Infinity, at - 120)), at];
  }

  // wanted are the parameters of a question for that time; what follows the last cycle has no end.
  wanted({ at }) {
    return this.fixed ? { from: Math.floor(this.fixed[0]), to: Math.ceil(this.fixed[1]) } : { from: Math.floor(at - spans[this.span]), to: null };
  }
}

// choices are the buttons; open is called with the query of the one that was pressed.
export function choices(times, open) {
  const buttons = Object.keys(spans).map((span) => html("button", {
    type: "button", "aria-pressed": String(!times.fixed && times.span === span), onclick: () => open({ range: span }),
  }, names[span]));
  const text = times.fixed ? moment(times.fixed[0]) + " to " + clock(times.fixed[1]) : "";
  return html("div", { class: "spans", role: "group", "aria-label": "Time shown" }, ...buttons,
    text ? html("span", { class: "hint" }, text) : html("span", { class: "hint" }, "Drag over a chart to look closer"));
}

// clockFrame is a frame with the time of the day below.
export function clockFrame(width, range, lines) {
  return frameOf({
    width, range, names: lines,
    times: (n) => {
      const shift = offset(range[0]), { step, list } = timeTicks(range[0] + shift, range[1] + shift, n);
      return list.map((t) => ({ t: t - shift, text: t % 86400 === 0 ? day(t - shift) : step < 60 ? clock(t - shift) : minutes(t - shift) }));
    },
  });
}

// redrawn calls draw with the width of an element, now and whenever it changes; it returns what ends that.
export function redrawn(element, draw) {
  let width = 0;
  const observer = new ResizeObserver(() => {
    const now = Math.round(element.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    draw();
  });
  observer.observe(element);
  return () => observer.disconnect();
}
