// A model over time, with its decisions.
import { html } from "../../../chart/draw.js";
import { absent, latency, number } from "../../../chart/number.js";
import { timeline } from "../../../chart/timeline.js";
import { ask } from "./api.js";
import { beforeSays } from "./before.js";
import { attained, bounds } from "./fleet.js";
import { fact } from "./fact.js";
import { keepFocus } from "./focus.js";
import { cost, moment, some, sumText, total } from "./format.js";
import { loader } from "./load.js";
import { panels } from "./measures.js";
import { momentOf, nearDecisions } from "./instant.js";
import { to } from "./route.js";
import { choices, clockFrame, redrawn, Times } from "./times.js";

const mostDecisions = 200;

export function modelPage(main, route) {
  const [namespace, name] = route.parts, key = { namespace, model: name };
  let times = new Times(route.query), fleet = null, history = null, variant = "";
  const spans = html("div", {}), facts = html("dl", { class: "totals" }), troubles = html("div", { role: "region", "aria-label": "What is wrong" });
  const about = html("p", { class: "about" }), notes = html("div", {}), variants = html("div", { class: "wide" });
  const decisions = html("ol", { class: "decisions" }), select = html("select", { "aria-label": "Replicas of", onchange: () => { variant = select.value; draw(); } });
  const charts = timeline({
    label: "Charts over time. Arrow keys move the cursor, with shift to the next decision. Plus and minus zoom, Enter opens the decision at the cursor, Escape shows all of the time.",
    zoom(from, end, cursor) { if (end - from > 60) go({ from: Math.floor(from), to: Math.ceil(end) }, cursor); },
    whole: () => { if (times.fixed) go({ range: times.span }); },
    moment: (t, reach) => momentOf(history, variant, t, nearDecisions(history, t, reach)),
    stops: () => history ? history.decisions.map((d) => d.t) : [],
    open(t, reach) { const [d] = nearDecisions(history, t, reach); if (d) location.hash = to.decision(d, d.cycle); },
  });
  const chartArea = html("div", { class: "charts" }, html("p", { class: "loading", role: "status" }, "Loading the last hours…"));
  main.append(
    html("div", { class: "title" }, html("div", {}, html("h1", { tabindex: -1 }, name), about),
      html("div", { class: "ways" }, html("a", { class: "button", href: to.replicas(key) }, "Replicas"), html("a", { class: "button", href: to.whatif(key) }, "What if"))),
    troubles, facts, spans, notes);
  const load = loader(main, (found) => { history = found; history.decisions ||= []; history.variants ||= []; history.t ||= []; draw(); });
  main.append(html("div", { class: "split" }, chartArea,
    html("section", { class: "aside", "aria-label": "Decisions" }, html("h2", {}, "Decisions"), decisions)),
  html("h2", {}, "Variants"), variants);
  spans.replaceChildren(choices(times, go));

  function go(query, cursor) {
    history && (history.cursor = cursor);
    location.hash = to.model(key, query);
  }

  function fetchHistory() {
    if (fleet) load((signal) => ask("/api/model", { ...key, ...times.wanted(fleet) }, signal));
  }

  function update(next) {
    fleet = next;
    const m = fleet.models.find((one) => one.namespace === namespace && one.model === name);
    if (m) header(m);
    if (!times.fixed || !history || history.before?.pending) fetchHistory();
  }

  function header(m) {
    about.textContent = [m.namespace, m.objective.class && "class " + m.objective.class, m.engine && "engine " + m.engine, m.advisory && "advisory: nothing is carried out"].filter(Boolean).join(" · ");
    troubles.replaceChildren(...m.troubles.map((t, i) => html("p", { class: "notice" + (m.look === 3 && i === 0 ? " bad" : m.look === 1 ? " note" : "") }, t)));
    const of = (objective) => objective === null ? "no objective" : "of " + latency(objective);
    const sum = (column) => sumText(total(m.variants.map((v) => v[column])));
    const worse = (v, objective) => v !== null && objective !== null && v > objective ? "bad" : "";
    facts.replaceChildren(...[
      ["attained, " + attained(m).small, attained(m).text, attained(m).tone], ["requests/s", number(m.load)], ["wait", number(m.waiting)],
      ["TTFT, " + of(m.objective.ttft), latency(m.ttft), worse(m.ttft, m.objective.ttft)], ["ITL, " + of(m.objective.itl), latency(m.itl), worse(m.itl, m.objective.itl)],
      ["Ready of " + sum("desired") + " desired", sum("ready")], ["cost per hour", cost(m.cost)],
    ].map(([term, value, tone]) => fact(term, value, tone)));
    keepFocus(variants, () => variants.replaceChildren(variantTable(m, fleet)));
  }

  function draw() {
    if (!history || !fleet) return;
    chartArea.querySelector(".loading")?.remove();
    const named = history.variants.map((v) => v.namespace + "/" + v.name);
    if (select.options.length !== named.length + 1) {
      select.replaceChildren(html("option", { value: "" }, "all variants"), ...history.variants.map((v, i) => html("option", { value: named[i] }, v.name)));
    }
    if (!charts.element.isConnected) chartArea.replaceChildren(...(named.length > 1 ? [html("label", { class: "of" }, "Replicas of ", select)] : []), charts.element);
    const range = times.range(fleet, history.before?.until ? history.begins : null), width = chartArea.clientWidth || 900;
    const drawn = panels(history, variant, range, (d) => { location.hash = to.decision(d, d.cycle); });
    charts.draw(drawn, clockFrame(width, range, drawn.flatMap((p) => p.lines.map((l) => l.name || ""))));
    if (history.cursor) { charts.moveTo(history.cursor, true); history.cursor = null; }
    const said = beforeSays(history, fleet.source.kind === "live");
    if (history.step > 0) said.push("Lines are thinned to a point every " + Math.round(history.step) + " s at most; each peak is kept.");
    if (history.t.length === 0) said.push("No cycle is known of this time.");
    notes.replaceChildren(...said.map((s) => html("p", { class: "about" }, s)));
    list();
  }

  function list() {
    const all = history.decisions.toReversed(), shown = all.slice(0, mostDecisions), left = all.length - shown.length + (history.left || 0);
    const stamp = [all.length, left, all[0]?.t, all.at(-1)?.t].join();
    if (decisions.dataset.stamp === stamp) return; // it stays where the reader is in it
    decisions.dataset.stamp = stamp;
    decisions.replaceChildren(...shown.map((d) => html("li", { onpointerenter: () => charts.moveTo(d.t, false) },
      html("a", { href: to.decision(d, d.cycle) },
        html("span", { class: "when" }, moment(d.t)), html("span", { class: "change " + (d.to > d.from ? "up" : "down") }, d.from + " → " + d.to),
        html("span", { class: "who" }, d.name), html("span", { class: "why" }, d.sentence)))),
    ...(all.length === 0 ? [html("li", { class: "about" }, "No decision changed the number in this time.")] : []),
    ...(left > 0 ? [html("li", { class: "about" }, "and " + some(left, "older one", "older ones"))] : []));
  }

  const stop = redrawn(chartArea, draw);
  return {
    title: name || "Model", crumbs: [[name, to.model(key)]], update,
    takes(next) {
      if (next.page !== "model" || next.parts[0] !== namespace || next.parts[1] !== name) return false;
      times = new Times(next.query);
      spans.replaceChildren(choices(times, go));
      draw();
      fetchHistory();
      return true;
    },
    leave() { stop(); load.stop(); },
    keys(e) {
      const span = { 1: "1h", 6: "6h", 2: "24h" }[e.key];
      if (span) { go({ range: span }); return true; }
      if (e.key === "r") { location.hash = to.replicas(key); return true; }
      if (e.key === "w") { location.hash = to.whatif(key); return true; }
      if (e.key === "c") { charts.element.focus(); return true; }
      return false;
    },
    keyHelp: [["c", "to the charts"], ["← →", "move the cursor, with Shift to the next decision"], ["Enter", "open the decision at the cursor"], ["+ -", "look closer, or further"], ["1 6 2", "1, 6 and 24 hours"], ["r", "replicas"], ["w", "what if"]],
  };
}

function variantTable(m, fleet) {
  const heads = ["Variant", "Desired", "Ready", "Ordered", "Late", "Bounds", "Cost each", "Last decision"];
  return html("table", { class: "variants" }, html("thead", {}, html("tr", {}, ...heads.map((h, i) => html("th", { scope: "col", class: i > 0 && i < 7 ? "number" : null }, h)))),
    html("tbody", {}, ...m.variants.map((v) => html("tr", {},
      html("th", { scope: "row" }, html("a", { href: to.decision(v, fleet.cycle) }, v.name), html("small", {}, v.accelerator + (v.gpus ? " × " + v.gpus : ""))),
      ...[number(v.desired), number(v.ready), v.ordered ? "+" + v.ordered : v.ordered === null ? absent : "0", number(v.late), bounds(v), cost(v.cost)].map((text, i) => html("td", { class: "number", "data-tone": i === 3 && v.late ? "bad" : null }, text)),
      html("td", {}, ...v.troubles.map((t) => html("p", { "data-tone": v.look === 3 ? "bad" : "warn" }, t)), html("a", { href: to.decision(v, fleet.cycle) }, v.reason))))));
}

