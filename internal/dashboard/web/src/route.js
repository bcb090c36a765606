// Addresses within the dashboard: #/ is the fleet, #/model/NAMESPACE/MODEL a model, and so on.

// parse takes an address apart.
export function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const parts = path === "" ? [] : path.split("/").map(decoded);
  return { page: parts[0] || "fleet", parts: parts.slice(1), query: new URLSearchParams(query || "") };
}

// decoded is a part as it was before it was written into an address; one that is no such part stays.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function address(page, parts, query) {
  const known = Object.entries(query || {}).filter(([, v]) => v !== null && v !== undefined && v !== "" && v !== false);
  const path = "#/" + [page, ...parts].filter((p) => p !== "").map(encodeURIComponent).join("/");
  return known.length === 0 ? path : path + "?" + new URLSearchParams(known);
}

// to are the addresses of what there is.
export const to = {
  fleet: (query) => address("", [], query),
  model: (m, query) => address("model", [m.namespace, m.model], query),
  decision: (variant, cycle) => address("decision", [variant.namespace, variant.name, cycle]),
  replicas: (m, query) => address("replicas", [m.namespace, m.model], query),
  whatif: (m) => address("whatif", [m.namespace, m.model]),
};
