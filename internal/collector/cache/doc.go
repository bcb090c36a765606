// Package cache keeps measurements between the moment when they are fetched and
// the cycle that uses them: a Cache with a time to live, a bound on its size and
// eviction of what was used least recently (TTL), one that keeps nothing (NoOp),
// the policies by which the time to live is chosen, and a handler that shows and
// empties a cache.
//
// Keys are written `replica:<namespace>/<model>`, so that a prefix names one
// model, a namespace, or everything.
//
// The package knows nothing of the values that it keeps. internal/collector handles the callers,
// single flight and the freshness of readings. Another store (shared by several processes, say)
// implements Cache and is passed to collector.Options.
package cache
