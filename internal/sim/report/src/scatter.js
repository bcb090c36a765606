// Cost against attainment, one point for each policy.
import { linear, logarithmic, logTicks, roundStep, shorten, svg, html, ticks } from "../../../chart/draw.js";
import { number, percent } from "../../../chart/number.js";
import { hideTip, showTip } from "../../../chart/tip.js";
import { look } from "./data.js";

export function scatter(scenario, width, toggle) {
  const places = scenario.policies.filter((p) => p.place);
  const all = places.map((p) => p.place).concat(scenario.feasible ? [scenario.feasible] : []);
  if (all.length === 0) return null;
  const costs = all.flatMap((p) => p.cost);
  const parts = all.flatMap((p) => p.attainment).concat(scenario.attainment > 0 ? [scenario.attainment] : []);
  const height = width < 420 ? 270 : Math.min(440, Math.max(300, 23 * scenario.policies.length - 20)), left = 52, top = 14, inner = width - left - 14;
  const { x, marks, log } = across(costs, inner);
  const low = Math.min(...parts), margin = (1 - low) * 0.12 || 0.02;
  const y = linear(Math.max(0, low - margin), 1 + margin / 3, height, 0);
  const root = svg("svg", { viewBox: [0, 0, width, height + top + 38].join(" "), role: "group", "aria-label": "Cost against attainment" });
  const plot = svg("g", { transform: "translate(" + left + "," + top + ")" });
  root.append(plot);
  grid(plot, x, y, { marks, log, low: Math.max(0, low - margin), inner, height });
  const taken = [];
  for (const p of places) taken.push(around(x(p.place.cost[0]), y(p.place.attainment[0]), 7));
  rules(plot, scenario, x, y, { inner, height, taken });
  const feasible = scenario.feasible;
  if (feasible) {
    const px = x(feasible.cost[0]), py = y(feasible.attainment[0]);
    taken.push(around(px, py, 8));
    plot.append(svg("path", { class: "diamond", d: "M" + px + "," + (py - 6) + "l6,6l-6,6l-6,-6z" }));
    label(plot, "clairvoyant", px, py, { taken, inner, height, class: "goalname halo" });
  }
  // Those that are drawn come last and get their labels first.
  const order = places.slice().sort((a, b) => (a.slot >= 0) - (b.slot >= 0));
  for (const p of order) plot.append(...point(p, x, y, toggle));
  for (const p of order.reverse()) {
    label(plot, shorten(p.name, 22), x(p.place.cost[0]), y(p.place.attainment[0]), { taken, inner, height, class: (p.slot >= 0 ? "name " : "") + "halo " + look(p) });
  }
  return html("figure", {}, html("figcaption", {}, "Attainment and cost", html("span", {}, "up and to the left is better")), root);
}

// across is the scale of costs: logarithmic where they span more than a factor
// of 6, so that one dear policy does not press the others together.
function across(costs, inner) {
  const greatest = Math.max(...costs), least = Math.min(...costs), spare = (greatest - least) * 0.12 || greatest * 0.2 || 1;
  if (least > 0 && greatest / least > 6) {
    const from = least * 0.8, to = greatest * 1.4;
    return { x: logarithmic(from, to, 0, inner), marks: logTicks(from, to), log: true };
  }
  const from = least < greatest * 0.45 ? 0 : Math.max(0, least - spare), to = greatest + spare;
  return { x: linear(from, to, 0, inner), marks: ticks(from, to, roundStep(to - from, Math.max(3, Math.floor(inner / 90)))), log: false };
}

function grid(plot, x, y, { marks, log, low, inner, height }) {
  for (const v of ticks(low, 1, roundStep((1 - low) * 100 || 1, 5) / 100)) {
    const at = Math.round(y(v)) + 0.5;
    plot.append(svg("line", { class: "grid", x1: 0, x2: inner, y1: at, y2: at }), svg("text", { x: -8, y: at + 4, "text-anchor": "end" }, percent(v)));
  }
  for (const v of marks) {
    plot.append(svg("line", { class: "grid", x1: x(v), x2: x(v), y1: height, y2: height + 4 }), svg("text", { x: x(v), y: height + 18, "text-anchor": "middle" }, number(v)));
  }
  plot.append(svg("text", { x: inner, y: height + 35, "text-anchor": "end" }, "cost, cost units" + (log ? "; log scale" : "")));
}

