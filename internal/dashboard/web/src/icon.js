// The marks of how much something needs a look: told apart by shape as by colour.
import { svg } from "../../../chart/draw.js";

export const looks = [
  { name: "fine", shape: "M4,8.5l2.6,2.6L12,5.4", class: "s-fine" },
  { name: "notice", shape: "M8,3a5,5 0 1,0 .01,0zM8,7.4v3.2M8,5.2v.1", class: "s-note" },
  { name: "needs a look", shape: "M8,2.6L14,13.2H2zM8,6.6v3M8,11.2v.1", class: "s-warn" },
  { name: "needs a look first", shape: "M5.4,2h5.2L14,5.4v5.2L10.6,14H5.4L2,10.6V5.4zM8,5v3.6M8,10.8v.1", class: "s-bad" },
];

// icon is the mark of a look from 0 to 3.
export function icon(look) {
  const mark = looks[Math.min(3, Math.max(0, look))];
  return svg("svg", { class: "icon " + mark.class, viewBox: "0 0 16 16", width: 16, height: 16, role: "img", "aria-label": mark.name }, svg("path", { d: mark.shape }));
}
