// The line at the top, the banner below it, and what a screen reader is told.
import { html } from "../../../chart/draw.js";
import { ago, moment } from "./format.js";

const source = document.getElementById("source"), bannerElement = document.getElementById("banner");
const live = document.getElementById("live");
const banners = new Map();
let shown = null;

// showBanner shows a sentence until it is called with "" for the same subject.
export function showBanner(subject, text) {
  if ((banners.get(subject) || "") === text) return;
  if (text === "") banners.delete(subject); else banners.set(subject, text);
  const texts = [...new Set(banners.values())];
  bannerElement.hidden = texts.length === 0;
  bannerElement.replaceChildren(...texts.map((t) => html("p", {}, t)));
}

// showSource says where what is shown is from.
export function showSource(fleet) {
  shown = fleet;
  const { kind, name, trouble } = fleet.source;
  showBanner("manager", trouble || "");
  showBanner("refused", fleet.refused && fleet.refused.length ? "Not shown: " + fleet.refused.join("; ") : "");
  source.replaceChildren(html("span", { class: "dot " + (trouble ? "s-bad" : kind === "live" ? "s-good" : "s-note") }),
    html("span", { class: "where" }, kind === "record" ? "Record " + name.split("/").at(-1) : name),
    html("span", { class: "when" }));
  source.setAttribute("title", (kind === "record" ? "Recorded cycles of " : "Live, from ") + name + "; cycle " + fleet.cycle);
  age();
}

function age() {
  if (!shown) return;
  const when = source.querySelector(".when");
  const text = shown.source.kind === "record" ? moment(shown.at) : ago(Date.now() / 1000 - shown.at);
  if (when.textContent !== text) when.textContent = text;
}

// announce has a screen reader say a sentence.
export function announce(text) {
  if (live.textContent !== text) live.textContent = text;
}

setInterval(() => { if (!document.hidden) age(); }, 1000);
