// The charts of a model: what is drawn of its history.
import { latency, number, percent } from "../../../chart/number.js";
import { held, within } from "../../../chart/series.js";
import { cost } from "./format.js";

// replicas are the columns of one variant, or the sums over all.
export function replicas(history, variant) {
  const chosen = history.variants.filter((v) => variant === "" || v.namespace + "/" + v.name === variant);
  const sum = (name) => history.t.map((_, i) => {
    let s = 0;
    for (const v of chosen) {
      const n = v[name][i];
      if (n === null || n === undefined) return null;
      s += n;
    }
    return chosen.length ? s : null;
  });
  return { desired: sum("desired"), current: sum("current"), ready: sum("ready"), serving: sum("serving"), draining: sum("draining") };
}

// same reports whether two columns differ for no longer than the two cycles in which one follows the other.
function same(a, b) {
  let apart = 0;
  return a.every((v, i) => {
    apart = v === null || b[i] === null || v === b[i] ? 0 : apart + 1;
    return apart <= 2;
  });
}

// linesOf leaves out what says nothing of its own: replicas that serve where all that are Ready do.
function linesOf(r) {
  const lines = [{ name: "desired", v: r.desired, look: "s1", stroke: "series d1" }, { name: "Ready", v: r.ready, look: "s0", stroke: "series own", own: true }];
  if (!same(r.current, r.desired)) lines.push({ name: "asked for", v: r.current, look: "s4", stroke: "series d2" });
  if (!same(r.serving, r.ready)) lines.push({ name: "serving", v: r.serving, look: "s2", stroke: "series" });
  if (r.draining.some((n) => n > 0)) lines.push({ name: "draining", v: r.draining, look: "s3", stroke: "series" });
  return lines;
}

// panels are the charts of a history, with open called with the decision of a mark that is clicked on.
export function panels(history, variant, range, open) {
  const { t } = history, { ttft, itl, attainment } = history.model.objective, r = replicas(history, variant);
  const series = (v) => within({ t, v }, range), one = (v, more) => [{ series: series(v), look: "s0", stroke: "series", ...more }];
  const marks = history.decisions.filter((d) => d.t >= range[0] && d.t <= range[1] && (variant === "" || d.namespace + "/" + d.name === variant))
    .map((d) => ({ t: d.t, v: held({ t, v: r.desired }, d.t) ?? d.to, up: d.to > d.from, look: "s1", open: () => open(d) }));
  const some = (v) => v && v.some((n) => n !== null);
  const until = history.before?.until, shade = (i) => until ? { until, text: i === 0 ? "from Prometheus" : "" } : null;
  return [
    { title: "Load", unit: "requests/s that arrive", height: 78, ticks: 2, least: 0.1, lines: one(history.load, { look: "", area: true }) },
    { title: "Replicas", unit: "marks are decisions, ▲ to grow, ▽ to shrink", height: 150, steps: true, whole: true, legend: true, marks, lines: linesOf(r).map(({ v, ...line }) => ({ ...line, series: series(v) })) },
    { title: "TTFT", unit: "mean", height: 110, ticks: 3, mayBeLog: true, goal: ttft || 0, goalName: "objective", write: latency, lines: one(history.ttft) },
    { title: "ITL", unit: "mean", height: 90, ticks: 3, mayBeLog: true, goal: itl || 0, goalName: "objective", write: latency, lines: one(history.itl) },
    ...(!some(history.missed) ? [] : [{ title: "Missed", unit: "part of the requests that miss an objective", height: 64, ticks: 2, least: 0.02, goal: attainment ? 1 - attainment : 0, goalName: "at most", write: percent, lines: one(history.missed) }]),
    ...(some(history.utilization) ? [{ title: "Utilization", unit: "demand over supply", height: 64, ticks: 2, least: 1, goal: 1, goalName: "full at", write: number, lines: one(history.utilization) }] : []),
    { title: "Cost", unit: "per hour, of the replicas asked for", height: 64, ticks: 2, steps: true, least: 0.1, write: (v) => v >= 10 ? number(v) : cost(v), lines: one(history.cost, { look: "", area: false }) },
  ].map((panel, i) => ({ ...panel, shade: shade(i) }));
}
