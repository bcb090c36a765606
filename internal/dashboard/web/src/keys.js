// The keyboard: keys of every page here, those of a page in its keys(event), which returns true for one it took.
import { html } from "../../../chart/draw.js";

const general = [["?", "this list"], ["Esc", "one page up, or out of a field"], ["g", "to the fleet"], ["t", "light, dark, or as the system has it"]];
const dialog = document.getElementById("keys");

// listenToKeys has page() answer with the page that is open.
export function listenToKeys(page) {
  document.getElementById("help").addEventListener("click", () => show(page()));
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || dialog.open) return;
    const typing = e.target instanceof HTMLInputElement && e.target.type !== "checkbox" && e.target.type !== "range" || e.target instanceof HTMLSelectElement;
    if (typing && e.key !== "Escape") return;
    if (page()?.keys?.(e)) { e.preventDefault(); return; }
    if (e.key === "?") show(page());
    else if (e.key === "g") location.hash = "#/";
    else if (e.key === "t") document.getElementById("theme").click();
    else if (e.key === "Escape" && typing) e.target.blur();
    else if (e.key === "Escape" && page()?.crumbs?.length > 0) location.hash = page().crumbs.at(-2)?.[1] || "#/"; else return;
    e.preventDefault();
  });
}

function show(page) {
  const list = (title, keys) => [html("h3", {}, title), html("dl", { class: "keys" }, ...keys.flatMap(([key, what]) => [
    html("dt", {}, ...key.split(" ").map((k) => html("kbd", {}, k))), html("dd", {}, what)]))];
  dialog.replaceChildren(html("h2", { id: "keys-title" }, "Keys"),
    ...(page?.keyHelp ? list("On this page", page.keyHelp) : []), ...list("Everywhere", general),
    html("form", { method: "dialog" }, html("button", { type: "submit" }, "Close")));
  dialog.showModal();
}
