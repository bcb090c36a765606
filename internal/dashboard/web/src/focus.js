const stops = (element) => [...element.querySelectorAll("a, button, summary, select, input")];

// keepFocus draws what is in an element anew; the link, button or row that had the focus has it again: the
// one in the same place of the part with the same data-key, or of the whole where parts have none.
export function keepFocus(element, draw) {
  const focused = document.activeElement;
  if (!element.contains(focused)) { draw(); return; }
  const part = focused.closest("[data-key]"), key = part?.dataset.key, at = stops(part || element).indexOf(focused);
  draw();
  const now = key === undefined ? element : [...element.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
  if (now) stops(now)[at]?.focus({ preventScroll: true });
}
