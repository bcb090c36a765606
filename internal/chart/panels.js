// Charts over time, one above the other with one time axis.
//
// A panel is { title, unit, height, lines, ticks, least, whole, mayBeLog, steps, write, goal, nothing, marks, legend, shade }:
// ticks about how many, least the least top of the scale, whole for counts, mayBeLog where the scale
// may be logarithmic, steps where a value holds until the next, write how a value is written, goal an
// objective or 0, nothing what is said where no value is known, shade { until, text } a time at the beginning
// that is from elsewhere, with where from.
// A line is { series, look, stroke, name, own, area }: look the class of its colour, stroke the one of
// its line, name what stands at its end, own whether its name goes first, area whether it is filled.
// A mark is { t, v, up, look, open }: a triangle at a value; open is called when it is clicked on.
import { apart, html, linear, path, shorten, svg, vertical } from "./draw.js";
import { number } from "./number.js";

const inset = { left: 58, top: 8, bottom: 22 };

// frameOf is where charts of a width are drawn; names stand on their right where there is room.
// times(n) is { t, text } of about n ticks of the time axis.
export function frameOf({ width, range, names, times }) {
  const longest = Math.max(0, ...names.map((n) => Math.min(n.length, 24)));
  const right = width < 640 || longest === 0 ? 10 : Math.min(190, 22 + longest * 7.2);
  const inner = Math.max(80, width - inset.left - right);
  return { width, left: inset.left, inner, range, names: width >= 640 && longest > 0, times, x: linear(range[0], range[1], 0, inner) };
}

export function drawPanel(panel, frame) {
  const { lines, goal } = panel;
  const values = lines.flatMap((l) => l.series.v).concat(goal > 0 ? [goal] : []);
  const y = vertical(values, panel.height, panel);
  const plot = svg("svg", { x: inset.left, y: inset.top, width: frame.inner, height: panel.height, overflow: "hidden" });
  const root = svg("svg", {
    viewBox: [0, 0, frame.width, panel.height + inset.top + inset.bottom].join(" "), role: "img",
    "aria-label": panel.title + ", " + panel.unit + ". " + summary(panel),
  }, ...axes(y, panel, frame), plot);
  if (panel.shade && panel.shade.until > frame.range[0]) plot.append(...shaded(panel, frame));
  for (const line of lines) plot.append(...drawLine(line, y, panel, frame));
  if (goal > 0) {
    const at = y.at(goal);
    plot.append(svg("line", { class: "goal", x1: 0, x2: frame.inner, y1: at, y2: at }));
    root.append(svg("text", { class: "goalname halo", x: inset.left + 4, y: inset.top + at - 5 }, (panel.goalName || "target") + " " + panel.write(goal)));
  }
  if (lines.every((l) => l.series.v.every((v) => v === null))) {
    root.append(svg("text", { x: inset.left + frame.inner / 2, y: inset.top + panel.height / 2, "text-anchor": "middle" }, lines.length ? "not known" : panel.nothing));
  }
  plot.append(...(panel.marks || []).map((m) => drawMark(m, y, frame)));
  if (frame.names) root.append(...names(lines.filter((l) => l.name), y, panel, frame));
  const cursor = svg("line", { class: "cursor", y1: 0, y2: panel.height, visibility: "hidden" });
  const brush = svg("rect", { class: "brush", y: 0, height: panel.height, visibility: "hidden" });
  plot.append(brush, cursor);
  const unit = panel.unit + (y.log ? "; log scale" : "");
  // Where there is no room for names at the ends of lines, those of a panel with a legend stand above it.
  const legend = panel.legend && !frame.names ? lines.map((l) => html("b", { class: l.look }, l.name)) : [];
  return { figure: html("figure", {}, html("figcaption", {}, panel.title, html("span", {}, unit), ...legend), root), root, cursor, brush };
}

