package cache

import (
	"container/list"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options are the settings of a TTL cache. The zero value works.
type Options struct {
	// CleanupInterval is how often Run drops expired entries. 0 means 5m. Until then an expired
	// entry takes space, and Peek alone finds it.
	CleanupInterval time.Duration
	// MaxEntries is the largest number of entries. 0 means 10,000.
	MaxEntries int
}

// withDefaults returns o with every unset field filled in.
func (o Options) withDefaults() Options {
	if o.CleanupInterval <= 0 {
		o.CleanupInterval = 5 * time.Minute
	}
	if o.MaxEntries <= 0 {
		o.MaxEntries = 10_000
	}
	return o
}

// TTL is a Cache in memory. It is safe for concurrent use.
type TTL struct {
	clock clock.WithTicker
	opts  Options

	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of *Entry, the most recently used first
	stats Stats      // without Entries
	mark  Mark       // number of invalidations
	// prefixes are those of the last invalidations, each at its number modulo the length.
	prefixes [rememberedInvalidations]string
}

// rememberedInvalidations is how many invalidations are remembered with their prefix: more than
// happen while one value is made. A value whose making began before those is not kept.
const rememberedInvalidations = 256

var _ Cache = (*TTL)(nil)

// New returns an empty cache. Expired entries stay in it until Run drops them or space is needed.
func New(clk clock.WithTicker, opts Options) *TTL {
	return &TTL{clock: clk, opts: opts.withDefaults(), byKey: map[string]*list.Element{}, used: list.New()}
}

// Run drops expired entries at every CleanupInterval until ctx ends; it returns nil then.
func (c *TTL) Run(ctx context.Context) error {
	ticker := c.clock.NewTicker(c.opts.CleanupInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			c.cleanUp()
		}
	}
}

// cleanUp drops expired entries.
func (c *TTL) cleanUp() {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, element := range c.byKey {
		if !entryOf(element).Live(now) {
			c.drop(element)
			c.stats.Expirations++
		}
	}
}

// Get implements Cache. An entry that is found is the most recently used.
func (c *TTL) Get(key string) (Entry, bool) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok || !entryOf(element).Live(now) {
		c.stats.Misses++
		return Entry{}, false
	}
	c.stats.Hits++
	c.used.MoveToFront(element)
	return *entryOf(element), true
}

// Peek implements Cache.
func (c *TTL) Peek(key string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return Entry{}, false
	}
	return *entryOf(element), true
}

// Mark implements Cache.
func (c *TTL) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mark
}

// Put implements Cache.
func (c *TTL) Put(key string, value Value, ttl time.Duration, since Mark) {
	entry := &Entry{Key: key, Value: value, At: c.clock.Now(), TTL: ttl}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.invalidated(key, since) {
		return
	}
	if element, ok := c.byKey[key]; ok {
		c.drop(element)
	}
	if ttl <= 0 {
		return
	}
	for c.used.Len() >= c.opts.MaxEntries {
		c.drop(c.used.Back())
		c.stats.Evictions++
	}
	c.byKey[key] = c.used.PushFront(entry)
	c.stats.Bytes += entry.size()
}

// invalidated reports whether key was, or may have been, invalidated after since. The caller holds
// the lock.
func (c *TTL) invalidated(key string, since Mark) bool {
	if c.mark-since > rememberedInvalidations {
		return true
	}
	for m := since; m < c.mark; m++ {
		if strings.HasPrefix(key, c.prefixes[m%rememberedInvalidations]) {
			return true
		}
	}
	return false
}

// Invalidate implements Cache. Values that are being made under such a key are not kept either.
func (c *TTL) Invalidate(prefix string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prefixes[c.mark%rememberedInvalidations] = prefix
	c.mark++
	dropped := 0
	for key, element := range c.byKey {
		if strings.HasPrefix(key, prefix) {
			c.drop(element)
			dropped++
		}
	}
	c.stats.Invalidated += uint64(dropped)
	return dropped
}

// Capacity implements Cache.
func (c *TTL) Capacity() int { return c.opts.MaxEntries }

// Entries implements Cache.
func (c *TTL) Entries() []Entry {
	c.mu.Lock()
	entries := make([]Entry, 0, len(c.byKey))
	for _, element := range c.byKey {
		entries = append(entries, *entryOf(element))
	}
	c.mu.Unlock()
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return entries
}

// Stats implements Cache.
func (c *TTL) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Entries = len(c.byKey)
	return stats
}

// drop removes an element. The caller holds the lock.
func (c *TTL) drop(element *list.Element) {
	entry := entryOf(element)
	c.used.Remove(element)
	delete(c.byKey, entry.Key)
	c.stats.Bytes -= entry.size()
}

// size returns the approximate bytes of an entry.
func (e *Entry) size() int { return len(e.Key) + e.Value.Size() }

// entryOf returns the entry of an element of the list.
func entryOf(element *list.Element) *Entry {
	entry, ok := element.Value.(*Entry)
	if !ok {
		panic("cache: the list holds something else than entries")
	}
	return entry
}
