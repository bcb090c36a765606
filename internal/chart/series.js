// Series: { t, v } with times in seconds that do not fall, and null where a value is not known.

// after returns the index of the first time after t.
export function after(times, t) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1; else high = middle;
  }
  return low;
}

// held is the value that a series of steps has at t, null before the first.
export function held(series, t) {
  const i = after(series.t, t);
  return i > 0 ? series.v[i - 1] : null;
}

// nearest is the value of the point nearest to t, null beyond the ends.
export function nearest(series, t) {
  const n = series.t.length, i = after(series.t, t);
  if (n === 0 || t > series.t[n - 1] + 1) return null;
  if (i === 0) return series.v[0];
  if (i === n) return series.v[n - 1];
  return t - series.t[i - 1] <= series.t[i] - t ? series.v[i - 1] : series.v[i];
}

// within cuts a series to a range of time, with one point more on either side.
export function within(series, [from, to]) {
  const a = Math.max(0, after(series.t, from) - 1), b = after(series.t, to) + 1;
  return { t: series.t.slice(a, b), v: series.v.slice(a, b) };
}
