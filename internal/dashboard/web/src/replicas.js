// The replicas of a model: where the time of each went, from its order to its end.
import { html, svg } from "../../../chart/draw.js";
import { ask } from "./api.js";
import { fact } from "./fact.js";
import { keepFocus } from "./focus.js";
import { clock, duration, moment } from "./format.js";
import { loader } from "./load.js";
import { to } from "./route.js";
import { choices, clockFrame, redrawn, Times } from "./times.js";

// phases, in their order, with what they mean.
const phases = {
  ordered: "ordered: no pod yet", unscheduled: "waits for a node", starting: "starts: image and weights", notready: "started, not Ready", serving: "Ready", draining: "drains",
};
const steps = [["ordered", "Ordered"], ["created", "Pod created"], ["scheduled", "Node found"], ["started", "Started"], ["ready", "Ready"], ["terminating", "Given up"], ["ended", "Ended"]];

export function replicasPage(main, route) {
  const [namespace, name] = route.parts, key = { namespace, model: name };
  let times = new Times(route.query), fleet = null, found = null;
  const opened = new Set();
  const spans = html("div", {}), notes = html("div", {}), axis = html("div", { class: "axis", "aria-hidden": "true" }), rows = html("div", { class: "bars" });
  const facts = html("dl", { class: "totals" });
  const list = html("div", { class: "replicas" }, html("p", { class: "loading", role: "status" }, "Loading the replicas…"));
  main.append(html("h1", { tabindex: -1 }, "Replicas of ", name || ""), html("p", { class: "about" }, namespace), facts, spans,
    html("ul", { class: "phases", "aria-label": "Phases" }, ...Object.entries(phases).map(([phase, text]) => html("li", {}, html("span", { class: "swatch p-" + phase }), text))), notes);
  const load = loader(main, (answer) => { found = answer; found.replicas ||= []; draw(); });
  main.append(list);
  spans.replaceChildren(choices(times, go));

  function go(query) { location.hash = to.replicas(key, query); }

  function fetchAll() {
    if (fleet) load((signal) => ask("/api/replicas", { ...key, ...times.wanted(fleet) }, signal));
  }

  function draw() {
    if (!found || !fleet) return;
    if (!rows.isConnected) list.replaceChildren(axis, rows);
    const range = times.range(fleet), all = found.replicas.toReversed();
    const waited = all.filter((r) => r.ordered !== null && r.ready !== null).map((r) => r.ready - r.ordered).sort((a, b) => a - b);
    for (const r of all) r.phases ||= [];
    const now = all.filter((r) => r.ended === null && !gone(r)), serving = now.filter((r) => r.phases.at(-1)?.phase === "serving");
    facts.replaceChildren(...[["replicas in this time", String(all.length)], ["Ready now", String(serving.length)], ["on their way, or leaving", String(now.length - serving.length)],
      ["from order to Ready, median", waited.length ? duration(waited[waited.length >> 1]) : "–"], ["the slowest", waited.length ? duration(waited.at(-1)) : "–"]]
      .map(([term, value]) => fact(term, value)));
    notes.replaceChildren(...(found.complete ? [] : [html("p", { class: "about" }, "Replicas may be missing at the beginning of this time: history does not reach back to it, or there are too many.")]));
    keepFocus(rows, () => rows.replaceChildren(...all.map((r) => row(r, range))));
    if (all.length === 0) rows.append(html("p", { class: "empty" }, "No replica is known in this time."));
    drawAxis(range);
  }

  function drawAxis(range) {
    const place = rows.querySelector(".lane") || rows, width = place.clientWidth || 600, frame = clockFrame(width, range, []);
    axis.replaceChildren(svg("svg", { viewBox: "0 0 " + width + " 18", width, height: 18 }, ...frame.times(Math.max(2, Math.floor(width / 90)))
      .map(({ t, text }) => svg("text", { x: (t - range[0]) / (range[1] - range[0]) * width, y: 13, "text-anchor": "middle" }, text))));
  }

  function row(r, range) {
    const id = r.variant.namespace + "/" + r.variant.name + "/" + (r.pod || r.ordered);
    return html("details", { class: "replica", "data-key": id, open: opened.has(id), ontoggle: (e) => { if (e.target.open) opened.add(id); else opened.delete(id); } },
      html("summary", {}, html("span", { class: "pod" }, html("b", {}, r.pod || "no pod yet"), html("small", {}, r.variant.name)), bar(r, range), html("span", { class: "says" }, r.says)),
      html("dl", { class: "steps-of" }, ...steps.filter(([k]) => r[k] !== null && r[k] !== undefined).flatMap(([k, text]) => [html("dt", {}, text),
        html("dd", {}, moment(r[k]), k !== "ordered" && r.ordered !== null ? html("small", {}, " " + duration(r[k] - r.ordered) + " after the order") : null)])),
      r.decision ? html("p", {}, html("a", { href: to.decision(r.variant, r.decision.cycle) }, "The decision"), ": " + r.decision.sentence) : html("p", { class: "about" }, "The decision that ordered it is not known."));
  }

  const stop = redrawn(list, draw);
  return {
    title: "Replicas of " + name, crumbs: [[name, to.model(key)], ["Replicas", ""]],
    update(next) { fleet = next; if (!times.fixed || !found) fetchAll(); },
    takes(next) {
      if (next.page !== "replicas" || next.parts[0] !== namespace || next.parts[1] !== name) return false;
      times = new Times(next.query);
      spans.replaceChildren(choices(times, go));
      draw();
      fetchAll();
      return true;
    },
    leave() { stop(); load.stop(); },
    keys(e) {
      const all = [...rows.querySelectorAll("summary")], at = all.indexOf(document.activeElement), down = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
      if (down && (at >= 0 || e.key.length === 1)) { all[Math.max(0, Math.min(all.length - 1, at + down))]?.focus(); return true; }
      const span = { 1: "1h", 6: "6h", 2: "24h" }[e.key];
      if (span) { go({ range: span }); return true; }
      return false;
    },
    keyHelp: [["j k", "down and up"], ["Enter", "unfold a replica"], ["1 6 2", "1, 6 and 24 hours"]],
  };
}

function nameOf(phase) {
  return (phases[phase] || phase).split(":")[0];
}

// gone reports whether a replica was given up and its last phase is over.
function gone(r) {
  return r.terminating !== null && r.phases.at(-1)?.phase !== "draining";
}

// bar draws the phases of a replica; a screen reader is told them in words.
function bar(r, [from, end]) {
  const x = (t) => Math.min(1000, Math.max(0, (t - from) / (end - from) * 1000));
  const text = r.phases.map((p) => nameOf(p.phase) + " " + duration(p.to - p.from)).join(", ");
  const drawn = r.phases.filter((p) => p.to > from && p.from < end);
  return svg("svg", { class: "lane", viewBox: "0 0 1000 14", preserveAspectRatio: "none", role: "img", "aria-label": text || "no phase is known" },
    svg("title", {}, drawn.map((p) => nameOf(p.phase) + " " + clock(p.from) + " to " + clock(p.to)).join("\n")),
    ...drawn.map((p) => svg("rect", { class: "p-" + p.phase, x: x(p.from), y: p.phase === "serving" ? 2 : 0, width: Math.max(1.5, x(p.to) - x(p.from)), height: p.phase === "serving" ? 10 : 14 })));
}

