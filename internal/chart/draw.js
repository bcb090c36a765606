// Elements, scales and axes.
const NS = "http://www.w3.org/2000/svg"; // a name, which nothing fetches

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((c) => c !== null));
  return element;
}

export function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(NS, tag), attributes, children);
}

export function linear(from, to, low, high) {
  const slope = (high - low) / (to - from || 1);
  const at = (v) => low + (v - from) * slope;
  at.invert = (x) => from + (x - low) / slope;
  return at;
}

export function logarithmic(from, to, low, high) {
  const inner = linear(Math.log(from), Math.log(to), low, high);
  return (v) => inner(Math.log(Math.max(v, from)));
}

// roundStep returns 1, 2 or 5 times a power of ten that cuts span into about n.
export function roundStep(span, n) {
  const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((m) => m * power >= raw * 0.75) || 10);
}

export function ticks(from, to, step) {
  const list = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) list.push(Number((i * step).toPrecision(12)));
  return list;
}

export function logTicks(from, to) {
  const list = [];
  const parts = to / from > 300 ? [1] : to / from > 30 ? [1, 3] : [1, 2, 5];
  for (let power = 10 ** Math.floor(Math.log10(from)); power <= to; power *= 10) {
    for (const m of parts) if (m * power >= from && m * power <= to) list.push(m * power);
  }
  return list;
}

const timeSteps = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];

export function timeTicks(from, to, n) {
  const step = timeSteps.find((s) => (to - from) / s <= n) || roundStep(to - from, n);
  return { step, list: ticks(from, to, step) };
}

// vertical chooses the scale of values that are all 0 or more: logarithmic where
// they span more than a factor of 40.
export function vertical(values, height, options) {
  const known = values.filter((v) => v !== null);
  const greatest = Math.max(options.least || 1, ...known);
  const positive = known.filter((v) => v > 0);
  const least = Math.min(greatest, ...positive);
  if (options.mayBeLog && greatest / least > 40) {
    const from = least * 0.8, to = greatest * 1.25;
    return { at: logarithmic(from, to, height, 0), ticks: logTicks(from, to), log: true };
  }
  let step = roundStep(greatest * 1.08, options.ticks || 4);
  if (options.whole) step = Math.max(1, step);
  const to = Math.max(greatest * 1.08, step);
  return { at: linear(0, to, height, 0), ticks: ticks(0, to, step), log: false };
}

// path draws a series; steps hold each value until the next. A value alone
// between gaps becomes a dot.
export function path(series, x, y, steps) {
  let d = "", pen = false;
  series.t.forEach((t, i) => {
    const v = series.v[i];
    if (v === null) { pen = false; return; }
    const px = x(t).toFixed(1), py = y(v).toFixed(1);
    if (!pen) d += "M" + px + "," + py + "h.01";
    else if (steps) d += "H" + px + "V" + py;
    else d += "L" + px + "," + py;
    pen = true;
  });
  return d;
}

// apart moves labels down and up until none covers another; each has y, and they
// stay within [low, high].
export function apart(labels, gap, low, high) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((l, i) => { l.y = Math.max(l.y, i ? labels[i - 1].y + gap : low); });
  for (let i = labels.length - 1; i >= 0; i--) {
    labels[i].y = Math.min(labels[i].y, i < labels.length - 1 ? labels[i + 1].y - gap : high);
  }
  return labels;
}

export function shorten(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}
