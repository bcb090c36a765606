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

export const scenarios = packed.scenarios.map((s) => ({
  ...s, offered: decodeSeries(s.offered), policies: (s.policies || []).map(decodePolicy),
}));

// clock writes seconds since the start as h:mm, with seconds where they matter.
export function clock(s, withSeconds) {
  const whole = Math.round(s), two = (n) => String(n).padStart(2, "0");
  const text = Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60) % 60);
  return withSeconds ? text + ":" + two(whole % 60) : text;
}

// look is the class with the colour of a policy, stroke that of its lines: seven
// colours, then the same with dashes.
export function look(policy) {
  return policy.slot < 0 ? "off" : "s" + policy.slot % 7;
}

export function stroke(policy) {
  return "series" + (policy.own ? " own" : "") + " d" + Math.floor(policy.slot / 7) % 3;
}