function axes(y, panel, frame) {
  const write = panel.write || number;
  const parts = [];
  for (const v of y.ticks) {
    const at = inset.top + Math.round(y.at(v)) + 0.5;
    parts.push(svg("line", { class: "grid", x1: inset.left, x2: inset.left + frame.inner, y1: at, y2: at }),
      svg("text", { x: inset.left - 8, y: at + 4, "text-anchor": "end" }, write(v)));
  }
  const bottom = inset.top + panel.height;
  frame.times(Math.max(2, Math.floor(frame.inner / 85))).forEach(({ t, text }, i) => {
    const at = inset.left + frame.x(t);
    parts.push(svg("line", { class: "grid", x1: at, x2: at, y1: bottom, y2: bottom + 4 }),
      svg("text", { x: at, y: bottom + 17, "text-anchor": i === 0 && frame.x(t) < 20 ? "start" : "middle" }, text));
  });
  return parts;
}

// shaded is the time that is from elsewhere: a ground, its end, and where from.
function shaded({ shade, height }, frame) {
  const end = Math.min(frame.inner, frame.x(shade.until)), room = shade.text && end > 8 + shade.text.length * 6.5;
  return [
    svg("rect", { class: "elsewhere", x: 0, y: 0, width: end.toFixed(1), height }),
    svg("line", { class: "turn", x1: end, x2: end, y1: 0, y2: height }),
    ...(room ? [svg("text", { class: "halo", x: end - 6, y: 12, "text-anchor": "end" }, shade.text)] : []),
  ];
}

function drawLine({ series, look, stroke, area }, y, panel, frame) {
  const line = svg("path", { class: stroke + " " + look, d: path(series, frame.x, y.at, panel.steps) });
  return area ? [svg("path", { class: "offered", d: below(series, y, panel, frame) }), line] : [line];
}

// below is the area below a line, which stops where the line is not known.
function below(series, y, panel, frame) {
  const area = [];
  let run = [];
  series.t.forEach((t, i) => {
    if (series.v[i] !== null) run.push([frame.x(t), y.at(series.v[i])]);
    if (series.v[i] === null || i === series.t.length - 1) {
      if (run.length > 1) area.push("M" + run[0][0] + "," + panel.height + run.map(([px, py]) => "L" + px.toFixed(1) + "," + py.toFixed(1)).join("") + "V" + panel.height + "Z");
      run = [];
    }
  });
  return area.join("");
}

function drawMark({ t, v, up, look, open }, y, frame) {
  const px = frame.x(t), py = y.at(v), s = up ? -1 : 1;
  return svg("path", {
    class: (up ? "grow " : "shrink ") + look + (open ? " leads" : ""), onclick: open,
    d: "M" + (px - 4).toFixed(1) + "," + (py - s * 3.5).toFixed(1) + "h8l-4," + s * 7 + "z",
  });
}

// names writes the name of each line at its end: of as many as there is room for,
// this project's own first.
function names(lines, y, panel, frame) {
  const labels = [], gap = 15;
  for (const { series, look, name, own } of lines.toSorted((a, b) => Boolean(b.own) - Boolean(a.own))) {
    let i = series.v.length - 1;
    while (i >= 0 && series.v[i] === null) i--;
    if (i < 0 || labels.length * gap > panel.height - gap) continue;
    const beyond = series.t[i] > frame.range[1];
    const value = panel.steps && beyond && i > 0 ? series.v[i - 1] ?? series.v[i] : series.v[i];
    const at = inset.top + y.at(value);
    labels.push({ y: at, at, x: inset.left + Math.min(frame.inner, Math.max(0, frame.x(series.t[i]))), look, name });
  }
  const right = inset.left + frame.inner;
  return apart(labels, gap, inset.top + 4, inset.top + panel.height).flatMap((l) => {
    const name = (x) => svg("text", { class: "name halo " + l.look, x, y: l.y + 4 }, shorten(l.name, 24));
    if (l.x < right - 40) return [name(l.x + 7)]; // a line to the margin would look like data
    return [svg("path", { class: "whisker " + l.look, fill: "none", d: "M" + (l.x + 2) + "," + l.at + "L" + (right + 2) + "," + l.at + "L" + (right + 12) + "," + l.y }), name(right + 15)];
  });
}

// summary says in words what lines show.
function summary(panel) {
  const write = panel.write || number;
  return panel.lines.map(({ name, series }) => {
    const known = series.v.filter((v) => v !== null);
    const range = known.length ? write(Math.min(...known)) + " to " + write(Math.max(...known)) : "not known";
    return (name ? name + ": " : "") + range;
  }).join("; ");
}
