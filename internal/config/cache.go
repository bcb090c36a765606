package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// The modes, named by what sets the time that measurements are kept.
const (
	CacheFixed    = "fixed"    // TTL
	CacheInterval = "interval" // the time between cycles
	CacheAdaptive = "adaptive" // up to TTL while readings are steady, down to a quarter of it while they change
)

// CacheModes returns the names of the modes, the default first.
func CacheModes() []string { return []string{CacheFixed, CacheInterval, CacheAdaptive} }

// Cache says how long the manager keeps measurements, and from which age on they count as stale. It
// applies to every backend. The names of its settings begin with PROMETHEUS_METRICS_CACHE_, as
// published.
type Cache struct {
	Enabled bool
	Mode    string // one of CacheModes
	// TTL is the longest time that a measurement is used, 1s to UnavailableThreshold. CacheInterval
	// ignores it.
	TTL             time.Duration
	CleanupInterval time.Duration // between two removals of expired measurements, 1s to 24h
	MaxEntries      int           // models kept, 1 to 1,000,000
	// FetchInterval is the time between two background fetches, 1s to
	// UnavailableThreshold; 0 is off.
	FetchInterval time.Duration
	// FreshThreshold and UnavailableThreshold are the least ages at which a page stops being Fresh
	// and becomes Stale, 1s to 1h. The second is at least the first.
	FreshThreshold, UnavailableThreshold time.Duration
	// StaleThreshold has no effect. It is read because manifests of published
	// versions set it.
	StaleThreshold time.Duration
}

// The ranges of the settings.
const (
	shortestAge, longestAge         = time.Second, time.Hour
	shortestCleanup, longestCleanup = time.Second, 24 * time.Hour
	mostEntries                     = 1_000_000
)

// cacheKey is the prefix of the environment variables of the cache.
const cacheKey = "PROMETHEUS_METRICS_CACHE_"

func (c *Cache) define(d *definition) {
	const name = "prometheus-metrics-cache-"
	d.truth(&c.Enabled, name+"enabled", true, "keep measurements between cycles, from any backend")
	d.text(&c.Mode, name+"mode", CacheFixed, "how long: fixed (the TTL), interval (the time between cycles), adaptive (up to the TTL while readings do not move, down to a quarter of it while they do)")
	d.duration(&c.TTL, name+"ttl", 30*time.Second, "time that a measurement is kept, 1s to the unavailable threshold")
	d.duration(&c.CleanupInterval, name+"cleanup-interval", 5*time.Minute, "time between removals of what has expired, 1s to 24h")
	d.count(&c.MaxEntries, name+"max-entries", 10_000, "models kept at most, 1 to 1000000")
	d.duration(&c.FetchInterval, name+"fetch-interval", 15*time.Second, "time between background fetches, 1s to the unavailable threshold and no longer than the time between cycles; 0 is off")
	d.duration(&c.FreshThreshold, name+"fresh-threshold", time.Minute, "age at which metrics stop being fresh, at least: scrape interval and TTL may raise it")
	d.duration(&c.UnavailableThreshold, name+"unavailable-threshold", 5*time.Minute, "age at which metrics count for nothing, at least")
	d.duration(&c.StaleThreshold, name+"stale-threshold", 0, "accepted and without effect, as in the versions that published it")
}

// Background reports whether the manager fetches measurements between cycles. Without a cache it
// could not keep them.
func (c *Cache) Background() bool { return c.Enabled && c.FetchInterval > 0 }

func (c *Cache) validate() error {
	if !slices.Contains(CacheModes(), c.Mode) {
		return &FieldError{Key: cacheKey + "MODE", Value: c.Mode, Want: oneOf(CacheModes())}
	}
	// The thresholds first: they bound the others.
	if err := within(cacheKey+"FRESH_THRESHOLD", c.FreshThreshold, shortestAge, longestAge); err != nil {
		return err
	}
	if err := within(cacheKey+"UNAVAILABLE_THRESHOLD", c.UnavailableThreshold, c.FreshThreshold, longestAge); err != nil {
		return err
	}
	if c.StaleThreshold < 0 {
		return &FieldError{Key: cacheKey + "STALE_THRESHOLD", Value: c.StaleThreshold.String(), Want: "a duration, which has no effect"}
	}
	if err := within(cacheKey+"TTL", c.TTL, time.Second, c.UnavailableThreshold); err != nil {
		return err
	}
	if err := within(cacheKey+"CLEANUP_INTERVAL", c.CleanupInterval, shortestCleanup, longestCleanup); err != nil {
		return err
	}
	if c.FetchInterval != 0 && (c.FetchInterval < time.Second || c.FetchInterval > c.UnavailableThreshold) {
		return &FieldError{
			Key: cacheKey + "FETCH_INTERVAL", Value: c.FetchInterval.String(),
			Want: fmt.Sprintf("a duration from 1s to %s (%sUNAVAILABLE_THRESHOLD), or 0 for off", spelling.Duration(c.UnavailableThreshold), cacheKey),
		}
	}
	return between(cacheKey+"MAX_ENTRIES", c.MaxEntries, 1, mostEntries)
}

// warnings lists accepted values that do not have the effect that a user may expect.
func (c *Cache) warnings() []string {
	var out []string
	if c.StaleThreshold != 0 {
		out = append(out, fmt.Sprintf("%sSTALE_THRESHOLD=%s has no effect: metrics are fresh up to the fresh threshold and count for nothing from the unavailable threshold on",
			cacheKey, spelling.Duration(c.StaleThreshold)))
	}
	if c.Background() && c.Mode == CacheFixed && c.FetchInterval > c.TTL {
		out = append(out, fmt.Sprintf("%sFETCH_INTERVAL=%s is longer than %sTTL=%s: measurements expire before they are fetched again, and cycles in between wait for them",
			cacheKey, spelling.Duration(c.FetchInterval), cacheKey, spelling.Duration(c.TTL)))
	}
	return out
}
