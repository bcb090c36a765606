package cache

import "time"

// Cache keeps values for a while. It is a port: another store may implement it, such as one that
// outlives the process or is shared by several. Implementations are safe for concurrent use.
type Cache interface {
	// Get returns the entry under key if it is live, and counts a hit or a miss.
	Get(key string) (Entry, bool)
	// Peek returns the entry under key, live or expired, and counts nothing.
	Peek(key string) (Entry, bool)
	// Mark returns the present point in the sequence of invalidations, for a later
	// Put.
	Mark() Mark
	// Put keeps value under key for ttl from now, in place of an earlier value. It keeps nothing if
	// ttl is not positive, or if key was invalidated after since, when the making of the value
	// began: the value may hold what was invalidated.
	Put(key string, value Value, ttl time.Duration, since Mark)
	// Invalidate drops every entry whose key begins with prefix, and returns their number. The
	// empty prefix drops all.
	Invalidate(prefix string) int
	// Capacity returns the largest number of entries, 0 for none.
	Capacity() int
	// Entries returns the kept entries, sorted by key.
	Entries() []Entry
	// Stats returns the counts so far.
	Stats() Stats
}

// Value is what a Cache keeps. It is never modified.
type Value interface {
	// Size returns the approximate memory of the value, in bytes.
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

// Live reports whether the entry counts at an instant. An entry at least its TTL in the future does
// not: the clock was set back, and its age is unknown.
func (e Entry) Live(at time.Time) bool { return at.Sub(e.At).Abs() < e.TTL }

// Stats counts the events of a Cache since it was made.
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

// Capacity returns 0.
func (NoOp) Capacity() int { return 0 }

// Entries returns none.
func (NoOp) Entries() []Entry { return nil }

// Stats counts nothing.
func (NoOp) Stats() Stats { return Stats{} }
