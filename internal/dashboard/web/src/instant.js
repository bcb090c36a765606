// What is known of a model at one instant: the box at the cursor.
import { html } from "../../../chart/draw.js";
import { latency, number, percent } from "../../../chart/number.js";
import { held, nearest } from "../../../chart/series.js";
import { cost, moment } from "./format.js";
import { replicas } from "./measures.js";

// nearDecisions returns the decisions within some seconds of t, the nearest first.
export function nearDecisions(history, t, reach) {
  if (!history) return [];
  return history.decisions.filter((d) => Math.abs(d.t - t) <= reach).sort((a, b) => Math.abs(a.t - t) - Math.abs(b.t - t));
}

export function momentOf(history, variant, t, decisions) {
  const at = (v) => nearest({ t: history.t, v }, t), count = (v) => number(held({ t: history.t, v }, t)), r = replicas(history, variant);
  const rows = [
    ["load", number(at(history.load)) + " requests/s"], ["TTFT", latency(at(history.ttft))], ["ITL", latency(at(history.itl))], ["missed", percent(at(history.missed))],
    ["replicas", count(r.ready) + " Ready of " + count(r.desired) + " desired" + (held({ t: history.t, v: r.draining }, t) > 0 ? ", " + count(r.draining) + " draining" : "")],
    ["cost per hour", cost(held({ t: history.t, v: history.cost }, t))],
  ];
  const most = 3;
  return [
    html("p", {}, html("b", {}, moment(t)), history.before?.until && t < history.before.until ? " from Prometheus" : ""),
    html("table", {}, html("tbody", {}, ...rows.map(([term, value]) => html("tr", {}, html("th", { scope: "row" }, term), html("td", {}, value))))),
    ...decisions.slice(0, most).map((d) => html("p", { class: "why" }, html("b", {}, d.name + " " + d.from + " → " + d.to), " " + moment(d.t) + ". " + d.sentence)),
    decisions.length > most ? html("p", { class: "why" }, "and " + (decisions.length - most) + " more here") : null,
  ];
}
