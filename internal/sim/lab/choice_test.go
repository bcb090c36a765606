package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

func TestEveryPolicyAcceptsItsOwnDefaults(t *testing.T) {
	all := Catalogue()
	if len(all) != len(Names()) {
		t.Fatalf("%d policies, %d names", len(all), len(Names()))
	}
	for i, d := range all {
		c := Choice{Name: d.Name, Params: map[string]string{}}
		for _, p := range d.Params {
			c.Params[p.Name] = p.Default
		}
		back, err := ParseChoice(c.String())
		if d.Name != Names()[i] || err != nil || !cmp.Equal(back, c) {
			t.Errorf("%s read back as %+v, %v", c, back, err)
		}
	}
}

// TestGridsHoldTheDefaults checks that tuning can only make a baseline better.
func TestGridsHoldTheDefaults(t *testing.T) {
	for _, d := range policy.Catalogue() {
		points := Choice{Name: d.Name}.grid()
		defaults := 0
		for _, point := range points {
			if isDefault(d, point) {
				defaults++
			}
		}
		if len(points) > 9 || len(points) > 0 && defaults != 1 {
			t.Errorf("%s: %d points, %d of them the defaults: %v", d.Name, len(points), defaults, points)
		}
	}
	if (Choice{Name: Saturation}).grid() != nil {
		t.Error("our own policy is tuned")
	}
}

func TestOwnPolicyIsThatOfTheManager(t *testing.T) {
	o, err := parseOwn(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.policy.Saturation != saturation.Default() || o.interval != time.Minute || o.policy.ScaleDownStabilization != 2*time.Minute || o.policy.MaxScaleDownStep != 1 {
		t.Errorf("got %+v every %s, want the documented defaults", o.policy, o.interval)
	}
	o, err = parseOwn(map[string]string{"kvSpareTrigger": "0.3", "interval": "15s", "scaleDownStabilization": "5m", "maxScaleUpStep": "2"})
	if err != nil {
		t.Fatal(err)
	}
	if o.policy.Saturation.KVSpareTrigger != 0.3 || o.interval != 15*time.Second || o.policy.ScaleDownStabilization != 5*time.Minute || o.policy.MaxScaleUpStep != 2 {
		t.Errorf("got %+v every %s", o.policy, o.interval)
	}
}

func TestChoicesSayWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"hpa", `policy "hpa" is not known: want one of saturation, static`},
		{"kpa:utilisation=0.7", `policy kpa has no parameter "utilisation": want one of`},
		{"kpa:utilization=2", "policy kpa: parameter utilization: found 2"},
		{"kpa:utilization", `policy kpa: found "utilization", want param=value`},
		{"kpa:utilization=0.5,utilization=0.6", "each parameter once"},
		{"saturation:kvSpare=0.1", `policy saturation has no parameter "kvSpare": want one of kvCacheThreshold`},
		{"saturation:kvSpareTrigger=lots", `policy saturation: parameter kvSpareTrigger: found "lots", want a ratio from 0 to 1`},
		{"saturation:interval=1ms", `policy saturation: parameter interval: found "1ms", want a duration from 1s to 1h`},
		{"", "is not known"},
	} {
		_, err := ParseChoice(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
		}
	}
	_, err := ParseChoice("saturation:x=1")
	if _, ok := errors.AsType[*policy.UnknownParamError](err); !ok {
		t.Errorf("got %T", err)
	}
}

// TestBenchmarkIsWhereObjectivesBreak offers four replicas a little less and much
// more than four times what was measured of one.
func TestBenchmarkIsWhereObjectivesBreak(t *testing.T) {
	s := testScenario(t, "constant(4,30m)")
	s.Models[0].Sized = true
	f, err := fit(t.Context(), s, look{seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	key := s.Models[0].Spec.Variants[0].Spec.Key
	b := f.measured[key]
	if b.Rate < 1 || b.Rate > 12 || b.Concurrency < 5 || b.Concurrency > 64 || b.PrefillSpeed <= 0 {
		t.Fatalf("measured %+v", b)
	}
	again := bench{variant: s.Models[0].Spec.Variants[0], slo: s.Models[0].Spec.SLO, sample: f.survey.sample, mean: f.survey.Lengths}
	for factor, want := range map[float64]bool{0.9: true, 1.3: false} {
		got, err := again.at(t.Context(), factor*b.Rate)
		if err != nil || (got.Rate > 0) != want {
			t.Errorf("%g times the rate: %+v, %v; attained: want %t", factor, got, err, want)
		}
	}
	// The fleet begins with what 4 requests/s need.
	if n, rate := f.Models[0].Spec.Variants[0].Replicas, b.Rate; n != int(4/rate)+1 {
		t.Errorf("%d replicas for 4 requests/s of %g each", n, rate)
	}
	again.slo.ITL = 1 // below alpha
	if got, err := again.measure(t.Context()); err != nil || got != (policy.Benchmark{}) {
		t.Errorf("out of reach: %+v, %v", got, err)
	}
}
