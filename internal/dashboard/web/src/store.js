// The fleet as it was last fetched, and who wants to know.
import { ask, sentence } from "./api.js";
import { showBanner } from "./bar.js";

let latest = null, underWay = null, again = false, lastStart = 0;
const told = [];

export function fleet() {
  return latest;
}

export function onFleet(call) {
  told.push(call);
}

// refresh fetches the fleet anew: once at a time, once a second at most, and only while the page is
// seen. A wish in between is kept. revision is the one that is to be had; it is left out for any.
export async function refresh(revision) {
  if (latest && revision !== undefined && revision === latest.revision) return;
  if (document.hidden && latest) { again = true; return; }
  if (underWay) { again = true; return; }
  const wait = Math.max(0, lastStart + 1000 - performance.now());
  underWay = fetchOne(lastStart === 0 ? 0 : wait);
  await underWay;
  underWay = null;
  if (again) { again = false; await refresh(revision); }
}

async function fetchOne(wait) {
  if (wait > 0) await new Promise((done) => setTimeout(done, wait));
  again = false; // what was wished for while waiting is met by this
  lastStart = performance.now();
  try {
    latest = complete(await ask("/api/fleet"));
    showBanner("server", "");
  } catch (error) {
    showBanner("server", sentence(error));
    return;
  }
  for (const call of told) call(latest);
}

// complete puts empty lists where JSON has null.
function complete(found) {
  found.models ||= [];
  for (const m of found.models) {
    m.troubles ||= [];
    m.variants ||= [];
    for (const v of m.variants) v.troubles ||= [];
  }
  return found;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && again) { again = false; refresh(); }
});
