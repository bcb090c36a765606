// A decision: what was decided, why, and each step with its numbers.
import { html } from "../../../chart/draw.js";
import { absent } from "../../../chart/number.js";
import { ask } from "./api.js";
import { duration, moment } from "./format.js";
import { loader } from "./load.js";
import { to } from "./route.js";

const states = { aging: ["aging", "note"], stale: ["stale", "warn"], absent: ["not known", "soft"], "not applicable": ["not applicable", "soft"] };

export function decisionPage(main, route, trail) {
  const [namespace, name, cycle] = route.parts;
  const heading = html("h1", { tabindex: -1 }, name || ""), about = html("p", { class: "about" }), body = html("div", {}, html("p", { class: "loading", role: "status" }, "Loading the decision…"));
  main.append(heading, about);
  const load = loader(main, draw);
  main.append(body);
  let fleet = null, model = null, asked = false;

  function draw(d) {
    const of = fleet?.models.find((m) => m.model === d.model && m.variants.some((v) => v.namespace === namespace && v.name === name));
    model = { namespace: of ? of.namespace : namespace, model: d.model };
    trail([[d.model, to.model(model)], [name, ""]]);
    about.replaceChildren(html("a", { href: to.model(model) }, d.model), " · " + d.variant.namespace + " · " + moment(d.t) + " · cycle ", html("code", {}, d.cycle));
    body.replaceChildren(html("p", { class: "verdict" }, d.sentence), ...(d.changed ? [html("p", { class: "about" }, d.changed)] : []),
      html("div", { class: "split decided" }, html("div", { class: "steps" }, ...(d.sections || []).map(section)), why(d)));
  }

  return {
    title: "Decision for " + name, crumbs: [[name, ""]],
    update(next) {
      fleet = next;
      if (asked) return; // a decision does not change
      asked = true;
      load((signal) => ask("/api/decision", { namespace, name, cycle }, signal));
    },
    leave: load.stop,
    keys(e) {
      if (e.key === "o") {
        const all = [...main.querySelectorAll("details")], open = all.some((d) => !d.open);
        for (const d of all) d.open = open;
        return true;
      }
      if (e.key === "r" && model) { location.hash = to.replicas(model); return true; }
      return false;
    },
    keyHelp: [["o", "how each number came to be, all at once"], ["r", "replicas of the model"]],
  };
}

function section({ title, sentences, numbers }) {
  return html("section", { class: "step" }, html("h2", {}, title), ...(sentences || []).map((s) => html("p", {}, s)),
    numbers && numbers.length ? html("div", { class: "figures" }, ...numbers.map(figure)) : null);
}

function figure({ name, value, unit, how, age, state }) {
  const [word, tone] = states[state] || ["", ""], known = value !== "" && value !== null && value !== undefined, shown = known ? rounded(value) : absent;
  const head = [html("span", { class: "term" }, name), html("span", { class: "value" }, shown, known && unit ? html("small", {}, " " + unit) : null),
    html("span", { class: "state", "data-tone": tone || null }, word)];
  if (!how && age === null) return html("div", { class: "figure" }, ...head);
  return html("details", { class: "figure" }, html("summary", {}, ...head),
    how ? html("p", {}, how) : null, known && shown !== value ? html("p", { class: "about" }, "To all digits it is " + value + ".") : null, age === null || age === undefined ? null : html("p", { class: "about" }, "It was " + duration(age) + " old."));
}

// rounded is a number to four digits, and any other text as it is.
function rounded(text) {
  const v = Number(text);
  return /^-?[0-9.]+(e[-+][0-9]+)?$/.test(text) && Number.isFinite(v) && !Number.isInteger(v) ? String(Number(v.toPrecision(4))) : text;
}

function why(d) {
  const answers = (d.why || []).map(({ question, answer }) => html("div", {}, html("h3", {}, question), html("p", { class: "answer" }, answer)));
  return html("section", { class: "aside why", "aria-label": "Why not otherwise" },
    html("h2", {}, "Why not otherwise"), ...(answers.length ? answers : [html("p", { class: "about" }, d.whyNot || "Nothing is known of what would change it.")]));
}
