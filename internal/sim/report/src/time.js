// The charts over time: what policies are on panels.
import { latency } from "../../../chart/number.js";
import { timeTicks } from "../../../chart/draw.js";
import { frameOf } from "../../../chart/panels.js";
import { held, within } from "../../../chart/series.js";
import { clock, look, stroke } from "./data.js";
import { state } from "./state.js";

const panels = [
  { title: "Load", unit: "requests/s offered", height: 84, ticks: 2, offered: true, least: 0.1 },
  { title: "Replicas", unit: "that serve; marks are decisions, ▲ to grow, ▽ to shrink", height: 210, steps: true, whole: true, of: replicasOf, marks: true },
  { title: "TTFT", unit: "90th percentile of each interval", height: 190, mayBeLog: true, of: (p) => p.ttft, goal: "ttft", write: latency },
  { title: "ITL", unit: "90th percentile of each interval", height: 150, mayBeLog: true, of: (p) => p.itl, goal: "itl", write: latency },
  { title: "Queue", unit: "requests that wait, at the end of each interval", height: 110, ticks: 3, whole: true, of: (p) => p.queued },
];

// replicasOf returns the replicas of the variant chosen, of all of them by default.
export function replicasOf(policy) {
  if (state.variant === "") return policy.replicas[0];
  const i = policy.variants.indexOf(state.variant);
  return policy.replicas[policy.variants.length > 1 ? i + 1 : i];
}

export function shownDecisions(policy) {
  const i = policy.variants.indexOf(state.variant);
  return state.variant === "" ? policy.decisions : policy.decisions.filter((d) => d.variant === i);
}

// drawnPolicies are those whose lines are shown.
export function drawnPolicies(scenario) {
  return scenario.policies.filter((p) => p.slot >= 0);
}

// frameFor is the frame of the range that is shown.
export function frameFor(scenario, width) {
  return frameOf({
    width, range: state.range, names: drawnPolicies(scenario).map((p) => p.name),
    times: (n) => {
      const { step, list } = timeTicks(state.range[0], state.range[1], n);
      return list.map((t, i) => ({ t, text: clock(t, step < 60) + (i === list.length - 1 ? " h" : "") }));
    },
  });
}

// panelsOf are the panels of a scenario, with a line for each policy that is drawn.
export function panelsOf(scenario) {
  const policies = drawnPolicies(scenario);
  return panels.map((panel) => ({
    ...panel, goal: panel.goal ? scenario[panel.goal] : 0, nothing: "no policy is chosen",
    lines: panel.offered ? [{ series: within(scenario.offered, state.range), look: "", stroke: "series", area: true }]
      : policies.filter((p) => panel.of(p)).map((p) => ({ series: within(panel.of(p), state.range), look: look(p), stroke: stroke(p), name: p.name, own: p.own })),
    marks: panel.marks ? policies.filter((p) => panel.of(p)).flatMap(marks) : [],
  }));
}

// marks are the decisions of a policy, which lie on its line.
function marks(policy) {
  const series = replicasOf(policy), whole = policy.variants.length > 1 && state.variant === "";
  return shownDecisions(policy).filter((d) => d.t >= state.range[0] && d.t <= state.range[1])
    .map((d) => ({ t: d.t, v: held(series, d.t) ?? (whole ? series.v[0] : d.from), up: d.to > d.from, look: look(policy) }));
}
