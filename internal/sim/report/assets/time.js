// The charts over time, one above the other with one time axis and one cursor.
const panels = [
  { title: "Load", unit: "requests/s offered", height: 84, ticks: 2, offered: true, least: 0.1 },
  { title: "Replicas", unit: "that serve; marks are decisions, ▲ to grow, ▽ to shrink", height: 210, steps: true, whole: true, of: replicasOf, marks: true },
  { title: "TTFT", unit: "90th percentile of each interval", height: 190, mayBeLog: true, of: (p) => p.ttft, goal: "ttft", write: latency },
  { title: "ITL", unit: "90th percentile of each interval", height: 150, mayBeLog: true, of: (p) => p.itl, goal: "itl", write: latency },
  { title: "Queue", unit: "requests that wait, at the end of each interval", height: 110, ticks: 3, whole: true, of: (p) => p.queued },
];

const inset = { left: 58, top: 8, bottom: 22 };

// replicasOf returns the replicas of the variant chosen, of all of them by default.
function replicasOf(policy) {
  if (state.variant === "") return policy.replicas[0];
  const i = policy.variants.indexOf(state.variant);
  return policy.replicas[policy.variants.length > 1 ? i + 1 : i];
}

function shownDecisions(policy) {
  const i = policy.variants.indexOf(state.variant);
  return state.variant === "" ? policy.decisions : policy.decisions.filter((d) => d.variant === i);
}

// within cuts a series to a range of time, with one point more on either side.
function within(series, [from, to]) {
  const a = Math.max(0, after(series.t, from) - 1), b = after(series.t, to) + 1;
  return { t: series.t.slice(a, b), v: series.v.slice(a, b) };
}

// frameOf is where charts of a width are drawn; names stand on their right where
// there is room.
function frameOf(width, policies) {
  const longest = Math.max(0, ...policies.map((p) => p.name.length));
  const right = width < 640 ? 10 : Math.min(190, 22 + longest * 7.2);
  const inner = Math.max(80, width - inset.left - right);
  return { width, inner, names: width >= 640, x: linear(state.range[0], state.range[1], 0, inner) };
}

function drawPanel(panel, scenario, frame) {
  const policies = scenario.policies.filter((p) => p.slot >= 0 && (panel.offered || panel.of(p)));
  const lines = panel.offered
    ? [{ series: within(scenario.offered, state.range) }]
    : policies.map((p) => ({ policy: p, series: within(panel.of(p), state.range) }));
  const goal = panel.goal ? scenario[panel.goal] : 0;
  const values = lines.flatMap((l) => l.series.v).concat(goal > 0 ? [goal] : []);
  const y = vertical(values, panel.height, panel);
  const plot = svg("svg", { x: inset.left, y: inset.top, width: frame.inner, height: panel.height, style: "overflow:hidden" });
  const root = svg("svg", {
    viewBox: [0, 0, frame.width, panel.height + inset.top + inset.bottom].join(" "), role: "img",
    "aria-label": panel.title + ", " + panel.unit + ". " + summary(lines, panel),
  }, ...axes(y, panel, frame), plot);
  for (const line of lines) plot.append(...drawLine(line, y, panel, frame));
  if (goal > 0) {
    const at = y.at(goal);
    plot.append(svg("line", { class: "goal", x1: 0, x2: frame.inner, y1: at, y2: at }));
    root.append(svg("text", { class: "goalname halo", x: inset.left + 4, y: inset.top + at - 5 }, "target " + latency(goal)));
  }
  if (lines.every((l) => l.series.v.every((v) => v === null))) {
    root.append(svg("text", { x: inset.left + frame.inner / 2, y: inset.top + panel.height / 2, "text-anchor": "middle" }, lines.length ? "not known" : "no policy is chosen"));
  }
  if (panel.marks) for (const line of lines) plot.append(...drawMarks(line.policy, y, frame));
  if (frame.names && !panel.offered) root.append(...names(lines, y, panel, frame));
  const cursor = svg("line", { class: "cursor", y1: 0, y2: panel.height, visibility: "hidden" });
  const brush = svg("rect", { class: "brush", y: 0, height: panel.height, visibility: "hidden" });
  plot.append(brush, cursor);
  const unit = panel.unit + (y.log ? "; log scale" : "");
  return { figure: html("figure", {}, html("figcaption", {}, panel.title, html("span", {}, unit)), root), root, cursor, brush };
}

