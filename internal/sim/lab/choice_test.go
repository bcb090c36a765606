package lab

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

func TestEveryPolicyAcceptsItsOwnDefaults(t *testing.T) {
	all := Catalogue()
	if len(all) != len(Names())+len(policy.RoleCatalogue()) {
		t.Fatalf("%d policies, %d names of models that are served whole", len(all), len(Names()))
	}
	for i, d := range all {
		c := Choice{Name: d.Name, Params: map[string]string{}}
		for _, p := range d.Params {
			c.Params[p.Name] = p.Default
		}
		back, err := ParseChoice(c.String())
		if d.Name != known()[i] || err != nil || !cmp.Equal(back, c) {
			t.Errorf("%s read back as %+v, %v", c, back, err)
		}
	}
}

// TestGridsHoldTheDefaults checks that tuning can only make a baseline better.
func TestGridsHoldTheDefaults(t *testing.T) {
	for _, d := range policy.Catalogue() {
		points := Choice{Name: d.Name}.grid(0)
		defaults := 0
		for _, point := range points {
			if isDefault(d, point) {
				defaults++
			}
		}
		if len(points) > 10 || len(points) > 0 && defaults != 1 {
			t.Errorf("%s: %d points, %d of them the defaults: %v", d.Name, len(points), defaults, points)
		}
	}
	if (Choice{Name: Saturation}).grid(0) != nil {
		t.Error("our own policy is tuned")
	}
}

