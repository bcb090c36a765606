// Package config is the operator's configuration: what the manager is told by flags and
// environment, with defaults, validated once and immutable after.
//
// A flag wins over its environment twin, which wins over the file that --config-file names, which
// wins over the default. A twin is the flag's name in upper case with underscores (--leader-elect
// and LEADER_ELECT), unless the flag's help names another. The file uses the names of the twins.
// The manager refuses an invalid value at start, and names the key, the value and the accepted
// values.
//
// A Store turns ConfigMaps into immutable Snapshots while the manager runs: the settings of the
// manager, and for every model its complete ModelSettings, objective, costs and quotas. It reads
// all ConfigMaps at once, so their order of arrival does not matter:
//
//	defaults < ConfigMaps of the system namespace < those of the model's
//	namespace, field by field < --config-file < environment < flags
//
// A refused value is a Finding that names ConfigMap, key, field, value and the accepted values. The
// last good value stays in force as long as the ConfigMap exists; the default holds where there was
// none. Each of these is accepted or refused by itself: a field of KindSettings or KindScaleToZero,
// a row or field of a class, the list of a namespace's quota, an entry of any other kind. Reading
// takes time in proportion to the ConfigMaps, and each yields a bounded number of findings.
//
// The package has no client: the watcher of ConfigMaps passes values to it.
package config
