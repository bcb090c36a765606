package cache_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
)

// t0 is when the tests begin.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// text is a value of as many bytes.
type text string

func (t text) Size() int { return len(t) }

// keys lists what a cache keeps.
func keys(c cache.Cache) []string {
	kept := []string{}
	for _, e := range c.Entries() {
		kept = append(kept, e.Key)
	}
	return kept
}

func TestEntryLivesForItsTTL(t *testing.T) {
	clk := testingclock.NewFakeClock(t0)
	c := cache.New(clk, cache.Options{})
	c.Put("a", text("one"), 30*time.Second, c.Mark())
	for _, step := range []struct {
		after time.Duration
		live  bool
	}{{0, true}, {30*time.Second - 1, true}, {30 * time.Second, false}, {time.Hour, false}, {-time.Hour, false}} {
		clk.SetTime(t0.Add(step.after))
		entry, ok := c.Get("a")
		if ok != step.live {
			t.Errorf("after %s: live is %v, want %v", step.after, ok, step.live)
		}
		if want := (cache.Entry{Key: "a", Value: text("one"), At: t0, TTL: 30 * time.Second}); ok && entry != want {
			t.Errorf("got %+v, want %+v", entry, want)
		}
		if kept, ok := c.Peek("a"); !ok || kept.Value != text("one") {
			t.Errorf("after %s: peeking finds %+v, %v", step.after, kept, ok)
		}
	}
	if _, ok := c.Get("b"); ok {
		t.Error("found what was never put")
	}
	want := cache.Stats{Hits: 2, Misses: 4, Entries: 1, Bytes: 4}
	if got := c.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPutReplacesAndANonPositiveTTLKeepsNothing(t *testing.T) {
	c := cache.New(testingclock.NewFakeClock(t0), cache.Options{})
	c.Put("a", text("one"), time.Minute, c.Mark())
	c.Put("a", text("three"), time.Hour, c.Mark())
	if e, ok := c.Get("a"); !ok || e.Value != text("three") || e.TTL != time.Hour {
		t.Errorf("got %+v, %v", e, ok)
	}
	if got := c.Stats(); got.Entries != 1 || got.Bytes != 6 {
		t.Errorf("got %+v", got)
	}
	c.Put("a", text("four"), 0, c.Mark())
	if _, ok := c.Peek("a"); ok || c.Stats().Bytes != 0 {
		t.Errorf("a TTL of 0 left %+v", c.Stats())
	}
}

func TestInvalidationDropsWhatBeginsWithThePrefix(t *testing.T) {
	for _, tc := range []struct {
		prefix string
		left   []string
	}{
		{"replica:a/m", []string{"replica:ab/m", "replica:b/m"}},
		{"replica:a/", []string{"replica:ab/m", "replica:b/m"}},
		{"replica:a", []string{"replica:b/m"}},
		{"replica:a/m1", []string{"replica:a/m", "replica:ab/m", "replica:b/m"}},
		{"replica:c/", []string{"replica:a/m", "replica:a/m1", "replica:ab/m", "replica:b/m"}},
		{"", []string{}},
	} {
		c := cache.New(testingclock.NewFakeClock(t0), cache.Options{})
		for _, key := range []string{"replica:a/m", "replica:a/m1", "replica:ab/m", "replica:b/m"} {
			c.Put(key, text("v"), time.Minute, c.Mark())
		}
		n := c.Invalidate(tc.prefix)
		if diff := cmp.Diff(tc.left, keys(c)); diff != "" || n != 4-len(tc.left) {
			t.Errorf("%q: dropped %d, left (-want +got):\n%s", tc.prefix, n, diff)
		}
		if got := c.Stats(); got.Invalidated != uint64(n) || got.Entries != len(tc.left) {
			t.Errorf("%q: got %+v", tc.prefix, got)
		}
	}
}

func TestWhatWasBegunBeforeItsInvalidationIsNotKept(t *testing.T) {
	c := cache.New(testingclock.NewFakeClock(t0), cache.Options{})
	began := c.Mark()
	c.Put("a/old", text("old"), time.Minute, began)
	c.Invalidate("a/")
	for _, key := range []string{"a/old", "a/new", "b"} {
		c.Put(key, text("late"), time.Minute, began)
	}
	if diff := cmp.Diff([]string{"b"}, keys(c)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	c.Put("a/old", text("again"), time.Minute, c.Mark())
	if diff := cmp.Diff([]string{"a/old", "b"}, keys(c)); diff != "" {
		t.Errorf("begun after the invalidation: kept (-want +got):\n%s", diff)
	}
}

func TestWhatWasBegunBeforeTheInvalidationsRememberedIsNotKept(t *testing.T) {
	for invalidations, want := range map[int][]string{256: {"b"}, 257: {}} {
		c := cache.New(testingclock.NewFakeClock(t0), cache.Options{})
		began := c.Mark()
		for i := range invalidations {
			c.Invalidate(fmt.Sprintf("a/%d", i))
		}
		c.Put("b", text("v"), time.Minute, began)
		c.Put("a/1", text("v"), time.Minute, began)
		if diff := cmp.Diff(want, keys(c)); diff != "" {
			t.Errorf("after %d invalidations: kept (-want +got):\n%s", invalidations, diff)
		}
	}
}

func TestFullCacheDropsWhatWasUsedLeastRecently(t *testing.T) {
	c := cache.New(testingclock.NewFakeClock(t0), cache.Options{MaxEntries: 3})
	for _, key := range []string{"a", "b", "c"} {
		c.Put(key, text(key), time.Minute, c.Mark())
	}
	c.Get("a")
	c.Peek("b") // looking is not using
	c.Put("d", text("d"), time.Minute, c.Mark())
	c.Put("a", text("again"), time.Minute, c.Mark()) // takes no further space
	if diff := cmp.Diff([]string{"a", "c", "d"}, keys(c)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got := c.Stats().Evictions; got != 1 {
		t.Errorf("got %d evictions, want 1", got)
	}
}

func TestCleanUpDropsWhatHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(clock.RealClock{}, cache.Options{CleanupInterval: time.Minute})
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		c.Put("short", text("v"), 10*time.Second, c.Mark())
		c.Put("long", text("v"), 90*time.Second, c.Mark())
		for _, want := range [][]string{{"long", "short"}, {"long"}, {}} {
			if diff := cmp.Diff(want, keys(c)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			time.Sleep(time.Minute + time.Second)
			synctest.Wait()
		}
		if got := c.Stats(); got.Expirations != 2 || got.Bytes != 0 {
			t.Errorf("got %+v", got)
		}
		cancel()
		wg.Wait()
	})
}

// TestCacheAgreesWithASlowOne plays random operations on the cache and on a list.
func TestCacheAgreesWithASlowOne(t *testing.T) {
	const most = 5
	random := rand.New(rand.NewPCG(1, 2))
	clk := testingclock.NewFakeClock(t0)
	c := cache.New(clk, cache.Options{MaxEntries: most})
	var slow []cache.Entry // the most recently used last
	find := func(key string) int {
		return slices.IndexFunc(slow, func(e cache.Entry) bool { return e.Key == key })
	}
	for range 5000 {
		key := fmt.Sprintf("%c%d", 'a'+rune(random.IntN(2)), random.IntN(5))
		switch random.IntN(8) {
		case 0:
			clk.Step(time.Duration(random.IntN(20)) * time.Second)
		case 1:
			want := len(slow)
			slow = slices.DeleteFunc(slow, func(e cache.Entry) bool { return strings.HasPrefix(e.Key, key[:1]) })
			if got := c.Invalidate(key[:1]); got != want-len(slow) {
				t.Fatalf("invalidated %d, want %d", got, want-len(slow))
			}
		case 2, 3, 4:
			e := cache.Entry{Key: key, Value: text(key), At: clk.Now(), TTL: time.Duration(random.IntN(60)-5) * time.Second}
			c.Put(key, e.Value, e.TTL, c.Mark())
			if i := find(key); i >= 0 {
				slow = slices.Delete(slow, i, i+1)
			}
			if e.TTL > 0 {
				slow = append(slow, e)
				slow = slow[max(0, len(slow)-most):]
			}
		default:
			got, ok := c.Get(key)
			i := find(key)
			live := i >= 0 && clk.Now().Before(slow[i].Expires())
			if ok != live || ok && got != slow[i] {
				t.Fatalf("%s: got %+v, %v, want %v", key, got, ok, live)
			}
			if live {
				slow = append(slices.Delete(slices.Clone(slow), i, i+1), slow[i])
			}
		}
		if got := c.Stats(); got.Entries != len(slow) || got.Bytes != 4*len(slow) {
			t.Fatalf("got %+v, want %d entries", got, len(slow))
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	c := cache.New(testingclock.NewFakeClock(t0), cache.Options{MaxEntries: 10})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				key := fmt.Sprint(i % 17)
				c.Put(key, text(key), time.Minute, c.Mark())
				c.Get(key)
				c.Entries()
				c.Stats()
				if i%50 == g {
					c.Invalidate("1")
				}
			}
		})
	}
	wg.Wait()
	if got := c.Stats(); got.Entries > 10 || got.Hits+got.Misses != 800 {
		t.Errorf("got %+v, want 10 entries at most and 800 uses", got)
	}
}

