// One question at a time: a new one ends the one before.
import { html } from "../../../chart/draw.js";
import { sentence } from "./api.js";

// loader returns a function that asks, and calls done with the answer; failures show in an element, with
// what was shown before left as it is.
export function loader(into, done) {
  const note = html("div", { class: "notice bad", role: "alert", hidden: true });
  into.append(note);
  let underWay = null;
  const load = async (ask) => {
    underWay?.abort();
    const mine = underWay = new AbortController();
    try {
      const found = await ask(mine.signal);
      if (mine !== underWay) return;
      note.hidden = true;
      done(found);
    } catch (error) {
      if (mine !== underWay || error.name === "AbortError") return;
      note.replaceChildren(html("p", {}, sentence(error)), html("button", { type: "button", onclick: () => load(ask) }, "Try again"));
      note.hidden = false;
      into.querySelector(".loading")?.remove();
    }
  };
  load.stop = () => { underWay?.abort(); underWay = null; };
  return load;
}
