// The box that says what is at the cursor: the element #tip of the page.
const tip = document.getElementById("tip");

// showTip shows the box beside a place on the screen.
export function showTip(place, children) {
  tip.replaceChildren(...children.filter((c) => c !== null));
  tip.hidden = false;
  const size = tip.getBoundingClientRect(), gap = 14;
  const left = place.right + gap + size.width > innerWidth ? place.left - gap - size.width : place.right + gap;
  tip.style.left = Math.max(8, left) + "px";
  tip.style.top = Math.max(8, Math.min(place.top, innerHeight - size.height - 8)) + "px";
}

export function hideTip() {
  tip.hidden = true;
}
