package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// createdAt returns when the nth pod was created; the pods are a minute apart.
func createdAt(n int) time.Time { return time.Date(2026, 11, 20, 12, n, 0, 0, time.UTC) }

// started returns the start-ups of pods that were created one after another.
func started(took ...time.Duration) StartUps {
	var out StartUps
	for i, t := range took {
		out = append(out, StartUp{Pod: fmt.Sprintf("p%02d", i), Created: createdAt(i), Took: t})
	}
	return out
}

func TestQuantileOfStartUps(t *testing.T) {
	const s = time.Second
	ten := Durations{1 * s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 8 * s, 9 * s, 10 * s}
	tests := []struct {
		of   Durations
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{Durations{7 * s}, 0.5, 7 * s},
		{Durations{7 * s}, 0.9, 7 * s},
		{Durations{7 * s, 9 * s}, 0.5, 7 * s},
		{Durations{7 * s, 8 * s, 9 * s}, 0.5, 8 * s},
		{ten, 0.1, 1 * s},
		{ten, 0.9, 9 * s}, // 0.9 x 10 is a little above 9 in floating point
		{ten, 0.91, 10 * s},
		{ten, 1, 10 * s},
	}
	for _, tt := range tests {
		if got := tt.of.Quantile(tt.q); got != tt.want {
			t.Errorf("quantile %g of %v: got %s, want %s", tt.q, tt.of, got, tt.want)
		}
	}
}

func TestMergeKeepsTheLatestPodsOnceEach(t *testing.T) {
	long := make([]time.Duration, startUpsKept+5)
	for i := range long {
		long[i] = time.Duration(i+1) * time.Second
	}
	got := started(long...).Merge(nil)
	if len(got) != startUpsKept || got[0].Pod != "p05" {
		t.Errorf("got %d pods from %v on, want %d from p05 on", len(got), got[0], startUpsKept)
	}
	blipped := StartUp{Pod: "p00", Created: createdAt(0), Took: 40 * time.Minute}
	if diff := cmp.Diff(started(time.Minute).Merge(StartUps{blipped}), started(time.Minute)); diff != "" {
		t.Errorf("a pod that was seen twice counts with the shorter time, -got +want:\n%s", diff)
	}
	full, young := got, started(time.Minute)
	for _, tt := range []struct {
		of   StartUps
		pod  string
		n    int
		want bool
	}{{nil, "p", 0, true}, {young, "p00", 0, false}, {young, "p", 0, true}, {full, "p", 4, false}, {full, "p", 5, true}, {full, "p07", 7, false}} {
		if got := tt.of.Lacks(tt.pod, createdAt(tt.n)); got != tt.want {
			t.Errorf("%d start-ups lack pod %s of minute %d: got %t, want %t", len(tt.of), tt.pod, tt.n, got, tt.want)
		}
	}
	restored := started(time.Minute)
	restored[0].Restored = true
	if got := restored.Merge(started(time.Minute)); got[0].Restored {
		t.Error("a pod that this process saw too counts as restored")
	}
}

// randomStartUps returns start-ups of some of thirty pods, as one process may have seen them.
func randomStartUps(r *rand.Rand) StartUps {
	var out StartUps
	for i := range 30 {
		if r.IntN(2) == 0 {
			out = append(out, StartUp{Pod: fmt.Sprintf("p%02d", i), Created: createdAt(i / 2), Took: time.Duration(1+r.IntN(3)) * time.Minute, Restored: r.IntN(2) == 0})
		}
	}
	return out.Merge(nil)
}

func TestMergeDoesNotDependOnTheOrder(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		a, b, c := randomStartUps(r), randomStartUps(r), randomStartUps(r)
		before := slices.Clone(a)
		if diff := cmp.Diff(a.Merge(b), b.Merge(a)); diff != "" {
			t.Fatalf("seed %d: a and b, b and a:\n%s", seed, diff)
		}
		if diff := cmp.Diff(a.Merge(a), a); diff != "" {
			t.Fatalf("seed %d: a and itself:\n%s", seed, diff)
		}
		if diff := cmp.Diff(a.Merge(b).Merge(c), a.Merge(b.Merge(c))); diff != "" {
			t.Fatalf("seed %d: in another order:\n%s", seed, diff)
		}
		if diff := cmp.Diff(a, before); diff != "" {
			t.Fatalf("seed %d: Merge changed what it merged:\n%s", seed, diff)
		}
	}
}

func TestSmallMovesOfStartUpsMakeNoDifference(t *testing.T) {
	const m, s = time.Minute, time.Second
	v := func(took ...time.Duration) VariantStartUps { return VariantStartUps{"v": started(took...)} }
	tests := map[string]struct {
		is, was VariantStartUps
		want    bool
	}{
		"nothing known":           {nil, nil, false},
		"the first pod":           {v(m), nil, true},
		"as before":               {v(m, m), v(m, m), false},
		"one more pod of three":   {v(m, m, m, m), v(m, m, m), false},
		"twice as many pods":      {v(m, m), v(m), true},
		"a median a little later": {v(65*s, 65*s), v(m, m), false},
		"a median of some more":   {v(80*s, 80*s), v(m, m), true},
		"short times vary":        {v(6*s, 6*s), v(2*s, 2*s), false},
		"the slow one is slower":  {v(m, m, 2*m), v(m, m, m), true},
		"only the other knows it": {nil, v(m), false},
		"another variant":         {VariantStartUps{"w": started(m)}, v(m), true},
	}
	for name, tt := range tests {
		if got := tt.is.Differs(tt.was); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

func TestLessEndsAtTheNewestPod(t *testing.T) {
	v := VariantStartUps{"a": started(time.Minute, 2*time.Minute, 3*time.Minute), "b": started(4 * time.Minute), "c": nil}
	var got []string
	for more := true; more; {
		got = append(got, v.String())
		v, more = v.Less()
	}
	want := []string{
		"a 2m0s (9 of 10 within 3m0s, 3 pods), b 4m0s (9 of 10 within 4m0s, 1 pod), c 0s (9 of 10 within 0s, 0 pods)",
		"a 2m0s (9 of 10 within 3m0s, 2 pods), b 4m0s (9 of 10 within 4m0s, 1 pod)",
		"a 3m0s (9 of 10 within 3m0s, 1 pod), b 4m0s (9 of 10 within 4m0s, 1 pod)",
		"a 3m0s (9 of 10 within 3m0s, 1 pod)",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestStartUpsSurviveJSON(t *testing.T) {
	v := VariantStartUps{"a": started(time.Minute, 95*time.Second)}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":["p00 2026-11-20T12:00:00Z 1m0s","p01 2026-11-20T12:01:00Z 1m35s"]}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var got VariantStartUps
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, v); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	for _, bad := range []string{"", "p 1m", "p today 1m", "p 2026-11-20T12:00:00Z soon", "p 2026-11-20T12:00:00Z 0s", "p 2026-11-20T12:00:00Z -1m", "p 2026-11-20T12:00:00Z 61m"} {
		if err := new(StartUp).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
