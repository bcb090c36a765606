// What the page shows, decoded, and how numbers are written.
const packed = JSON.parse(document.getElementById("data").textContent);

// running turns differences back into times, in whole ms on the way.
function running(differences) {
  let ms = 0;
  return (differences || []).map((d) => (ms += Math.round(d * 1000)) / 1000);
}

function decodeSeries(s) {
  return { t: running(s.t), v: s.v };
}

// reason puts the numbers back into the holes of a phrase.
function reason(phrase, numbers) {
  if (numbers === "") return phrase;
  const filling = numbers.split(" ");
  return phrase.split("\u0000").map((part, i) => part + (filling[i] || "")).join("");
}

function decodeDecisions(d, policy) {
  return running(d.t).map((t, i) => ({
    t, policy, variant: d.variant[i], from: d.from[i], to: d.to[i],
    why: reason(packed.phrases[d.phrase[i]], d.numbers[i]),
  }));
}

function decodePolicy(p, index) {
  return {
    ...p, index, slot: -1, variants: p.variants || [], replicas: (p.replicas || []).map(decodeSeries),
    queued: decodeSeries(p.queued), ttft: decodeSeries(p.ttft), itl: decodeSeries(p.itl),
    decisions: decodeDecisions(p.decisions, index),
  };
}

const scenarios = packed.scenarios.map((s) => ({
  ...s, offered: decodeSeries(s.offered), policies: (s.policies || []).map(decodePolicy),
}));

const absent = "–";

function number(v) {
  if (v === null || v === undefined) return absent;
  const size = Math.abs(v);
  if (size >= 100 || Number.isInteger(v)) return String(Math.round(v));
  return String(Number(v.toPrecision(3)));
}

// percent rounds down: what misses a target never reads as if it met it.
function percent(ratio) {
  return ratio === null ? absent : Math.floor(ratio * 1000 + 1e-9) / 10 + " %";
}

function latency(ms) {
  if (ms === null) return absent;
  return ms >= 1000 ? number(ms / 1000) + " s" : number(ms) + " ms";
}

// clock writes seconds since the start as h:mm, with seconds where they matter.
function clock(s, withSeconds) {
  const whole = Math.round(s), two = (n) => String(n).padStart(2, "0");
  const text = Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60) % 60);
  return withSeconds ? text + ":" + two(whole % 60) : text;
}

// after returns the index of the first time after t.
function after(times, t) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1; else high = middle;
  }
  return low;
}

// held is the value that a series of steps has at t, null before the first.
function held(series, t) {
  const i = after(series.t, t);
  return i > 0 ? series.v[i - 1] : null;
}

// nearest is the value of the point nearest to t, null beyond the ends.
function nearest(series, t) {
  const n = series.t.length, i = after(series.t, t);
  if (n === 0 || t > series.t[n - 1] + 1) return null;
  if (i === 0) return series.v[0];
  if (i === n) return series.v[n - 1];
  return t - series.t[i - 1] <= series.t[i] - t ? series.v[i - 1] : series.v[i];
}
