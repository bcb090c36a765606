// What the server of the dashboard is asked.

// Refused is an answer that says why there is nothing.
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

// ask fetches JSON; parameters that are null are left out. It throws Refused with what the server said.
export async function ask(path, parameters, signal) {
  const known = Object.entries(parameters || {}).filter(([, v]) => v !== null && v !== undefined);
  const query = known.length ? "?" + new URLSearchParams(known) : "";
  return answer(await fetch(path + query, { signal, cache: "no-store" }));
}

// send posts JSON.
export async function send(path, body, signal) {
  return answer(await fetch(path, { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

async function answer(response) {
  if (response.status === 401) {
    throw new Refused(401, "This page is no longer signed in. Open the address that wva dashboard prints, or start it again.");
  }
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refused(response.status, "The answer of the dashboard's server cannot be read (status " + response.status + ").");
  }
  if (!response.ok) throw new Refused(response.status, body.error || "The dashboard's server answered with status " + response.status + ".");
  if (body?.notYet) throw new Refused(503, body.notYet);
  return body;
}

// sentence says what went wrong, to a reader.
export function sentence(error) {
  return error instanceof Refused ? error.message : "The server of the dashboard does not answer. Does wva dashboard still run?";
}
