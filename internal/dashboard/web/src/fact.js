// A number of a page with what it is, for a list of class totals.
import { html } from "../../../chart/draw.js";

export function fact(term, value, tone = "") {
  return html("div", {}, html("dt", {}, term), html("dd", { "data-tone": tone || null }, value));
}