// rules draws the attainment asked for.
function rules(plot, scenario, x, y, { inner, height, taken }) {
  if (scenario.attainment > 0) {
    const at = y(scenario.attainment);
    plot.append(svg("line", { class: "goal", x1: 0, x2: inner, y1: at, y2: at }),
      svg("text", { class: "goalname halo", x: inner, y: at + 15, "text-anchor": "end" }, "target " + percent(scenario.attainment)));
    taken.push([inner - 90, at + 2, inner, at + 18]);
  }
}

function point(policy, x, y, toggle) {
  const { cost, attainment } = policy.place, on = policy.slot >= 0;
  const px = x(cost[0]), py = y(attainment[0]);
  const parts = [];
  if (on) {
    parts.push(svg("path", {
      class: "whisker " + look(policy),
      d: "M" + x(cost[1]) + "," + py + "H" + x(cost[2]) + "M" + px + "," + y(attainment[1]) + "V" + y(attainment[2]),
    }));
  }
  const say = () => showTip(circle.getBoundingClientRect(), [html("p", { class: "who " + look(policy) }, policy.name),
    html("p", {}, percent(attainment[0]) + " at a cost of " + number(cost[0])),
    cost[1] < cost[2] || attainment[1] < attainment[2]
      ? html("p", {}, "over the seeds " + percent(attainment[1]) + " to " + percent(attainment[2]) + ", " + number(cost[1]) + " to " + number(cost[2])) : null]);
  const circle = svg("circle", {
    class: "point " + look(policy) + (on ? " on" : ""), cx: px, cy: py, r: policy.own ? 6.5 : 5, tabindex: 0, role: "button",
    "aria-pressed": String(on), "aria-label": policy.name + ", " + percent(attainment[0]) + " at a cost of " + number(cost[0]),
    onpointerenter: say, onfocus: say, onpointerleave: hideTip, onblur: hideTip, onclick: () => toggle(policy),
    onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(policy); } },
  });
  parts.push(circle);
  return parts;
}

function around(x, y, r) {
  return [x - r, y - r, x + r, y + r];
}

// label writes a name beside a point where it covers nothing, or not at all.
function label(plot, text, x, y, options) {
  const w = text.length * (options.class.startsWith("name") ? 7.5 : 6.7), { taken, inner, height } = options;
  const tries = [
    { at: [x + 10, y + 4], anchor: "start", box: [x + 8, y - 8, x + 10 + w, y + 8] },
    { at: [x - 10, y + 4], anchor: "end", box: [x - 10 - w, y - 8, x - 8, y + 8] },
    { at: [x, y - 11], anchor: "middle", box: [x - w / 2, y - 22, x + w / 2, y - 8] },
    { at: [x, y + 20], anchor: "middle", box: [x - w / 2, y + 8, x + w / 2, y + 23] },
    { at: [x + 9, y - 11], anchor: "start", box: [x + 6, y - 24, x + 9 + w, y - 9] },
    { at: [x + 9, y + 20], anchor: "start", box: [x + 6, y + 9, x + 9 + w, y + 24] },
  ];
  const free = (b) => b[0] >= 0 && b[2] <= inner + 12 && b[1] >= -12 && b[3] <= height
    && !taken.some((t) => b[0] < t[2] && b[2] > t[0] && b[1] < t[3] && b[3] > t[1]);
  const spot = tries.find((t) => free(t.box));
  if (!spot) return;
  taken.push(spot.box);
  plot.append(svg("text", { class: options.class, x: spot.at[0], y: spot.at[1], "text-anchor": spot.anchor }, text));
}
