// Package config is the operator's configuration: what the manager is told by
// flags and environment, with defaults, validated once and immutable after.
//
// A flag wins over its environment twin, which wins over the default. A twin is
// the flag's name in upper case with underscores (--leader-elect and
// LEADER_ELECT), unless the flag's help names another. Anything invalid is
// refused at start, with the key, the value and what is accepted.
package config
