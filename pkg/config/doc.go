// Package config is the declarative input and output of the optimizer, as JSON
// or YAML: accelerators, measured profiles of models on them, service classes,
// servers with their load, and the accelerators in stock; and, as the answer,
// the allocation of each server.
//
// The document has one key at its top, "system". Documents written for the published versions of
// the optimizer load unchanged. Where those silently accepted input that they could not use, Parse
// returns an error that names the field, its value and the accepted values:
//
//   - a key that is not part of the document, or a value of the wrong kind;
//   - a number that is infinite, not a number, negative or absurdly large;
//   - a name used twice (published: the later one replaced the earlier);
//   - a reference to an accelerator or a service class that is not declared;
//   - limited mode without capacityData, or an unknown saturation policy.
//
// Published documents rely on two things that stay accepted. A zero or absent number means its
// default: an accelerator count or a multiplicity of 1, a priority of [DefaultPriority]. A negative
// arrival rate means that the load is unknown; such a server gets no allocation.
//
// The package only describes data: pkg/core turns a System into values to compute with. The units
// are those of the document (costs per hour, arrival rates per minute); pkg/core converts them.
package config
