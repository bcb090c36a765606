// What if: the recorded cycles of a model decided again with other values.
import { html } from "../../../chart/draw.js";
import { absent as unknown, latency, number, percent } from "../../../chart/number.js";
import { held, within } from "../../../chart/series.js";
import { timeline } from "../../../chart/timeline.js";
import { send } from "./api.js";
import { fact } from "./fact.js";
import { cost, count, moment, some } from "./format.js";
import { loader } from "./load.js";
import { to } from "./route.js";
import { clockFrame, redrawn } from "./times.js";

export function whatIfPage(main, route) {
  const [namespace, name] = route.parts, key = { namespace, model: name };
  let model = null, answer = null, timer = 0, range = null, sliders = [];
  const controls = html("form", { class: "sliders", "aria-label": "Values to decide with", onsubmit: (e) => e.preventDefault() });
  const summary = html("dl", { class: "totals", "aria-live": "polite" }), says = html("p", { class: "about" }), refused = html("p", { class: "notice", hidden: true });
  const area = html("div", { class: "charts" }), busy = html("p", { class: "loading", role: "status" }, "Deciding the recorded cycles again…");
  main.append(html("h1", { tabindex: -1 }, "What if, for ", name || ""), html("p", { class: "about" }, namespace + " · the recorded cycles are decided again with these values; nothing is changed"));
  const load = loader(main, (found) => { answer = found; busy.hidden = true; draw(); });
  main.append(html("div", { class: "split whatif" }, html("section", { class: "aside", "aria-label": "Values" }, controls), html("div", {}, refused, summary, area, busy, says)));
  const charts = timeline({
    label: "Replicas and cost over time, as they were and as they would have been. Arrow keys move the cursor, plus and minus zoom, Escape shows all of the time.",
    zoom(from, end, cursor) { if (end - from > 60) { range = [from, end]; draw(); } if (cursor !== undefined) charts.moveTo(cursor, true); },
    whole() { range = null; draw(); },
    moment: (t) => momentOf(answer, t), stops: () => [],
  });

  // build makes the sliders of a model, which stand at what it has.
  function build(m) {
    const { ttft, itl, attainment } = m.objective;
    sliders = [
      slider("ttft", "TTFT objective", { value: ttft, from: 50, to: Math.max(4000, (ttft || 0) * 4), log: true, write: latency }),
      slider("itl", "ITL objective", { value: itl, from: 5, to: Math.max(200, (itl || 0) * 4), log: true, write: latency }),
      slider("attainment", "Attainment", { value: attainment, from: 0.5, to: 0.999, step: 0.001, write: percent }),
      slider("interval", "Time between cycles", { value: null, absent: "as recorded", from: 5, to: 300, log: true, write: (v) => number(v) + " s" }),
      ...m.variants.flatMap((v) => {
        const id = v.namespace + "/" + v.name, most = Math.max(4, v.max ?? 0, v.min * 2, (v.desired ?? 0) * 2);
        return [slider("min", "Minimum", { group: v.name, id, value: v.min, from: 0, to: most, step: 1, write: (v) => some(v, "replica", "replicas") }),
          slider("cost", "Cost per hour of a replica", { group: v.name, id, value: v.cost, from: 0, to: Math.max(1, v.cost * 4), step: 0.05, write: cost })];
      }),
    ];
    const reset = html("button", { type: "button", onclick: () => { for (const s of sliders) s.reset(); later(); } }, "As recorded");
    const parts = [];
    let group = "";
    for (const s of sliders) {
      if (s.group !== group) parts.push(html("h3", {}, s.group));
      group = s.group;
      parts.push(s.element);
    }
    controls.replaceChildren(...parts, reset);
  }

  function slider(field, text, { group = "", id = "", value, absent = "none", from, to: most, step, log, write }) {
    const inner = log ? { min: Math.log(from), max: Math.log(most), step: (Math.log(most) - Math.log(from)) / 120 } : { min: from, max: most, step };
    const put = (v) => log ? Math.log(Math.min(most, Math.max(from, v))) : v;
    const read = () => {
      const v = Number(input.value);
      return log ? Number(Math.exp(v).toPrecision(2)) : v;
    };
    const output = html("output", {});
    const input = html("input", { type: "range", ...inner, "aria-label": (group ? group + ", " : "") + text, oninput: () => { self.touched = true; show(); later(); } });
    const self = {
      field, id, group, touched: false, value: read, element: html("label", { class: "slider" }, html("span", {}, text), output, input),
      reset() { self.touched = false; input.value = put(value ?? (log ? Math.sqrt(from * most) : from)); show(); },
    };
    const show = () => {
      const now = self.touched ? write(read()) : value === null || value === undefined ? absent : write(value);
      output.textContent = now;
      input.setAttribute("aria-valuetext", now);
      self.element.classList.toggle("touched", self.touched);
    };
    self.reset();
    return self;
  }

  // later asks once the sliders rest.
  function later() {
    clearTimeout(timer);
    timer = setTimeout(decide, 250);
  }

  function decide() {
    const wish = { namespace, model: name, ttft: null, itl: null, attainment: null, interval: null, min: {}, cost: {} };
    for (const s of sliders.filter((one) => one.touched)) {
      if (s.id) wish[s.field][s.id] = s.value(); else wish[s.field] = s.value();
    }
    busy.hidden = false;
    load((signal) => send("/api/whatif", wish, signal));
  }

  function draw() {
    if (!answer) return;
    refused.hidden = !answer.refused;
    refused.textContent = answer.refused || "";
    const { costOld, costNew, cyclesChanged, cycles, t } = answer, difference = costOld === null || costNew === null ? null : costNew - costOld;
    const share = difference === null || !costOld ? "" : " (" + (difference > 0 ? "+" : "") + number(100 * difference / costOld) + " %)";
    summary.replaceChildren(...[
      ["cost as it was", cost(costOld)], ["cost with these values", cost(costNew)],
      ["difference" + share, difference === null ? unknown : (difference > 0 ? "+" : "") + cost(difference), difference === null || Math.abs(difference) < 0.005 ? "" : difference > 0 ? "warn" : "good"],
      ["of " + some(cycles, "cycle", "cycles") + " decide otherwise", count(cyclesChanged)],
    ].map(([term, value, tone]) => fact(term, value, tone)));
    says.textContent = answer.says || "";
    if (!t || t.length === 0) { area.replaceChildren(html("p", { class: "empty" }, "No cycle of this model can be decided again.")); return; }
    if (!charts.element.isConnected) area.replaceChildren(charts.element);
    const shown = range || [t[0], Math.max(t.at(-1), t[0] + 60)], series = (v) => within({ t, v }, shown);
    const pair = (before, after) => [{ series: series(before), look: "s6", stroke: "series d1", name: "as it was" }, { series: series(after), look: "s0", stroke: "series own", own: true, name: "what if" }];
    const each = answer.new.variants.map((v, i) => ({ title: v.name, unit: "desired replicas", height: answer.new.variants.length > 3 ? 80 : 130, steps: true, whole: true, ticks: 3, legend: true, lines: pair(answer.old.variants[i].desired, v.desired) }));
    const panels = [{ title: "Cost", unit: "per hour", height: 130, steps: true, ticks: 3, least: 0.1, legend: true, lines: pair(answer.old.cost, answer.new.cost) }, ...each];
    charts.draw(panels, clockFrame(area.clientWidth || 800, shown, ["as it was", "what if"]));
  }

  const stop = redrawn(area, draw);
  return {
    title: "What if, for " + name, crumbs: [[name, to.model(key)], ["What if", ""]],
    update(fleet) {
      if (model) return; // the recorded cycles are those of when the page was opened
      model = fleet.models.find((m) => m.namespace === namespace && m.model === name);
      if (!model) { busy.textContent = "The last cycle has no such model."; return; }
      build(model);
      decide();
    },
    leave() { stop(); clearTimeout(timer); load.stop(); },
    keyHelp: [["← →", "change the value that has the focus"], ["+ -", "look closer at the charts, or further"]],
  };
}

function momentOf({ t, old: before, new: after }, at) {
  const value = (v) => held({ t, v }, at);
  const rows = [["cost per hour", cost(value(before.cost)), cost(value(after.cost))], ...after.variants.map((v, i) => [v.name, number(value(before.variants[i].desired)), number(value(v.desired))])];
  return [html("p", {}, html("b", {}, moment(at))), html("table", {}, html("thead", {}, html("tr", {}, html("th", {}), html("th", { class: "number" }, "was"), html("th", { class: "number" }, "what if"))),
    html("tbody", {}, ...rows.map(([term, a, b]) => html("tr", {}, html("th", { scope: "row" }, term), html("td", { class: "number" }, a), html("td", { class: "number" }, b)))))];
}
