package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sized returns an item of so many bytes that last changed at a minute.
func sized(namespace, name string, minute, bytes int, change ...func(*item)) item {
	key := namespace + "." + name
	i := item{key: key, text: strings.Repeat("x", bytes-len(key)), namespace: namespace, at: noon.Add(time.Duration(minute) * time.Minute), served: true, read: true}
	for _, f := range change {
		f(&i)
	}
	return i
}

func unread(i *item)   { i.read, i.served, i.namespace, i.at = false, false, "", time.Time{} }
func unserved(i *item) { i.served = false }

func TestPackDropsWhatIsLeastMissed(t *testing.T) {
	items := []item{
		sized("a", "new", 9, 100), sized("a", "old", 1, 100), sized("a", "older", 0, 100),
		sized("b", "oldest", -5, 150),
		sized("c", "gone", 8, 100, unserved), sized("c", "gone-longer", 7, 100, unserved),
		sized("x", "edited", 0, 100, unread),
	}
	tests := []struct {
		limit int
		want  []string // the dropped
	}{
		{750, nil},
		{749, []string{"x.edited"}},
		{600, []string{"c.gone-longer", "x.edited"}},
		{450, []string{"c.gone", "c.gone-longer", "x.edited"}},
		{449, []string{"a.older", "c.gone", "c.gone-longer", "x.edited"}},
		{349, []string{"a.old", "a.older", "c.gone", "c.gone-longer", "x.edited"}},
		{249, []string{"a.old", "a.older", "b.oldest", "c.gone", "c.gone-longer", "x.edited"}},
		{0, []string{"a.new", "a.old", "a.older", "b.oldest", "c.gone", "c.gone-longer", "x.edited"}},
	}
	for _, tt := range tests {
		kept, dropped := pack(items, tt.limit)
		var got []string
		for _, i := range dropped {
			got = append(got, i.key)
		}
		if diff := cmp.Diff(got, tt.want); diff != "" {
			t.Errorf("%d bytes: dropped, -got +want:\n%s", tt.limit, diff)
		}
		if len(kept)+len(dropped) != len(items) {
			t.Errorf("%d bytes: %d kept and %d dropped of %d", tt.limit, len(kept), len(dropped), len(items))
		}
	}
}

func TestPackKeepsTheBoundAndEveryNamespaceItsShare(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, seed))
	for range 500 {
		var items []item
		spaces := 1 + r.IntN(4)
		for i := range 1 + r.IntN(40) {
			items = append(items, sized(fmt.Sprint("ns", r.IntN(spaces)), fmt.Sprint("m", i), r.IntN(9), 20+r.IntN(80)))
		}
		limit := r.IntN(2000)
		kept, dropped := pack(items, limit)
		shuffled := make([]item, len(items))
		for i, j := range r.Perm(len(items)) {
			shuffled[i] = items[j]
		}
		if again, _ := pack(shuffled, limit); !cmp.Equal(again, kept, cmp.AllowUnexported(item{})) {
			t.Fatalf("seed %d: the order of the items matters", seed)
		}
		total, all := 0, map[string]int{}
		for _, i := range kept {
			total += i.size()
		}
		for _, i := range items {
			all[i.namespace] += i.size()
		}
		if total > limit {
			t.Fatalf("seed %d: %d bytes are kept of at most %d", seed, total, limit)
		}
		for _, i := range dropped {
			if all[i.namespace]*len(all) <= limit {
				t.Fatalf("seed %d: %s was dropped, whose namespace has %d bytes of %d for %d namespaces", seed, i.key, all[i.namespace], limit, len(all))
			}
		}
	}
}