function axes(y, panel, frame) {
  const write = panel.write || number;
  const across = timeTicks(state.range[0], state.range[1], Math.max(2, Math.floor(frame.inner / 85)));
  const parts = [];
  for (const v of y.ticks) {
    const at = inset.top + Math.round(y.at(v)) + 0.5;
    parts.push(svg("line", { class: "grid", x1: inset.left, x2: inset.left + frame.inner, y1: at, y2: at }),
      svg("text", { x: inset.left - 8, y: at + 4, "text-anchor": "end" }, write(v)));
  }
  const bottom = inset.top + panel.height;
  across.list.forEach((t, i) => {
    const at = inset.left + frame.x(t), last = i === across.list.length - 1;
    parts.push(svg("line", { class: "grid", x1: at, x2: at, y1: bottom, y2: bottom + 4 }),
      svg("text", { x: at, y: bottom + 17, "text-anchor": i === 0 ? "start" : "middle" }, clock(t, across.step < 60) + (last ? " h" : "")));
  });
  return parts;
}

function drawLine({ policy, series }, y, panel, frame) {
  const line = path(series, frame.x, y.at, panel.steps);
  if (policy) return [svg("path", { class: stroke(policy) + " " + look(policy), d: line })];
  // The area below the load stops where the load is not known.
  const area = [];
  let run = [];
  series.t.forEach((t, i) => {
    if (series.v[i] !== null) run.push([frame.x(t), y.at(series.v[i])]);
    if (series.v[i] === null || i === series.t.length - 1) {
      if (run.length > 1) area.push("M" + run[0][0] + "," + panel.height + run.map(([px, py]) => "L" + px.toFixed(1) + "," + py.toFixed(1)).join("") + "V" + panel.height + "Z");
      run = [];
    }
  });
  return [svg("path", { class: "offered", d: area.join("") }), svg("path", { class: "series", d: line })];
}

// drawMarks puts the decisions on the line of their policy.
function drawMarks(policy, y, frame) {
  const series = replicasOf(policy);
  return shownDecisions(policy).filter((d) => d.t >= state.range[0] && d.t <= state.range[1]).map((d) => {
    const px = frame.x(d.t), up = d.to > d.from;
    const py = y.at(held(series, d.t) ?? (policy.variants.length > 1 && state.variant === "" ? series.v[0] : d.from)), s = up ? -1 : 1;
    return svg("path", {
      class: (up ? "grow " : "shrink ") + look(policy),
      d: "M" + (px - 4).toFixed(1) + "," + (py - s * 3.5).toFixed(1) + "h8l-4," + s * 7 + "z",
    });
  });
}

// names writes the name of each policy at the end of its line: of as many as
// there is room for, this project's own first.
function names(lines, y, panel, frame) {
  const labels = [], gap = 15;
  for (const { policy, series } of lines.toSorted((a, b) => b.policy.own - a.policy.own)) {
    let i = series.v.length - 1;
    while (i >= 0 && series.v[i] === null) i--;
    if (i < 0 || labels.length * gap > panel.height - gap) continue;
    const beyond = series.t[i] > state.range[1];
    const value = panel.steps && beyond && i > 0 ? series.v[i - 1] ?? series.v[i] : series.v[i];
    const at = inset.top + y.at(value);
    labels.push({ y: at, at, x: inset.left + Math.min(frame.inner, Math.max(0, frame.x(series.t[i]))), policy });
  }
  const right = inset.left + frame.inner;
  return apart(labels, gap, inset.top + 4, inset.top + panel.height).flatMap((l) => {
    const name = (x) => svg("text", { class: "name halo " + look(l.policy), x, y: l.y + 4 }, shorten(l.policy.name, 24));
    if (l.x < right - 40) return [name(l.x + 7)]; // a line to the margin would look like data
    return [svg("path", { class: "whisker " + look(l.policy), fill: "none", d: "M" + (l.x + 2) + "," + l.at + "L" + (right + 2) + "," + l.at + "L" + (right + 12) + "," + l.y }), name(right + 15)];
  });
}

function shorten(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

// summary says in words what lines show.
function summary(lines, panel) {
  const write = panel.write || number;
  return lines.map(({ policy, series }) => {
    const known = series.v.filter((v) => v !== null);
    const range = known.length ? write(Math.min(...known)) + " to " + write(Math.max(...known)) : "not known";
    return (policy ? policy.name + ": " : "") + range;
  }).join("; ");
}
