// The page, and what changes what it shows.
import { html, svg } from "../../../chart/draw.js";
import { absent, number, percent } from "../../../chart/number.js";
import { timeline } from "../../../chart/timeline.js";
import { hideTip } from "../../../chart/tip.js";
import { look, scenarios, stroke } from "./data.js";
import { decisionList } from "./decisions.js";
import { moment } from "./moment.js";
import { scatter } from "./scatter.js";
import { state } from "./state.js";
import { drawnPolicies, frameFor, panelsOf, shownDecisions } from "./time.js";

const sections = [...document.querySelectorAll(".scenario")];
let time = null;

for (const s of scenarios) {
  // This project's own come first, so that they have the same colours everywhere.
  for (const own of [true, false]) for (const p of s.policies) if (p.drawn && p.own === own) p.slot = freeSlot(s);
}

// freeSlot is the first colour that no policy of the scenario has.
function freeSlot(scenario) {
  for (let slot = 0; ; slot++) if (!scenario.policies.some((p) => p.slot === slot)) return slot;
}

function toggle(policy) {
  policy.slot = policy.slot < 0 ? freeSlot(scenarios[state.scenario]) : -1;
  render();
}

function choose(index) {
  const range = [0, Math.max(1, scenarios[index].end)];
  Object.assign(state, { scenario: index, range, variant: "", listed: -1 });
  sections.forEach((s, i) => { s.hidden = i !== index; });
  document.querySelectorAll("#scenarios button").forEach((b, i) => {
    if (i === index) b.setAttribute("aria-current", "true"); else b.removeAttribute("aria-current");
  });
  render();
}

// zoom shows a range of time, with the cursor at a time of it where one is given.
function zoom(from, to, cursor) {
  const end = Math.max(1, scenarios[state.scenario].end);
  if (to - from >= 30) {
    state.range = [Math.max(0, from), Math.min(end, to)];
    render();
  }
  if (cursor !== undefined) time.moveTo(cursor, true);
}

// render draws everything of the scenario again. What had the focus gets it back.
function render() {
  const scenario = scenarios[state.scenario], mount = sections[state.scenario].querySelector(".charts");
  const inTime = document.activeElement.classList.contains("time");
  const focused = [...mount.querySelectorAll("[tabindex],input,button,select")].indexOf(document.activeElement);
  hideTip();
  const width = mount.clientWidth || 1000;
  const wide = width > 700;
  time = timeline({
    label: "Charts over time. Arrow keys move the cursor, with shift to the next decision. Plus and minus zoom, Escape shows the whole run.",
    zoom, whole: () => zoom(0, scenario.end), moment: (t, reach) => moment(scenario, t, reach),
    stops: () => drawnPolicies(scenario).flatMap((p) => shownDecisions(p).map((d) => d.t)),
  });
  time.draw(panelsOf(scenario), frameFor(scenario, width));
  const list = decisionList(scenario, time.moveTo);
  mount.replaceChildren(...[
    html("div", { class: "overview" }, scatter(scenario, wide ? width * 0.6 - 24 : width, toggle), legend(scenario)),
    controls(scenario), time.element, list].filter((c) => c !== null));
  if (inTime) time.element.focus({ preventScroll: true });
  else if (focused >= 0) mount.querySelectorAll("[tabindex],input,button,select")[focused]?.focus({ preventScroll: true });
}

// swatch is the line of a policy as its legend shows it.
function swatch(policy) {
  return svg("svg", { viewBox: "0 0 27 12", "aria-hidden": "true", class: look(policy) },
    policy.slot < 0 ? null : svg("path", { class: stroke(policy), d: "M1,6H26" }));
}

// legend lists the policies in their order, and says where those that reach the
// target end.
function legend(scenario) {
  const groups = [["reach the target", []], ["miss it", []], ["not known", []]];
  for (const p of scenario.policies) groups[p.reached][1].push(p);
  const head = (text, first) => html("div", { class: "head" }, html("span", {}, text),
    first ? html("span", { class: "figure" }, "attained") : null, first ? html("span", { class: "figure" }, "cost") : null);
  const entry = (p) => html("label", {},
    html("input", { type: "checkbox", checked: p.slot >= 0, onchange: () => toggle(p) }), swatch(p),
    html("span", { class: "name" + (p.own ? " own" : ""), title: p.name }, p.name),
    html("span", { class: "figure" }, p.place ? percent(p.place.attainment[0]) : absent),
    html("span", { class: "figure" }, p.place ? number(p.place.cost[0]) : absent));
  return html("fieldset", { class: "legend" }, html("legend", {}, "Lines shown"),
    ...groups.filter((g) => g[1].length > 0).flatMap(([text, policies], i) => [head(text, i === 0), ...policies.map(entry)]));
}

function controls(scenario) {
  const variants = [...new Set(scenario.policies.flatMap((p) => p.variants))];
  const select = variants.length < 2 ? null : html("label", {}, "Replicas of ", html("select", {
    onchange: (e) => { state.variant = e.target.value; render(); },
  }, html("option", { value: "" }, "all variants"), ...variants.map((v) => html("option", { value: v, selected: v === state.variant }, v))));
  const whole = state.range[0] === 0 && state.range[1] >= scenario.end;
  const hint = whole ? html("span", { class: "hint" }, "Drag over the charts to look closer.")
    : html("button", { type: "button", onclick: () => zoom(0, scenario.end) }, "Whole run");
  return html("div", { class: "controls" }, select, hint);
}

// Tables are sorted by a column when its head is pressed: the greatest first, then
// the least, with what is not known always last.
function sortable(table) {
  table.querySelectorAll("thead th.number").forEach((th, i) => {
    const button = html("button", { type: "button", onclick: () => {
      const down = th.getAttribute("aria-sort") !== "descending";
      table.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.querySelectorAll("td")[i].dataset.sort;
      const rows = [...table.tBodies[0].rows].sort((a, b) => (key(a) === "") - (key(b) === "") || (down ? 1 : -1) * (Number(key(b)) - Number(key(a))));
      table.tBodies[0].append(...rows);
    } });
    button.append(...th.childNodes);
    th.append(button);
  });
}

document.querySelectorAll("table.measures").forEach(sortable);
if (scenarios.length > 1) {
  const nav = document.getElementById("scenarios");
  nav.append(...scenarios.map((s, i) => html("button", { type: "button", onclick: () => choose(i) }, s.name)));
  nav.hidden = false;
}

// A link may lead to a scenario and a time of it: #scenario=1&time=3600.
const wanted = new URLSearchParams(location.hash.slice(1));
choose(Math.min(scenarios.length - 1, Math.max(0, Number(wanted.get("scenario")) || 0)));
if (wanted.has("time")) time.moveTo(Number(wanted.get("time")) || 0, true);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) { width = innerWidth; render(); }
});