func TestNoOpKeepsNothing(t *testing.T) {
	var c cache.NoOp
	c.Put("a", text("one"), time.Hour, c.Mark())
	_, found := c.Get("a")
	_, seen := c.Peek("a")
	if found || seen || c.Invalidate("") != 0 || c.Entries() != nil || c.Stats() != (cache.Stats{}) {
		t.Error("a cache that is off keeps something")
	}
}

func TestPolicies(t *testing.T) {
	adaptive := cache.Adaptive{Min: 10 * time.Second, Max: time.Minute}
	interval := func(d time.Duration) cache.Following {
		return cache.Following{Interval: func() time.Duration { return d }}
	}
	for _, tc := range []struct {
		name    string
		policy  cache.Lifetime
		last    time.Duration
		moved   float64
		want    time.Duration
		longest time.Duration
	}{
		{"fixed", cache.DefaultTTL, time.Hour, 1, 30 * time.Second, 30 * time.Second},
		{"following", interval(45 * time.Second), 0, 1, 45 * time.Second, 45 * time.Second},
		{"following a long interval", interval(time.Hour), 0, 0, 2 * time.Minute, 2 * time.Minute},
		{"adaptive: first", adaptive, 0, 0, 10 * time.Second, time.Minute},
		{"adaptive: quiet doubles", adaptive, 10 * time.Second, 0.01, 20 * time.Second, time.Minute},
		{"adaptive: quiet up to the maximum", adaptive, 40 * time.Second, 0, time.Minute, time.Minute},
		{"adaptive: moving stays", adaptive, 40 * time.Second, 0.1, 40 * time.Second, time.Minute},
		{"adaptive: a jump returns to the minimum", adaptive, time.Minute, 0.25, 10 * time.Second, time.Minute},
		{"adaptive: what is no number is a jump", adaptive, time.Minute, math.NaN(), 10 * time.Second, time.Minute},
		{"adaptive: a maximum that was lowered", adaptive, time.Hour, 0.1, time.Minute, time.Minute},
	} {
		if got := tc.policy.TTL(tc.last, tc.moved); got != tc.want || tc.policy.Longest() != tc.longest {
			t.Errorf("%s: got %s of at most %s, want %s of %s", tc.name, got, tc.policy.Longest(), tc.want, tc.longest)
		}
	}
}

func TestNoPolicyExceedsItsLongest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		least := time.Duration(1+random.IntN(60)) * time.Second
		adaptive := cache.Adaptive{Min: least, Max: least + time.Duration(random.IntN(120))*time.Second}
		last := time.Duration(random.IntN(200)) * time.Second
		if got := adaptive.TTL(last, random.Float64()); got < adaptive.Min || got > adaptive.Longest() {
			t.Fatalf("%+v after %s: got %s", adaptive, last, got)
		}
	}
}
