// The list of decisions of one policy within the range of time that is shown.
import { html } from "../../../chart/draw.js";
import { clock } from "./data.js";
import { state } from "./state.js";
import { shownDecisions } from "./time.js";

const mostRows = 400;

export function decisionList(scenario, moveTo) {
  const choices = scenario.policies.filter((p) => p.decisions.length > 0);
  if (choices.length === 0) return null;
  const select = html("select", { "aria-label": "Policy", onchange: list },
    ...choices.map((p) => html("option", { value: p.index }, p.name + " (" + p.decisions.length + ")")));
  const listed = choices.find((p) => p.index === state.listed) || choices.find((p) => p.own) || choices[0];
  select.value = String(listed.index);
  const body = html("tbody", {}), note = html("p", { class: "note" });
  function list() {
    state.listed = Number(select.value);
    const all = shownDecisions(scenario.policies[state.listed]).filter((d) => d.t >= state.range[0] && d.t <= state.range[1]);
    body.replaceChildren(...all.slice(0, mostRows).map((d) => html("tr", { onpointerenter: () => moveTo(d.t, false) },
      html("td", { class: "number" }, clock(d.t, true)), html("td", {}, scenario.policies[d.policy].variants[d.variant]),
      html("td", { class: "number" }, d.from + " → " + d.to), html("td", {}, d.why))));
    note.textContent = all.length > mostRows ? "and " + (all.length - mostRows) + " more: drag over the charts to choose a shorter time" : "";
  }
  list();
  const heads = ["Time, h:mm:ss", "Variant", "Replicas", "Reason"].map((h, i) => html("th", { scope: "col", class: i % 2 ? null : "number" }, h));
  return html("details", { class: "decisions", open: state.opened, ontoggle: (e) => { state.opened = e.target.open; } },
    html("summary", {}, "Every decision with its reason"),
    html("p", {}, select),
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Decisions" },
      html("table", {}, html("thead", {}, html("tr", {}, ...heads)), body)), note);
}
