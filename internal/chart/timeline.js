// Panels with one cursor: the pointer or the arrow keys move it, a drag or plus and minus zoom.
import { html } from "./draw.js";
import { drawPanel } from "./panels.js";
import { hideTip, showTip } from "./tip.js";

// timeline returns { element, draw, moveTo }. Its options are
//   label    what a screen reader says of it
//   zoom     called with the range [from, to] that was chosen
//   whole    called when all of the time is to be shown
//   moment   the elements of the box at a time; decisions within some seconds of it count as near
//   stops    the times of the marks, which shift with an arrow key reaches
//   open     called with a time and a reach on Enter; may be left out
export function timeline({ label, zoom, whole, moment, stops, open }) {
  let charts = [], frame = null, cursor = null, dragged = null;
  const element = html("div", {
    class: "time", tabindex: 0, role: "group", "aria-label": label,
    onkeydown: onKey, onpointermove: onMove, onpointerdown: onDown, onpointerup: onUp,
    onpointerleave: () => setCursor(null), onblur: () => setCursor(null),
  });

  function draw(panels, at) {
    frame = at;
    charts = panels.map((panel) => drawPanel(panel, frame));
    element.replaceChildren(...charts.map((c) => c.figure));
    if (cursor !== null) setCursor(cursor >= frame.range[0] && cursor <= frame.range[1] ? cursor : null);
  }

  function setCursor(t) {
    cursor = t;
    for (const c of charts) {
      c.cursor.setAttribute("visibility", t === null ? "hidden" : "visible");
      if (t !== null) { c.cursor.setAttribute("x1", frame.x(t)); c.cursor.setAttribute("x2", frame.x(t)); }
    }
    if (t === null) hideTip();
  }

  // reach is how many seconds a few pixels are.
  function reach() {
    return Math.abs(frame.x.invert(7) - frame.x.invert(0));
  }

  // moveTo puts the cursor at a time, with the box beside it where asked.
  function moveTo(t, withTip, place) {
    setCursor(Math.min(frame.range[1], Math.max(frame.range[0], t)));
    if (withTip) showTip(place || charts[1].cursor.getBoundingClientRect(), moment(cursor, reach()));
  }

  // timeAt is the time below the pointer.
  function timeAt(e) {
    const box = charts[0].root.getBoundingClientRect();
    const x = (e.clientX - box.left) * frame.width / box.width - frame.left;
    return frame.x.invert(Math.min(frame.inner, Math.max(0, x)));
  }

  function onMove(e) {
    const t = timeAt(e);
    moveTo(t, true, { left: e.clientX, right: e.clientX, top: e.clientY + 12 });
    if (dragged === null) return;
    const a = Math.min(dragged, t), b = Math.max(dragged, t);
    for (const c of charts) {
      c.brush.setAttribute("visibility", "visible");
      c.brush.setAttribute("x", frame.x(a));
      c.brush.setAttribute("width", Math.max(0, frame.x(b) - frame.x(a)));
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
    if (frame.x(to) - frame.x(from) > 8) zoom(from, to);
  }

  function onKey(e) {
    const [from, to] = frame.range, now = cursor ?? (from + to) / 2, step = (to - from) / 200;
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (direction && e.shiftKey) moveTo(nextStop(now, direction), true);
    else if (direction) moveTo(now + direction * step, true);
    else if (e.key === "Home") moveTo(from, true);
    else if (e.key === "End") moveTo(to, true);
    else if (e.key === "+" || e.key === "=") lookAround(now, (to - from) / 4);
    else if (e.key === "-") lookAround(now, to - from);
    else if (e.key === "Enter" && open && cursor !== null) open(cursor, reach());
    else if (e.key === "Escape" && (cursor !== null || !open)) { setCursor(null); whole(); } else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // lookAround shows the time around t, with the cursor on it.
  function lookAround(t, far) {
    zoom(t - far, t + far, t);
  }

  function nextStop(now, direction) {
    const times = stops().filter((t) => direction * (t - now) > 1e-6 && t >= frame.range[0] && t <= frame.range[1]);
    return times.length === 0 ? now : direction > 0 ? Math.min(...times) : Math.max(...times);
  }

  return { element, draw, moveTo };
}
