package cache

import "time"

// Cache keeps values for a while. It is the port behind which another store may
// stand: one that outlives the process, say, or is shared by several.
// Implementations are safe for concurrent use.
type Cache interface {
	// Get returns the entry under key if it is live, and counts a hit or a miss.
	Get(key string) (Entry, bool)
	// Peek returns what is kept under key, live or expired, and counts nothing.
	Peek(key string) (Entry, bool)
	// Mark returns the present point in the sequence of invalidations, for a later
	// Put.
	Mark() Mark
	// Put keeps value under key for ttl from now, in place of what was there. A
	// ttl that is not positive keeps nothing, and neither does a key that was
	// invalidated after since, when the value began to be made: it may hold what
	// was to be dropped.
	Put(key string, value Value, ttl time.Duration, since Mark)
	// Invalidate drops every entry whose key begins with prefix, and returns how
	// many those were. The empty prefix drops all.
	Invalidate(prefix string) int
	// Capacity returns how many entries are kept at most, 0 for none.
	Capacity() int
	// Entries describes what is kept, sorted by key.
	Entries() []Entry
	// Stats returns what was counted so far.
	Stats() Stats
}

// Value is what a Cache keeps. It is never modified.
type Value interface {
	// Size returns about how much memory the value holds, in bytes.
	Size() int
}

// Mark is a point in the sequence of a Cache's invalidations.
type Mark uint64

// Entry is a value and its time.
type Entry struct {
	Key   string
	Value Value
	At    time.Time     // when it was put
	TTL   time.Duration // how long it lives
}

// Expires returns the instant from which the entry is no longer live.
func (e Entry) Expires() time.Time { return e.At.Add(e.TTL) }

// Live reports whether the entry counts at an instant. One that lies as far in the
// future as it lives does not: the clock was set back, and its age is unknown.
func (e Entry) Live(at time.Time) bool { return at.Sub(e.At).Abs() < e.TTL }

// Stats counts what happened to a Cache since it was made.
type Stats struct {
	Hits        uint64 `json:"hits"`
	Misses      uint64 `json:"misses"`
	Evictions   uint64 `json:"evictions"`   // dropped because the cache was full
	Expirations uint64 `json:"expirations"` // dropped because their time was over
	Invalidated uint64 `json:"invalidated"` // dropped by Invalidate
	Entries     int    `json:"entries"`     // kept now
	Bytes       int    `json:"bytes"`       // of their values and keys, about
}

// NoOp is a Cache that keeps nothing, for when caching is off. Its methods count
// nothing either.
type NoOp struct{}

var _ Cache = NoOp{}

// Get finds nothing.
func (NoOp) Get(string) (Entry, bool) { return Entry{}, false }

// Peek finds nothing.
func (NoOp) Peek(string) (Entry, bool) { return Entry{}, false }

// Mark returns the only point there is.
func (NoOp) Mark() Mark { return 0 }

// Put keeps nothing.
func (NoOp) Put(string, Value, time.Duration, Mark) {}

// Invalidate drops nothing.
func (NoOp) Invalidate(string) int { return 0 }

// Capacity is none.
func (NoOp) Capacity() int { return 0 }

// Entries lists nothing.
func (NoOp) Entries() []Entry { return nil }

// Stats counts nothing.
func (NoOp) Stats() Stats { return Stats{} }
