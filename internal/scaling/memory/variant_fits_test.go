package memory

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var lately = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fitOf returns a fit of steps that take 10 ms and half a ms for each request. Each band has a
// number of windows at the concurrency at which it begins.
func fitOf(windows float64, bands ...int) Fit {
	f := Fit{Of: Subject{Accelerator: "H100", GPUs: 2, Template: "0123456789abcdef"}, At: lately}
	for _, of := range bands {
		n := math.Exp2(float64(of))
		itl := 10 + n/2
		b := Band{Of: of}
		b.ITL = b.ITL.Plus([3]float64{1, n, 0.1 * itl}, itl, windows, windows)
		b.TTFT = b.TTFT.Plus([3]float64{1, itl, 500}, 2*itl, windows, windows)
		f.Bands = append(f.Bands, b)
	}
	return f
}

// seenLater returns f with its last sample later by a duration.
func seenLater(f Fit, by time.Duration) Fit {
	f.At = f.At.Add(by)
	return f
}

func TestAFitIsForgottenWithWhatItIsOf(t *testing.T) {
	seen := fitOf(10, 0, 3)
	as := func(change func(*scaling.Variant)) scaling.Variant {
		v := scaling.Variant{Accelerator: "H100", GPUsPerReplica: 2, Template: "0123456789abcdef"}
		change(&v)
		return v
	}
	tests := map[string]struct {
		v    scaling.Variant
		want float64 // windows
	}{
		"nothing changes":          {as(func(*scaling.Variant) {}), 20},
		"another accelerator":      {as(func(v *scaling.Variant) { v.Accelerator = "L40S" }), 0},
		"more of them":             {as(func(v *scaling.Variant) { v.GPUsPerReplica = 4 }), 0},
		"another template":         {as(func(v *scaling.Variant) { v.Template = "fedcba9876543210" }), guessed},
		"a template not known":     {as(func(v *scaling.Variant) { v.Template = "" }), 20},
		"an accelerator not known": {as(func(v *scaling.Variant) { v.Accelerator = "" }), 20},
		"the target is out of sight": {as(func(v *scaling.Variant) {
			v.Accelerator, v.GPUsPerReplica, v.Template, v.Missing = "L40S", 1, "", "no such Deployment"
		}), 20},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := seen.For(tt.v)
			if math.Abs(got.samples()-tt.want) > 1e-9 || got.Informed() != (tt.want > 0) {
				t.Errorf("counts for %.3f windows, want %.0f", got.samples(), tt.want)
			}
			if again := got.For(tt.v); !cmp.Equal(again, got) {
				t.Errorf("once more: %+v became %+v", got, again)
			}
			if tt.v.Template == "fedcba9876543210" && got.Of.Template != tt.v.Template {
				t.Errorf("it is of %+v", got.Of)
			}
		})
	}
	if seen.samples() != 20 {
		t.Errorf("For changed what it was asked of: %.1f windows", seen.samples())
	}
	unknown := Fit{At: lately, Bands: seen.Bands}
	if got := unknown.For(as(func(*scaling.Variant) {})); got.samples() != 20 || got.Of != seen.Of {
		t.Errorf("a Fit that says not what it is of became %+v", got)
	}
}

func randomFits(r *rand.Rand) VariantFits {
	out := VariantFits{}
	for _, name := range []string{"a", "b", "c"} {
		if r.IntN(3) > 0 {
			out[name] = seenLater(fitOf(float64(1+r.IntN(3)), r.IntN(2), 2+r.IntN(2)), time.Duration(r.IntN(2))*time.Minute)
		}
	}
	return out
}

