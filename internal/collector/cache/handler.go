package cache

import (
	"encoding/json"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// Report is the answer of Handler to GET.
type Report struct {
	Stats   Stats         `json:"stats"`
	Entries []EntryReport `json:"entries"` // sorted by key
}

// EntryReport describes one entry. An entry whose age is at or above its ttl has
// expired and awaits the next clean-up.
type EntryReport struct {
	Key        string  `json:"key"`
	AgeSeconds float64 `json:"ageSeconds"`
	TTLSeconds float64 `json:"ttlSeconds"`
	Bytes      int     `json:"bytes"` // of the value, about
}

// InvalidationReport is the answer of Handler to DELETE.
type InvalidationReport struct {
	Prefix      string `json:"prefix"`
	Invalidated int    `json:"invalidated"` // entries dropped
}

// Handler serves a cache to operators, as JSON: GET answers a Report. DELETE drops the entries
// whose key begins with the query parameter prefix, all of them without it, and answers an
// InvalidationReport. Dropping an entry costs one fetch and nothing else. The caller provides
// authentication.
func Handler(c Cache, clk clock.PassiveClock) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			answer(w, report(c, clk.Now()))
		case http.MethodDelete:
			prefix := r.URL.Query().Get("prefix")
			answer(w, InvalidationReport{Prefix: prefix, Invalidated: c.Invalidate(prefix)})
		default:
			w.Header().Set("Allow", "GET, HEAD, DELETE")
			http.Error(w, "method "+r.Method+" is not allowed: GET shows the cache, DELETE empties it", http.StatusMethodNotAllowed)
		}
	})
}

// report describes c as of now.
func report(c Cache, now time.Time) Report {
	entries := c.Entries()
	out := Report{Stats: c.Stats(), Entries: make([]EntryReport, 0, len(entries))}
	for _, e := range entries {
		out.Entries = append(out.Entries, EntryReport{
			Key: e.Key, AgeSeconds: now.Sub(e.At).Seconds(), TTLSeconds: e.TTL.Seconds(), Bytes: e.Value.Size(),
		})
	}
	return out
}

// answer writes v as JSON. It ignores the error of a reader that went away.
func answer(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, "encoding the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}
