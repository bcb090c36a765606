// Package config is the declarative input and output of the optimizer, as JSON
// or YAML: accelerators, measured profiles of models on them, service classes,
// servers with their load, and the accelerators in stock; and, as the answer,
// the allocation of each server.
//
// The document has one key at its top, "system". Documents written for the
// published versions of the optimizer load unchanged. Where those accepted
// silently what they could not use, Parse returns an error that names the field,
// its value and what is accepted:
//
//   - a key that is not part of the document, or a value of the wrong kind;
//   - a number that is not finite, negative, or absurdly large;
//   - a name used twice (published: the later one replaced the earlier);
//   - a reference to an accelerator or a service class that is not declared;
//   - limited mode without capacityData, or an unknown saturation policy.
//
// Two things stay accepted because published documents rely on them. A zero or
// an absent number means its default: an accelerator count or a multiplicity of
// 1, a priority of [DefaultPriority]. And a negative arrival rate means that the
// load is not known; such a server gets no allocation.
//
// The package holds no behaviour: pkg/core turns a System into values to compute
// with. Its own units are those of the document (costs per hour, arrival rates
// per minute); pkg/core converts them.
package config
