// What is known of one instant.
import { html } from "../../../chart/draw.js";
import { latency, number } from "../../../chart/number.js";
import { held, nearest } from "../../../chart/series.js";
import { clock, look } from "./data.js";
import { drawnPolicies, replicasOf, shownDecisions } from "./time.js";

// nearDecisions returns the decisions of the policies that are drawn within some
// seconds of t, the nearest first.
function nearDecisions(scenario, t, reach) {
  return drawnPolicies(scenario)
    .flatMap((p) => shownDecisions(p).filter((d) => Math.abs(d.t - t) <= reach))
    .sort((a, b) => Math.abs(a.t - t) - Math.abs(b.t - t));
}

// moment is what is known of one instant: a table, and the decisions near it.
export function moment(scenario, t, reach) {
  const decisions = nearDecisions(scenario, t, reach);
  const policies = drawnPolicies(scenario);
  const head = html("tr", {}, html("th", {}), ...["replicas", "TTFT", "ITL", "queue"].map((h) => html("th", { class: "number" }, h)));
  const rows = policies.map((p) => html("tr", {}, html("th", { class: look(p) }, p.name),
    ...[number(replicasOf(p) ? held(replicasOf(p), t) : null), latency(nearest(p.ttft, t)), latency(nearest(p.itl, t)), number(nearest(p.queued, t))]
      .map((v) => html("td", { class: "number" }, v))));
  const most = 3;
  const why = decisions.slice(0, most).map((d) => html("p", { class: "why" },
    html("span", { class: "who " + look(scenario.policies[d.policy]) }, scenario.policies[d.policy].name),
    " " + clock(d.t, true) + ", " + change(scenario, d) + ". " + d.why));
  if (decisions.length > most) why.push(html("p", { class: "why" }, "and " + (decisions.length - most) + " more here: drag over the charts to look closer"));
  return [
    html("p", {}, html("b", {}, clock(t, true)), " h, " + number(nearest(scenario.offered, t)) + " requests/s"),
    html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)),
    ...why,
  ];
}

// change says what a decision does: "variant a 2 → 3".
function change(scenario, d) {
  const variants = scenario.policies[d.policy].variants;
  return (variants.length > 1 ? variants[d.variant] + " " : "") + d.from + " → " + d.to;
}
