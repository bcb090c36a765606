// What is shown now, and what changes it.
const state = { scenario: 0, range: [0, 1], cursor: null, variant: "", listed: -1, opened: false };
const sections = [...document.querySelectorAll(".scenario")];
let charts = [], xScale = null;

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
  Object.assign(state, { scenario: index, range, cursor: null, variant: "", listed: -1 });
  sections.forEach((s, i) => { s.hidden = i !== index; });
  document.querySelectorAll("#scenarios button").forEach((b, i) => {
    if (i === index) b.setAttribute("aria-current", "true"); else b.removeAttribute("aria-current");
  });
  render();
}

function zoom(from, to) {
  const end = Math.max(1, scenarios[state.scenario].end);
  if (to - from < 30) return;
  state.range = [Math.max(0, from), Math.min(end, to)];
  render();
}

// render draws everything of the scenario again. What had the focus gets it back.
function render() {
  const scenario = scenarios[state.scenario], mount = sections[state.scenario].querySelector(".charts");
  const inTime = document.activeElement.classList.contains("time");
  const focused = [...mount.querySelectorAll("[tabindex],input,button,select")].indexOf(document.activeElement);
  hideTip();
  const width = mount.clientWidth || 1000;
  const wide = width > 700;
  const frame = frameOf(width, scenario.policies.filter((p) => p.slot >= 0));
  xScale = frame.x;
  charts = panels.map((panel) => drawPanel(panel, scenario, frame));
  const time = html("div", {
    class: "time", tabindex: 0, role: "group", onkeydown: onKey, onpointermove: onMove, onpointerdown: onDown, onpointerup: onUp,
    onpointerleave: () => setCursor(null), onblur: () => setCursor(null),
    "aria-label": "Charts over time. Arrow keys move the cursor, with shift to the next decision. Plus and minus zoom, Escape shows the whole run.",
  }, ...charts.map((c) => c.figure));
  const list = decisionList(scenario, moveTo);
  mount.replaceChildren(...[
    html("div", { class: "overview" }, scatter(scenario, wide ? width * 0.6 - 24 : width, toggle), legend(scenario)),
    controls(scenario), time, list].filter((c) => c !== null));
  if (inTime) time.focus({ preventScroll: true });
  else if (focused >= 0) mount.querySelectorAll("[tabindex],input,button,select")[focused]?.focus({ preventScroll: true });
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

// The cursor, which all charts share.
function setCursor(t) {
  state.cursor = t;
  for (const c of charts) {
    c.cursor.setAttribute("visibility", t === null ? "hidden" : "visible");
    if (t !== null) { c.cursor.setAttribute("x1", xScale(t)); c.cursor.setAttribute("x2", xScale(t)); }
  }
  if (t === null) hideTip();
}

// moveTo puts the cursor at a time, with the box beside it where asked.
function moveTo(t, withTip, place) {
  setCursor(Math.min(state.range[1], Math.max(state.range[0], t)));
  if (!withTip) return;
  const scenario = scenarios[state.scenario];
  const reach = Math.abs(xScale.invert(7) - xScale.invert(0));
  const line = charts[1].cursor.getBoundingClientRect();
  showTip(place || line, moment(scenario, state.cursor, nearDecisions(scenario, state.cursor, reach)));
}

let dragged = null;

// timeAt is the time below the pointer.
function timeAt(e) {
  const box = charts[0].root.getBoundingClientRect();
  const scale = charts[0].root.viewBox.baseVal.width / box.width;
  return Math.min(state.range[1], Math.max(state.range[0], xScale.invert((e.clientX - box.left) * scale - inset.left)));
}

function onMove(e) {
  const t = timeAt(e);
  moveTo(t, true, { left: e.clientX, right: e.clientX, top: e.clientY + 12 });
  if (dragged === null) return;
  const [a, b] = [Math.min(dragged, t), Math.max(dragged, t)];
  for (const c of charts) {
    c.brush.setAttribute("visibility", "visible");
    c.brush.setAttribute("x", xScale(a));
    c.brush.setAttribute("width", Math.max(0, xScale(b) - xScale(a)));
  }
}

function onDown(e) {
  if (e.pointerType === "mouse" && e.button === 0) dragged = timeAt(e);
}

function onUp(e) {
  if (dragged === null) return;
  const t = timeAt(e), from = Math.min(dragged, t), to = Math.max(dragged, t);
  dragged = null;
  for (const c of charts) c.brush.setAttribute("visibility", "hidden");
  if (xScale(to) - xScale(from) > 8) zoom(from, to);
}

function onKey(e) {
  const [from, to] = state.range, now = state.cursor ?? (from + to) / 2, step = (to - from) / 200;
  const direction = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (direction && e.shiftKey) moveTo(nextDecision(now, direction), true);
  else if (direction) moveTo(now + direction * step, true);
  else if (e.key === "Home") moveTo(from, true);
  else if (e.key === "End") moveTo(to, true);
  else if (e.key === "+" || e.key === "=") lookAround(now, (to - from) / 4);
  else if (e.key === "-") lookAround(now, to - from);
  else if (e.key === "Escape") { setCursor(null); zoom(0, scenarios[state.scenario].end); } else return;
  e.preventDefault();
}

// lookAround shows the time around t, with the cursor on it.
function lookAround(t, reach) {
  zoom(t - reach, t + reach);
  moveTo(t, true);
}

function nextDecision(t, direction) {
  const times = scenarios[state.scenario].policies.filter((p) => p.slot >= 0).flatMap((p) => shownDecisions(p).map((d) => d.t))
    .filter((d) => direction * (d - t) > 0 && d >= state.range[0] && d <= state.range[1]);
  return times.length === 0 ? t : direction > 0 ? Math.min(...times) : Math.max(...times);
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
if (wanted.has("time")) moveTo(Number(wanted.get("time")) || 0, true);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) { width = innerWidth; render(); }
});
