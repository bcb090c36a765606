// A row of the fleet: made once, then patched, so that the focus, the selection and the scrolling stay.
import { html } from "../../../chart/draw.js";
import { icon } from "./icon.js";

// columns of the table, in the order in which they stand; sort says by which value.
export const columns = [
  { key: "name", head: "Model", sort: (m) => m.model },
  { key: "desired", head: "Desired", number: true, sort: (m) => m.totals.desired.sum },
  { key: "ready", head: "Ready", number: true, sort: (m) => m.totals.ready.sum },
  { key: "ordered", head: "Ordered", number: true, sort: (m) => m.totals.ordered },
  { key: "late", head: "Late", number: true, sort: (m) => m.totals.late },
  { key: "load", head: "Load", unit: "req/s", number: true, sort: (m) => m.load ?? -1 },
  { key: "attained", head: "Attained", unit: "objective", number: true, sort: (m) => -(m.missed ?? -1) },
  { key: "cost", head: "Cost", unit: "per hour", number: true, sort: (m) => m.cost ?? -1 },
  { key: "wrong", head: "What is wrong", sort: (m) => m.look },
];

// Row is one line. set takes { look, cells: { key: { text, small, href, tone, title } } } and changes what differs.
export class Row {
  constructor(level) {
    this.was = {};
    this.look = -1;
    this.mark = html("span", { class: "mark" });
    this.fold = html("button", { type: "button", class: "fold", tabindex: -1, "aria-hidden": "true" });
    this.cells = {};
    const cells = columns.map(({ key, number, head, unit }) => {
      const link = html("a", { tabindex: -1 }), small = html("small", {});
      const cell = html("div", { role: "gridcell", class: "cell c-" + key + (number ? " number" : ""), "data-label": number ? head + (unit === "req/s" ? ", " + unit : "") : null },
        ...(key === "name" ? [this.fold, this.mark] : []), html("span", { class: "text" }, link, small));
      this.cells[key] = { cell, link, small };
      return cell;
    });
    this.element = html("div", { role: "row", class: "row level" + level, "aria-level": level, tabindex: -1 }, ...cells);
    this.element.row = this;
  }

  set({ look, cells, expanded }) {
    if (look !== this.look) {
      this.mark.replaceChildren(icon(look));
      this.element.dataset.look = look;
      this.look = look;
    }
    if (expanded !== this.expanded) {
      if (expanded === undefined) this.element.removeAttribute("aria-expanded"); else this.element.setAttribute("aria-expanded", expanded);
      this.expanded = expanded;
    }
    for (const { key } of columns) this.setCell(key, cells[key] || { text: "" });
  }

  setCell(key, { text, small = "", href = "", tone = "", title = "" }) {
    const was = this.was[key] ||= { text: "", small: "", href: "", tone: "", title: "" };
    const { cell, link, small: below } = this.cells[key];
    if (text !== was.text) link.textContent = text;
    if (small !== was.small) below.textContent = small;
    if (href !== was.href) { if (href) link.setAttribute("href", href); else link.removeAttribute("href"); }
    if (tone !== was.tone) cell.dataset.tone = tone;
    if (title !== was.title) { if (title) cell.setAttribute("title", title); else cell.removeAttribute("title"); }
    Object.assign(was, { text, small, href, tone, title });
  }
}

// order makes children the rows of a container, moving only those that stand elsewhere.
export function order(container, elements) {
  const wanted = new Set(elements), focused = document.activeElement;
  for (const child of [...container.children]) if (!wanted.has(child)) child.remove();
  let next = container.firstElementChild;
  for (const element of elements) {
    if (element === next) next = next.nextElementSibling;
    else container.insertBefore(element, next);
  }
  if (document.activeElement !== focused && container.contains(focused)) focused.focus({ preventScroll: true });
}
