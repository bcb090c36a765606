// How numbers are written.
export const absent = "–";

export function number(v) {
  if (v === null || v === undefined) return absent;
  const size = Math.abs(v);
  if (size >= 100 || Number.isInteger(v)) return String(Math.round(v));
  return String(Number(v.toPrecision(3)));
}

// percent rounds down: what misses a target never reads as if it met it.
export function percent(ratio) {
  return ratio === null || ratio === undefined ? absent : Math.floor(ratio * 1000 + 1e-9) / 10 + " %";
}

export function latency(ms) {
  if (ms === null || ms === undefined) return absent;
  return ms >= 1000 ? number(ms / 1000) + " s" : number(ms) + " ms";
}
