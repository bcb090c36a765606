package prometheus

import "sync"

const (
	// maxInterned limits the strings of each generation of an interner: 10,000 pods make about
	// 12,000. Further strings are not kept.
	maxInterned = 1 << 17
	// maxBytes limits the text of each generation, 64 bytes a string.
	maxBytes = maxInterned << 6
	// maxLength limits a string that is kept, in bytes. Names of Kubernetes have 253 at most;
	// models are named by paths.
	maxLength = 1 << 10
	// minLookups and lookupsPerString determine when a generation ends: when each of its strings
	// was looked up 32 times on average, which is about three collections, but not after every few
	// rows of a small cluster.
	minLookups       = 1 << 12
	lookupsPerString = 32
)

// interner returns equal strings as one string, for the names that every answer repeats. It keeps
// the strings of this generation and the one before, and so forgets pods that are gone. It is safe
// for concurrent use; the zero value is empty.
type interner struct {
	mu         sync.Mutex
	young, old map[string]string
	lookups    int // in this generation
	bytes      int // of young
}

// of returns text as an interned string.
func (n *interner) of(text []byte) string {
	if len(text) > maxLength {
		return string(text)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lookups >= max(minLookups, lookupsPerString*len(n.young)) || n.young == nil {
		n.old, n.young, n.lookups = n.young, make(map[string]string, len(n.young)), 0
		n.bytes = 0
	}
	n.lookups++
	if s, ok := n.young[string(text)]; ok {
		return s
	}
	s, ok := n.old[string(text)]
	if !ok {
		s = string(text)
	}
	if len(n.young) < maxInterned && n.bytes+len(s) <= maxBytes {
		n.young[s] = s
		n.bytes += len(s)
	}
	return s
}
