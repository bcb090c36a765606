package budget

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// object returns an object of namespace a, so many minutes after noon.
func object(name string, minute, bytes, batch int) Object {
	return Object{Namespace: "a", Name: name, Created: noon.Add(time.Duration(minute) * time.Minute), Bytes: bytes, Batch: batch}
}

func TestOfObjectsTheOldestStay(t *testing.T) {
	limits := Limits{Variants: 3, ObjectBytes: 100, BatchSizes: 1000}
	for name, tt := range map[string]struct {
		objects []Object
		want    map[string]What
	}{
		"all fit": {[]Object{object("x", 0, 50, 500), object("y", 1, 50, 500)}, nil},
		"one too many": {
			[]Object{object("w", 3, 0, 0), object("x", 0, 0, 0), object("y", 1, 0, 0), object("z", 2, 0, 0)},
			map[string]What{"w": Variants},
		},
		"of one age, by name": {
			[]Object{object("z", 0, 0, 0), object("y", 0, 0, 0), object("x", 0, 0, 0), object("w", 0, 0, 0)},
			map[string]What{"z": Variants},
		},
		"a large one, and not those after it that fit": {
			[]Object{object("x", 0, 60, 0), object("y", 1, 50, 0), object("z", 2, 40, 0)},
			map[string]What{"y": ObjectBytes},
		},
		"one that alone is too large": {[]Object{object("x", 0, 101, 0), object("y", 1, 10, 0)}, map[string]What{"x": ObjectBytes}},
		"batches":                     {[]Object{object("x", 0, 0, 900), object("y", 1, 0, 101)}, map[string]What{"y": BatchSizes}},
	} {
		t.Run(name, func(t *testing.T) {
			var want map[Key]What
			for name, w := range tt.want {
				if want == nil {
					want = map[Key]What{}
				}
				want[Key{"a", name}] = w
			}
			if diff := cmp.Diff(want, limits.Admit(tt.objects)); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAdmissionDependsOnOlderObjectsOfTheNamespaceAlone draws objects and adds others:
// younger ones of the same namespace and any of another change nothing.
func TestAdmissionDependsOnOlderObjectsOfTheNamespaceAlone(t *testing.T) {
	limits := Limits{Variants: 8, ObjectBytes: 500, BatchSizes: 2000}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var objects []Object
		for i := range r.IntN(16) {
			objects = append(objects, object(strconv.Itoa(i), r.IntN(10), r.IntN(150), r.IntN(600)))
		}
		before := limits.Admit(objects)
		more := append([]Object(nil), objects...)
		for i := range r.IntN(16) {
			o := object("other-"+strconv.Itoa(i), r.IntN(10), r.IntN(800), r.IntN(3000))
			if r.IntN(2) == 0 {
				o.Namespace = "b"
			} else {
				o.Created = o.Created.Add(time.Hour)
			}
			more = append(more, o)
		}
		r.Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
		after := limits.Admit(more)
		for _, o := range objects {
			if key := (Key{o.Namespace, o.Name}); before[key] != after[key] {
				t.Fatalf("seed %d: %s is left out for %q alone, and for %q beside younger and foreign objects", seed, o.Name, before[key], after[key])
			}
		}
		var sum spent
		for _, o := range more {
			if _, left := after[Key{o.Namespace, o.Name}]; !left && o.Namespace == "a" {
				sum = sum.and(o)
			}
		}
		if w, over := sum.over(limits); over {
			t.Fatalf("seed %d: what is admitted exceeds %s: %+v", seed, w, sum)
		}
	}
}

func TestALimitThatIsNotSetIsItsDefault(t *testing.T) {
	if got, want := (Limits{}).OrDefault(), DefaultLimits(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i, w := range All() {
		if got := (Limits{}).Of(w); got <= 0 {
			t.Errorf("%s: the limit is %d, want more than 0", w, got)
		}
		if !strings.HasPrefix(w.Setting(), "WVA_NAMESPACE_") {
			t.Errorf("%s (%d): no setting is named: %q", w, i, w.Setting())
		}
	}
}

func TestAnAllowanceFillsByTheHour(t *testing.T) {
	var a Allowance
	sent := func(at time.Duration, n int) int {
		sent := 0
		for range n {
			next, ok := a.Take(noon.Add(at), 60)
			if a = next; ok {
				sent++
			}
		}
		return sent
	}
	if got := sent(0, 100); got != 60 || a.LeftOut() != 40 {
		t.Errorf("at once: %d are sent and %d left out, want 60 and 40", got, a.LeftOut())
	}
	if got := sent(10*time.Minute, 100); got != 10 {
		t.Errorf("ten minutes later: %d are sent, want 10", got)
	}
	if got := sent(5*time.Minute, 1); got != 0 {
		t.Errorf("on a clock that went back: %d are sent, want none", got)
	}
	if got := sent(3*time.Hour, 60); got != 60 || a.LeftOut() != 0 {
		t.Errorf("hours later: %d are sent and %d count as left out, want 60 and 0", got, a.LeftOut())
	}
	if a.Full(noon.Add(3*time.Hour), 60) || !a.Full(noon.Add(4*time.Hour), 60) {
		t.Error("an allowance is full an hour after the last event, and not before")
	}
}

func TestABookTellsWhatChanges(t *testing.T) {
	told := 0
	b := NewLeftOut(func(What, map[string]int) { told++ })
	b.Note(Variants, map[string]int{"a": 2})
	b.Note(Variants, map[string]int{"a": 2})
	b.Note(Events, map[string]int{"a": 1, "b": 1})
	if diff := cmp.Diff([]What{Variants, Events}, b.Of("a")); diff != "" {
		t.Errorf("of a (-want +got):\n%s", diff)
	}
	b.Note(Variants, nil)
	if diff := cmp.Diff([]What{Events}, b.Of("a")); diff != "" {
		t.Errorf("of a, later (-want +got):\n%s", diff)
	}
	if told != 3 {
		t.Errorf("%d changes are told, want 3", told)
	}
	var none *LeftOut
	if none.Note(Variants, map[string]int{"a": 1}); none.Of("a") != nil {
		t.Error("no book holds nothing")
	}
}
