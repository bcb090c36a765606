// The dashboard: one page at a time, chosen by what follows # in the address.
import { html } from "../../../chart/draw.js";
import { hideTip } from "../../../chart/tip.js";
import { listen } from "./events.js";
import { decisionPage } from "./decision.js";
import { fleetPage } from "./fleet.js";
import { showBanner, showSource } from "./bar.js";
import { listenToKeys } from "./keys.js";
import { modelPage } from "./model.js";
import { replicasPage } from "./replicas.js";
import { parse } from "./route.js";
import { fleet, onFleet, refresh } from "./store.js";
import { startTheme } from "./theme.js";
import { whatIfPage } from "./whatif.js";

const pages = { fleet: fleetPage, model: modelPage, decision: decisionPage, replicas: replicasPage, whatif: whatIfPage };
const main = document.getElementById("main");
const scrolled = new Map(); // how far each address was scrolled
let page = null, at = "", opened = false;

// show opens the page of the address, or lets the one that is open take the address over.
function show() {
  const hash = location.hash || "#/", route = parse(hash);
  if (page && page.takes && page.takes(route)) { at = hash; return; }
  if (page) {
    scrolled.set(at, scrollY);
    page.leave?.();
  }
  hideTip();
  at = hash;
  main.replaceChildren();
  main.setAttribute("aria-busy", "true");
  page = (pages[route.page] || missingPage)(main, route, trail);
  document.title = page.title + " · Workload Variant Autoscaler";
  crumbs(page.crumbs || []);
  update();
  if (opened && !main.contains(document.activeElement)) (main.querySelector("[data-focus]") || main.querySelector("h1") || main).focus({ preventScroll: true });
  opened = true;
  scrollTo(0, scrolled.get(hash) || 0);
}

// trail changes the way to the page that is open, once the page knows it.
function trail(way) {
  page.crumbs = way;
  crumbs(way);
}

function update() {
  if (!fleet()) return;
  const start = performance.now();
  page.update?.(fleet());
  main.removeAttribute("aria-busy");
  performance.measure("wva-update", { start });
}

// crumbs are the way from the fleet to what is shown: pairs of a text and an address, the last of which has none.
function crumbs(way) {
  const all = [["Fleet", "#/"], ...way];
  document.getElementById("crumbs").replaceChildren(html("ol", {}, ...all.map(([text, to], i) => html("li", {},
    i < all.length - 1 ? html("a", { href: to }, text) : html("span", { "aria-current": "page" }, text)))));
}

function missingPage(into) {
  into.append(html("h1", { tabindex: -1 }, "There is no such page"),
    html("p", { class: "empty" }, "The address ", html("code", {}, location.hash), " leads nowhere. ", html("a", { href: "#/" }, "To the fleet")));
  return { title: "No such page", crumbs: [["No such page", ""]] };
}

document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault(); // the address is that of the page
  main.focus();
});
addEventListener("hashchange", show);
startTheme();
listenToKeys(() => page);
onFleet((f) => {
  showSource(f);
  update();
});
show();
refresh();
listen(refresh, showBanner);
