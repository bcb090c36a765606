// Package config is the operator's configuration: what the manager is told by
// flags and environment, with defaults, validated once and immutable after.
//
// A flag wins over its environment twin, which wins over the file that
// --config-file names, which wins over the default. A twin is the flag's name in
// upper case with underscores (--leader-elect and LEADER_ELECT), unless the
// flag's help names another; the file has the names of the twins. Anything
// invalid is refused at start, with the key, the value and what is accepted.
//
// A Store turns ConfigMaps into immutable Snapshots while the manager runs: the
// settings of the manager, and for every model its Policy, Objective, costs and
// quotas, with nothing left to look up. It sees all ConfigMaps at once, so the
// order in which they came does not matter:
//
//	defaults < ConfigMaps of the system namespace < those of the model's
//	namespace, field by field < --config-file < environment < flags
//
// What is not accepted is a Finding that names ConfigMap, key, field, value and
// what is; the last good value stays in force as long as the ConfigMap is there,
// and the default where there never was one. A field of KindSettings or
// KindScaleToZero, a row or field of a class, the list of a namespace's quota and
// an entry of any other kind stand or fall by themselves. Reading takes time in
// proportion to the ConfigMaps, and each is good for a bounded number of findings.
//
// There is no client in here: the watcher of ConfigMaps hands over values.
package config