func TestMergeOfFitsDoesNotDependOnTheOrder(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		a, b, c := randomFits(r), randomFits(r), randomFits(r)
		if diff := cmp.Diff(a.Merge(b), b.Merge(a)); diff != "" {
			t.Fatalf("seed %d: a and b, b and a:\n%s", seed, diff)
		}
		if diff := cmp.Diff(a.Merge(a), a); diff != "" {
			t.Fatalf("seed %d: a and itself:\n%s", seed, diff)
		}
		if diff := cmp.Diff(a.Merge(b).Merge(c), a.Merge(b.Merge(c))); diff != "" {
			t.Fatalf("seed %d: in another order:\n%s", seed, diff)
		}
		for name, f := range a.Merge(b) {
			if f.At.Before(a[name].At) || f.At.Before(b[name].At) {
				t.Fatalf("seed %d: of two samples the earlier is kept", seed)
			}
		}
	}
}

func TestOnlyAFitThatDecidesOtherwiseDiffers(t *testing.T) {
	const m = time.Minute
	was := fitOf(10, 0, 3)
	as := func(change func(*Fit)) Fit {
		f := seenLater(fitOf(10, 0, 3), m)
		change(&f)
		return f
	}
	faster := func(by float64) func(*Fit) {
		return func(f *Fit) { s := &f.Bands[1].ITL; s.X0 *= by }
	}
	tests := map[string]struct {
		is, was Fit
		want    bool
	}{
		"nothing was seen":             {as(func(f *Fit) { f.Bands = nil }), Fit{}, false},
		"the first window":             {seenLater(fitOf(1, 0), m), Fit{}, false},
		"two windows":                  {seenLater(fitOf(2, 0), m), Fit{}, true},
		"as before":                    {as(func(*Fit) {}), was, false},
		"seen earlier":                 {seenLater(fitOf(10, 0, 9), -m), was, false},
		"a little faster":              {as(faster(1.1)), was, false},
		"a fifth faster":               {as(faster(1.2)), was, true},
		"a fifth slower":               {as(faster(0.8)), was, true},
		"another accelerator":          {as(func(f *Fit) { f.Of.Accelerator = "L40S" }), was, true},
		"another template":             {as(func(f *Fit) { f.Of.Template = "fedcba9876543210" }), was, true},
		"one more band":                {seenLater(fitOf(10, 0, 3, 5), m), was, true},
		"a glimpse of one more band":   {as(func(f *Fit) { f.Bands = append(f.Bands, fitOf(1, 5).Bands...) }), was, false},
		"a TTFT where none was":        {as(func(*Fit) {}), Fit{Of: was.Of, At: was.At, Bands: []Band{was.Bands[0], {Of: 3, ITL: was.Bands[1].ITL}}}, true},
		"twice as many windows":        {seenLater(fitOf(8, 0), m), fitOf(4, 0), true},
		"less than twice as many":      {seenLater(fitOf(7, 0), m), fitOf(4, 0), false},
		"only the other knows a band":  {as(func(f *Fit) { f.Bands = f.Bands[:1] }), was, false},
		"an overload, in two windows":  {Fit{At: lately, Over: fitOf(2, 0).Bands[0].ITL}, Fit{}, true},
		"only the other knows it, too": {Fit{}, was, false},
	}
	for name, tt := range tests {
		if got := (VariantFits{"v": tt.is}).Differs(VariantFits{"v": tt.was}); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

func TestLessDropsTheVariantThatWasNotSeenForLongest(t *testing.T) {
	v := VariantFits{"a": seenLater(fitOf(3, 0, 5), time.Hour), "b": fitOf(10, 0), "c": {At: lately.Add(time.Minute), Over: fitOf(4, 2).Bands[0].ITL}}
	var got []string
	for more := true; more; {
		got = append(got, v.String())
		v, more = v.Less()
	}
	const a = "a ITL 10.5 ms at concurrency 1.0, 26.0 ms at concurrency 32.0 (6 windows)"
	want := []string{
		a + ", b ITL 10.5 ms at concurrency 1.0 (10 windows), c ITL 12.0 ms in an overload (4 windows)",
		a + ", c ITL 12.0 ms in an overload (4 windows)",
		a,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if len(v) != 0 {
		t.Errorf("at the end %d are left", len(v))
	}
}

// TestFitsSurviveJSON: to six digits, in 119 characters a band.
func TestFitsSurviveJSON(t *testing.T) {
	v := VariantFits{"a": seenLater(fitOf(math.Pi, 0, 1, 2, 3, 4, 5), 300*time.Millisecond), "b": {At: lately, Over: fitOf(4, 2).Bands[0].ITL}, "c": {At: lately}}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	one := strings.Index(string(text), `,"b":`) - len(`{"a":`)
	if want := 6*119 + 105; one > want {
		t.Errorf("six bands take %d bytes, want at most %d", one, want)
	}
	var got VariantFits
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	v["a"] = seenLater(v["a"], -300*time.Millisecond)
	delete(v, "c")
	closely := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(a) })
	if diff := cmp.Diff(got, v, closely); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestBandsThatNoEngineShowsAreNotStored(t *testing.T) {
	good := fitOf(4, 2).Bands[0]
	for name, bad := range map[string]Band{
		"a band beyond all":   {Of: 63, ITL: good.ITL},
		"a band below all":    {Of: -1, ITL: good.ITL},
		"no sample":           {Of: 5},
		"no number":           {Of: 5, ITL: Sums{Samples: 1, X0: 1, XX11: math.NaN()}},
		"more than a float":   {Of: 5, ITL: Sums{Samples: 1, X0: 1, XX11: 1e300}},
		"an endless ITL":      {Of: 5, ITL: Sums{Samples: 1, X1: 1}},
		"a TTFT of no sample": {Of: 5, ITL: good.ITL, TTFT: Sums{XX00: 1}},
		"next to no windows":  {Of: 5, ITL: Sums{Samples: 1e-60, X0: 1}},
	} {
		text, err := json.Marshal(VariantFits{"v": {At: lately, Bands: []Band{good, bad}}, "w": {At: lately, Bands: []Band{bad}}})
		if err != nil {
			t.Fatal(err)
		}
		var got VariantFits
		if err := json.Unmarshal(text, &got); err != nil || len(got["v"].Bands) != 1 || len(got) != 1 {
			t.Errorf("%s: got %+v, %v; want the other band alone", name, got, err)
		}
	}
}

func TestStoredFitsThatAreNoneAreRefused(t *testing.T) {
	band := func(of byte) []byte {
		return fitOf(4, 0).Bands[0].TTFT.appendTo(fitOf(4, 0).Bands[0].ITL.appendTo([]byte{of}))
	}
	minus := band(1)
	minus[1+3] |= 0x80 // the sign of the first number
	tests := map[string]struct {
		in   storedFit
		want string
	}{
		"nothing":          {storedFit{}, "its sums have 0 and 0 bytes: want some, 89 for each band and 44 beside them"},
		"cut off":          {storedFit{Bands: band(1)[:80]}, "its sums have 80 and 0 bytes: want some, 89 for each band and 44 beside them"},
		"an odd overload":  {storedFit{Over: []byte{1}}, "its sums have 0 and 1 bytes: want some, 89 for each band and 44 beside them"},
		"a band twice":     {storedFit{Bands: append(band(3), band(3)...)}, "band 3 is not after the one before it and at most 62"},
		"a band too large": {storedFit{Bands: band(63)}, "band 63 is not after the one before it and at most 62"},
		"minus samples":    {storedFit{Bands: minus}, "the sums of band 1 are of no samples"},
		"no overload":      {storedFit{Over: make([]byte, 44)}, "the sums of the overload are of no samples"},
	}
	for name, tt := range tests {
		text, err := json.Marshal(map[string]storedFit{"v": tt.in})
		if err != nil {
			t.Fatal(err)
		}
		var got VariantFits
		if err := json.Unmarshal(text, &got); err == nil || err.Error() != "variant v: "+tt.want {
			t.Errorf("%s: got %v, %v; want %s", name, got, err, tt.want)
		}
	}
	for _, text := range []string{`[]`, `{"v":7}`, fmt.Sprintf(`{"v":{"at":"2026-11-20T12:00:00Z","bands":%q}}`, "!!")} {
		if err := json.Unmarshal([]byte(text), new(VariantFits)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