func TestOwnPolicyIsThatOfTheManager(t *testing.T) {
	o, err := parseOwn(Choice{Name: Saturation})
	if err != nil {
		t.Fatal(err)
	}
	if o.policy.Saturation != saturation.Default() || o.interval != time.Minute || o.policy.ScaleDownStabilization != 2*time.Minute || o.policy.MaxScaleDownStep != config.StepAuto {
		t.Errorf("got %+v every %s, want the documented defaults", o.policy, o.interval)
	}
	if o.executor != executor.Hybrid || o.fetch != 15*time.Second || o.policy.Limited {
		t.Errorf("executor %s, looks every %s, limited %t: want the documented defaults", o.executor, o.fetch, o.policy.Limited)
	}
	o, err = parseOwn(Choice{Saturation, map[string]string{
		"kvSpareTrigger": "0.3", "interval": "10s", "scaleDownStabilization": "5m", "maxScaleUpStep": "2", "executor": "polling", "enableLimiter": "true",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if o.executor != executor.Polling || o.fetch != 10*time.Second || !o.policy.Limited {
		t.Errorf("executor %s, looks every %s, limited %t: want what was chosen, and no look rarer than a cycle", o.executor, o.fetch, o.policy.Limited)
	}
	if o.policy.Saturation.KVSpareTrigger != 0.3 || o.interval != 10*time.Second || o.policy.ScaleDownStabilization != 5*time.Minute || o.policy.MaxScaleUpStep != 2 {
		t.Errorf("got %+v every %s", o.policy, o.interval)
	}
}

func TestEveryEngineOfOursIsAPolicy(t *testing.T) {
	for _, tt := range []struct {
		text   string
		engine settings.Engine
		method settings.Method
	}{
		{"saturation", settings.Saturation, settings.Spare},
		{"tokens:scaleUpThreshold=0.9", settings.Saturation, settings.Tokens},
		{"model:ttftPercentile=0.95", settings.Queueing, settings.Spare},
		{"hybrid", settings.Hybrid, settings.Tokens},
		{"hybrid:kvSpareTrigger=0.2", settings.Hybrid, settings.Spare},
		{"published", settings.Published, settings.Spare},
		{"hybrid:analyzerName=saturation,scaleDownBoundary=0.5", settings.Hybrid, settings.Tokens},
	} {
		c, err := ParseChoice(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		o, err := parseOwn(c)
		if got := o.policy.Resolved(); err != nil || !c.Own() || got.Engine != tt.engine || got.Method != tt.method {
			t.Errorf("%s: engine %q by %q, %v; want %q by %q", tt.text, got.Engine, got.Method, err, tt.engine, tt.method)
		}
	}
}

func TestChoicesSayWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"hpa", `policy "hpa" is not known: want one of tokens, saturation, queueing, hybrid, published, static`},
		{"tokenz", `policy "tokenz" is not known (did you mean tokens?): want one of tokens, saturation`},
		{"kpa:utilisation=0.7", `policy kpa has no parameter "utilisation" (did you mean utilization?): want one of`},
		{"kpa:utilization=2", "policy kpa: parameter utilization: found 2"},
		{"kpa:utilization", `policy kpa: found "utilization", want param=value`},
		{"kpa:utilization=0.5,utilization=0.6", "each parameter once"},
		{"saturation:kvSpare=0.1", `policy saturation has no parameter "kvSpare": want one of kvCacheThreshold`},
		{"saturation:kvSpareTrigger=lots", `policy saturation: parameter kvSpareTrigger: found "lots", want a ratio from 0 to 1`},
		{"model:kvSpareTrigger=0.1", `policy queueing has no parameter "kvSpareTrigger": want one of ttftPercentile`},
		{"tokens:scaleUpThreshold=0.5", "policy tokens: parameter"},
		{"saturation:interval=1ms", `policy saturation: parameter interval: found "1ms", want a duration from 1s to 1h`},
		{"hybrid:executor=often", `policy hybrid: parameter executor: found "often", want one of hybrid, polling, reactive`},
		{"hybrid:fetchInterval=1ms", `policy hybrid: parameter fetchInterval: found "1ms", want a duration from 1s to PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD, or 0 for off`},
		{"hybrid:executor=reactive,fetchInterval=0s", "policy hybrid: parameter"},
		{"hybrid:enableLimiter=perhaps", `policy hybrid: parameter enableLimiter: found "perhaps", want true or false`},
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

// TestBenchmarkIsWhereObjectivesBreak offers the fleet that was measured a little less and
// much more than what was measured of each replica.
func TestBenchmarkIsWhereObjectivesBreak(t *testing.T) {
	s := slowed(testScenario(t, "constant(4,30m)"), 8)
	s.Workload = Generator(simtest.Rates(t, "constant(4,30m)"), simtest.Lengths(t, 160, 40)) // tokens are what takes time
	s.Models[0].Sized = true
	f, err := fit(t.Context(), s, look{seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	key := s.Models[0].Spec.Variants[0].Spec.Key
	b := f.measured[key]
	if p := b.Profile; p.Alpha < 8*18 || p.Beta <= 8*0.35 || p.Alpha+p.Beta*b.Concurrency > s.Models[0].Spec.SLO.ITL {
		t.Errorf("profile %+v: want an ITL above that of a step without prefills, and within the objective at %g requests", p, b.Concurrency)
	}
	if b.Rate < 1 || b.Rate > 12 || b.Concurrency < 5 || b.Concurrency > 64 || b.PrefillSpeed <= 0 {
		t.Fatalf("measured %+v", b)
	}
	again := bench{variant: s.Models[0].Spec.Variants[0], slo: s.Models[0].Spec.SLO, sample: f.survey.sample, mean: f.survey.Lengths, replicas: b.Replicas}
	for factor, want := range map[float64]bool{0.9: true, 1.3: false} {
		got, err := again.at(t.Context(), factor*b.Rate)
		if err != nil || (got.attained >= again.slo.Attainment) != want {
			t.Errorf("%g times the rate: %+v, %v; attained: want %t", factor, got, err, want)
		}
	}
	// The fleet begins with what 4 requests/s need.
	if n, rate := f.Models[0].Spec.Variants[0].Replicas, b.Rate; n != scaling.Replicas(4/rate)+1 {
		t.Errorf("%d replicas for 4 requests/s of %g each", n, rate)
	}
	again.slo.TTFT = 1 // below gamma
	if got, err := again.measure(t.Context()); err != nil || got.Benchmark != (policy.Benchmark{}) {
		t.Errorf("out of reach: %+v, %v", got, err)
	}
}

func TestAFittedProfileGoesThroughBothPoints(t *testing.T) {
	b := bench{variant: sim.Variant{Profile: testProfile()}, mean: policy.Workload{InputTokens: 500, OutputTokens: 100}}
	light := point{Benchmark: policy.Benchmark{Rate: 1, Concurrency: 2}, ttft: 60, itl: 20}
	full := point{Benchmark: policy.Benchmark{Rate: 9, Concurrency: 22}, ttft: 260, itl: 35}
	p := b.fit(light, full)
	for _, at := range []point{light, full} {
		itl, ttft := p.Alpha+p.Beta*at.Concurrency, p.Gamma+p.Delta*500*at.Concurrency
		if math.Abs(itl-at.itl) > 1e-9 || math.Abs(ttft-at.ttft) > 1e-9 {
			t.Errorf("with %g requests: ITL %g and TTFT %g, want %g and %g", at.Concurrency, itl, ttft, at.itl, at.ttft)
		}
	}
	if got := b.fit(light, light); got != speed(b.variant) {
		t.Errorf("one point only: %+v, want what is true of a step", got)
	}
}
