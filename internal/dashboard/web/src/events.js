// The events of the server: each cycle, and what is in the way. The browser connects again by itself
// where a connection ends; where the server refuses, this does, ever more seldom.
const longest = 30000; // ms between two tries
const asleep = 60000;  // ms between two looks at the clock that say that the machine slept

// listen calls refresh with the revision of each cycle, and banner with what is in the way.
export function listen(refresh, banner) {
  let source = null, pause = 1000, timer = 0;

  function open() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource("/api/events");
    let failed = false;
    source.addEventListener("open", () => {
      pause = 1000;
      banner("events", "");
      if (failed) refresh(); // what happened meanwhile was not told
      failed = false;
    });
    source.addEventListener("cycle", (e) => refresh(data(e).revision));
    source.addEventListener("trouble", (e) => banner("manager", data(e).sentence || ""));
    source.addEventListener("error", () => {
      failed = true;
      banner("events", "The server of the dashboard does not answer. What is shown is from before; the page goes on by itself once it answers.");
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(() => { open(); refresh(); }, pause * (0.75 + Math.random() / 2));
      pause = Math.min(longest, pause * 2);
    });
  }

  // After a sleep the connection may be dead without a word: one new one, and one refresh.
  let looked = Date.now();
  setInterval(() => {
    const now = Date.now(), slept = now - looked > asleep;
    looked = now;
    if (slept && !document.hidden) { open(); refresh(); }
  }, 5000);
  open();
}

function data(event) {
  try {
    return JSON.parse(event.data);
  } catch {
    return {};
  }
}
