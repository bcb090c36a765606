// The fleet: every model with its variants, those that need a look first.
import { html } from "../../../chart/draw.js";
import { absent, number, percent } from "../../../chart/number.js";
import { announce } from "./bar.js";
import { cost, count, some, sumText, total } from "./format.js";
import { to } from "./route.js";
import { columns, order, Row } from "./row.js";

// What the reader chose stays while other pages are looked at.
const kept = { unfolded: new Set(), sort: "wrong", down: true, focus: "" };

export function fleetPage(main, route) {
  const choice = { text: route.query.get("q") || "", namespace: route.query.get("namespace") || "", trouble: route.query.has("trouble") };
  const rows = new Map(); // by key
  let fleet = null, listed = [], inTrouble = -1, reached = null;

  const search = html("input", { type: "search", value: choice.text, placeholder: "Search models and variants", "aria-label": "Search models and variants", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", oninput: () => choose({ text: search.value }) });
  const namespaces = html("select", { "aria-label": "Namespace", onchange: () => choose({ namespace: namespaces.value }) }, html("option", { value: "" }, "All namespaces"));
  const trouble = html("input", { type: "checkbox", onchange: () => choose({ trouble: trouble.checked }) });
  trouble.checked = choice.trouble;
  const totals = html("dl", { class: "totals", "aria-label": "Totals" });
  const body = html("div", { role: "rowgroup", class: "rows" });
  const heads = columns.map(head);
  const unfoldAll = html("button", { type: "button", onclick: foldAll }, "Unfold all");
  const table = html("div", {
    role: "treegrid", class: "fleet", "aria-label": "Models and their variants", "aria-multiselectable": "false", onkeydown: onKey, onclick: onClick,
    onfocusin: (e) => { const row = e.target.closest(".rows > .row"); if (row) stop(row); },
  }, html("div", { role: "rowgroup" }, html("div", { role: "row", class: "row heads" }, ...heads.map((h) => h.element))), body);
  const nothing = html("div", { class: "empty", hidden: true });
  const shown = html("p", { class: "shown", "aria-live": "polite" });
  const loading = html("p", { class: "loading", role: "status" }, "Loading the fleet…");
  main.append(html("h1", { class: "unseen", tabindex: -1 }, "Fleet"), totals,
    html("div", { class: "filters", role: "search" }, search, namespaces, html("label", {}, trouble, "Only trouble"), unfoldAll, shown), loading, table, nothing);
  table.hidden = true;

  function head({ key, head: title, unit, number: right }) {
    const button = html("button", { type: "button", onclick: () => sortBy(key) }, title, unit ? html("small", {}, unit) : null);
    return { key, element: html("div", { role: "columnheader", class: "cell c-" + key + (right ? " number" : "") }, button) };
  }

  function sortBy(key) {
    kept.down = kept.sort === key ? !kept.down : key !== "name";
    kept.sort = key;
    draw();
  }

  function choose(change) {
    Object.assign(choice, change);
    history.replaceState(null, "", to.fleet({ q: choice.text, namespace: choice.namespace, trouble: choice.trouble && "1" }));
    draw();
  }

  function foldAll() {
    const all = unfoldAll.textContent === "Unfold all";
    for (const m of listed) if (all) kept.unfolded.add(m.key); else kept.unfolded.delete(m.key);
    draw();
  }

  function toggle(key, open = !kept.unfolded.has(key)) {
    if (open) kept.unfolded.add(key); else kept.unfolded.delete(key);
    draw();
  }

  // update takes a new fleet over.
  function update(next) {
    fleet = next;
    for (const m of fleet.models) prepare(m);
    const names = [...new Set(fleet.models.map((m) => m.namespace))].sort();
    if (choice.namespace && !names.includes(choice.namespace)) names.push(choice.namespace);
    if (namespaces.options.length !== names.length + 1) {
      namespaces.replaceChildren(html("option", { value: "" }, "All namespaces"), ...names.map((n) => html("option", { value: n }, n)));
    }
    namespaces.value = choice.namespace;
    const now = fleet.models.filter((m) => m.look >= 2).length;
    if (inTrouble >= 0 && now !== inTrouble) announce(some(now, "model needs", "models need") + " a look, " + inTrouble + " before");
    inTrouble = now;
    draw();
  }

  function draw() {
    if (!fleet) return;
    loading.remove();
    listed = sorted(fleet.models.filter(matches));
    const elements = [], live = new Set();
    for (const m of listed) {
      const open = kept.unfolded.has(m.key);
      elements.push(rowOf(m.key, 1, live, modelLine(m, open)));
      if (open) for (const v of m.variants) elements.push(rowOf(m.key + "\n" + v.namespace + "/" + v.name, 2, live, variantLine(fleet, m, v)));
    }
    for (const key of rows.keys()) if (!live.has(key)) rows.delete(key);
    order(body, elements);
    if (elements.length && !reached?.isConnected) stop(elements[0]);
    table.setAttribute("aria-rowcount", elements.length + 1);
    for (const { key, element } of heads) {
      if (key === kept.sort) element.setAttribute("aria-sort", kept.down ? "descending" : "ascending"); else element.removeAttribute("aria-sort");
    }
    unfoldAll.textContent = listed.length > 0 && listed.every((m) => kept.unfolded.has(m.key)) ? "Fold all" : "Unfold all";
    drawTotals(totals, listed);
    drawNothing();
    if (kept.focus) {
      const row = rows.get(kept.focus);
      kept.focus = "";
      if (row) row.element.focus({ preventScroll: true });
    }
  }

  function rowOf(key, level, live, line) {
    live.add(key);
    let row = rows.get(key);
    if (!row) {
      row = new Row(level);
      row.key = key;
      rows.set(key, row);
    }
    row.set(line);
    row.line = line;
    return row.element;
  }

  function drawNothing() {
    const all = fleet.models.length;
    table.hidden = listed.length === 0;
    nothing.hidden = listed.length > 0;
    const filtered = listed.length < all;
    const text = filtered ? some(listed.length, "model", "models") + " of " + count(all) : "";
    if (shown.textContent !== text) shown.textContent = text;
    if (listed.length > 0) return;
    nothing.replaceChildren(...(all === 0 ? emptyFleet(fleet) : [html("p", {}, "No model matches. "),
      html("button", { type: "button", onclick: () => { search.value = ""; trouble.checked = false; choose({ text: "", namespace: "", trouble: false }); update(fleet); } }, "Show all " + some(all, "model", "models"))]));
  }

  function matches(m) {
    return (!choice.trouble || m.look > 0) && (!choice.namespace || m.namespace === choice.namespace)
      && (!choice.text || choice.text.toLowerCase().split(/\s+/).every((word) => m.text.includes(word)));
  }

  // The row that Tab reaches.
  function stop(row) {
    reached?.setAttribute("tabindex", -1);
    row.setAttribute("tabindex", 0);
    reached = row;
  }

  function go(row) {
    if (!row) return;
    stop(row);
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  function onKey(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const row = e.target.closest(".rows > .row");
    if (!row || !move(e, row)) return;
    e.preventDefault();
    e.stopPropagation();
  }

  // move does what a key does on a row; it reports whether the key does anything.
  function move(e, element) {
    const row = element.row, folded = row.expanded === false, level = element.getAttribute("aria-level");
    switch (e.key) {
      case "ArrowDown": case "j": go(element.nextElementSibling); return true;
      case "ArrowUp": case "k": go(element.previousElementSibling); return true;
      case "Home": go(body.firstElementChild); return true;
      case "End": go(body.lastElementChild); return true;
      case "ArrowRight": if (folded) toggle(row.key, true); else if (level === "1") go(element.nextElementSibling); return true;
      case "ArrowLeft": if (level === "2") go(parentOf(element)); else toggle(row.key, false); return true;
      case " ": if (level === "1") toggle(row.key); return true;
      case "Enter": if (e.target !== element) return false; leaveTo(row, row.line.cells.name.href); return true;
      case "d": case "r": case "w": { const href = row.line[e.key]; if (href) leaveTo(row, href); return true; }
      default: return false;
    }
  }

  function parentOf(element) {
    while (element && element.getAttribute("aria-level") !== "1") element = element.previousElementSibling;
    return element;
  }

  function leaveTo(row, href) {
    kept.focus = row.key;
    location.hash = href;
  }

  function onClick(e) {
    const row = e.target.closest(".rows > .row")?.row;
    if (!row) return;
    if (e.target.closest("a[href]")) { kept.focus = row.key; return; }
    if (row.expanded !== undefined && String(getSelection()) === "") toggle(row.key);
  }

  return {
    title: "Fleet", update,
    keys(e) {
      if (e.key === "/") { search.focus(); search.select(); return true; }
      if (e.key === "j" || e.key === "ArrowDown" && document.activeElement === document.body) { go(reached); return true; }
      return false;
    },
    keyHelp: [["/", "search"], ["j k", "down and up the rows, as the arrows do"], ["→ ←", "unfold and fold a model"], ["Enter", "open the model or the variant"], ["d", "the last decision for a variant"], ["r", "its replicas"], ["w", "what if"]],
  };
}

// prepare adds what rows and the search need, once for each model of a fleet.
function prepare(m) {
  m.key = m.namespace + "/" + m.model;
  m.text = (m.key + " " + m.variants.map((v) => v.name + " " + v.accelerator).join(" ")).toLowerCase();
  m.totals = {
    desired: total(m.variants.map((v) => v.desired)), ready: total(m.variants.map((v) => v.ready)),
    ordered: total(m.variants.map((v) => v.ordered)).sum, late: total(m.variants.map((v) => v.late)).sum,
  };
}

function sorted(models) {
  const { sort } = columns.find((c) => c.key === kept.sort), sign = kept.down ? -1 : 1;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return models.sort((a, b) => sign * compare(sort(a), sort(b)) || b.look - a.look || compare(a.namespace, b.namespace) || compare(a.model, b.model));
}

function modelLine(m, expanded) {
  const { desired, ready, ordered, late } = m.totals, model = to.model(m), replicas = to.replicas(m);
  const short = ready.unknown === 0 && desired.unknown === 0 && ready.sum < desired.sum;
  return {
    look: m.look, expanded, r: replicas, w: to.whatif(m), d: "",
    cells: {
      name: { text: m.model, small: m.namespace + " · " + some(m.variants.length, "variant", "variants") + (m.advisory ? " · advisory" : ""), href: model },
      desired: { text: sumText(desired), href: model },
      ready: { text: sumText(ready), href: replicas, tone: short ? "warn" : "" },
      ordered: { text: ordered ? "+" + ordered : "0", href: ordered ? replicas : "", tone: ordered ? "" : "soft" },
      late: { text: String(late), href: late ? replicas : "", tone: late ? "bad" : "soft" },
      load: { text: number(m.load), small: m.waiting ? number(m.waiting) + " wait" : "", href: model },
      attained: { ...attained(m), href: model },
      cost: { text: cost(m.cost), href: to.whatif(m) },
      wrong: { text: m.troubles[0] || "", small: m.troubles.length > 1 ? "and " + (m.troubles.length - 1) + " more" : "", href: m.troubles.length ? model : "", title: m.troubles.join("\n") },
    },
  };
}

// attained says which part of the requests met the objective, and what part was asked for.
export function attained(m) {
  const { ttft, itl, attainment } = m.objective;
  if (ttft === null && itl === null) return { text: absent, small: "no objective", tone: "soft" };
  if (m.missed === null) return { text: absent, small: "of " + percent(attainment), tone: "soft" };
  return { text: percent(1 - m.missed), small: "of " + percent(attainment), tone: 1 - m.missed < attainment ? "bad" : "" };
}

const arrows = { grow: "↑ ", shrink: "↓ ", hold: "" };

function variantLine(fleet, m, v) {
  const decision = to.decision(v, fleet.cycle), replicas = to.replicas(m), late = v.late || 0, ordered = v.ordered || 0;
  const look = v.troubles.length ? Math.min(m.look, 2) || 1 : 0;
  return {
    look, r: replicas, w: to.whatif(m), d: decision,
    cells: {
      name: { text: v.name, small: v.accelerator + (v.gpus ? " × " + v.gpus : "") + " · " + bounds(v) + (v.namespace !== m.namespace ? " · " + v.namespace : ""), href: decision },
      desired: { text: (arrows[v.action] || "") + number(v.desired), href: decision, tone: v.action === "hold" ? "" : v.action },
      ready: { text: number(v.ready), href: replicas, tone: v.ready !== null && v.desired !== null && v.ready < v.desired ? "warn" : "" },
      ordered: { text: ordered ? "+" + ordered : "0", tone: ordered ? "" : "soft", href: ordered ? replicas : "" },
      late: { text: String(late), tone: late ? "bad" : "soft", href: late ? replicas : "" },
      cost: { text: v.desired === null ? absent : cost(v.cost * (v.current ?? v.desired)), small: cost(v.cost) + " each", href: to.whatif(m) },
      wrong: { text: v.troubles[0] || v.reason, small: v.troubles.length > 1 ? "and " + (v.troubles.length - 1) + " more" : "", tone: v.troubles.length ? "" : "soft", href: decision, title: [...v.troubles, v.reason].join("\n") },
    },
  };
}

export function bounds(v) {
  return (v.min ?? 0) + " to " + (v.max === null || v.max === undefined ? "any" : v.max);
}

function drawTotals(list, models) {
  const variants = models.flatMap((m) => m.variants);
  const sum = (of) => sumText(total(variants.map(of)), count);
  const need = models.filter((m) => m.look >= 2).length, late = total(variants.map((v) => v.late)).sum;
  const tiles = [
    ["need a look", count(need), need ? "warn" : "good"], ["models", count(models.length)], ["variants", count(variants.length)],
    ["desired", sum((v) => v.desired)], ["Ready", sum((v) => v.ready)], ["ordered", sum((v) => v.ordered)], ["late", count(late), late ? "bad" : ""],
    ["requests/s", sumText(total(models.map((m) => m.load)), (v) => number(v))], ["cost per hour", sumText(total(models.map((m) => m.cost)), cost)],
    ["GPUs", sumText(total(variants.map((v) => v.current === null || v.gpus === null ? null : v.current * v.gpus)), count)],
  ];
  if (list.children.length !== tiles.length) list.replaceChildren(...tiles.map(() => html("div", {}, html("dt", {}), html("dd", {}))));
  tiles.forEach(([name, text, tone = ""], i) => {
    const [term, value] = list.children[i].children;
    if (value.textContent !== text) value.textContent = text;
    if (term.textContent !== name) term.textContent = name;
    if (value.dataset.tone !== tone) value.dataset.tone = tone;
  });
}

function emptyFleet(fleet) {
  if (fleet.source.kind === "record") return [html("h2", {}, "The record holds no model"), html("p", {}, "No recorded cycle has a variant. Record a manager that scales one, or name another file.")];
  return [html("h2", {}, "No model is scaled yet"),
    html("p", {}, "A model appears here with the first cycle after a VariantAutoscaling names it. Where one exists and does not appear, its namespace may be excluded or not readable for you, or the object belongs to another controller instance."),
    html("ul", {}, html("li", {}, "create one: ", html("code", {}, "kubectl apply -f variantautoscaling.yaml")), html("li", {}, "see what is in the way: ", html("code", {}, "wva doctor")))];
}
