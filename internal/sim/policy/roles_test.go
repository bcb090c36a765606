package policy

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inParts is a model with ready replicas of prefill and of decode, of the profile of oneVariant:
// 30 requests/s of 1000 and 200 tokens, of which prefill computes 8333 tokens/s in a replica and decode
// generates 1523.8 in the 64 requests that its batch has: 3.6 replicas and 3.94.
func inParts(prefill, decode scaling.Replicas) Observation {
	p, d := oneVariant(prefill, 0), oneVariant(decode, 0)
	p.Key.Name, d.Key.Name = "p", "d"
	p.Role, d.Role = scaling.RolePrefill, scaling.RoleDecode
	in := Observation{SLO: SLO{TTFT: 1000, ITL: 50}, Variants: []Variant{d, p}}
	in.Load.ArrivalRate, in.Load.InputTokens, in.Load.OutputTokens, in.Load.GatewayQueue = fresh(30), fresh(1000), fresh(200), fresh(0)
	return in
}

// rolesStory lets a policy have its way with both roles for some steps.
func rolesStory(t *testing.T, name string, params map[string]string, steps int, load func(step int, in *Observation, decode *Variant)) (prefill, decode []scaling.Replicas) {
	t.Helper()
	p, err := ByName(name, params)
	if err != nil {
		t.Fatal(err)
	}
	nowP, nowD := scaling.Replicas(2), scaling.Replicas(2)
	for step := range steps {
		in := inParts(nowP, nowD)
		load(step, &in, &in.Variants[0])
		got := p.Decide(begin.Add(time.Duration(step)*p.Interval()), in)
		if len(got) != 2 || got[0].Variant.Name != "d" || got[1].Variant.Name != "p" || got[0].Reason == "" || got[1].Reason == "" {
			t.Fatalf("got %+v, want reasons for d and p", got)
		}
		nowD, nowP = got[0].Replicas, got[1].Replicas
		prefill, decode = append(prefill, nowP), append(decode, nowD)
	}
	return prefill, decode
}

func TestDynamoSizesEachRole(t *testing.T) {
	prefill, decode := rolesStory(t, "dynamo-sla", map[string]string{"predictor": "constant"}, 13, func(int, *Observation, *Variant) {})
	if prefill[12] != 4 || decode[12] != 4 {
		t.Errorf("got %d and %d, want ceil(3.6) of prefill and ceil(3.94) of decode", prefill[12], decode[12])
	}
	prefill, decode = rolesStory(t, "dynamo-sla", map[string]string{"predictor": "constant"}, 13, func(_ int, in *Observation, _ *Variant) { in.Load.InputTokens = fresh(10_000) })
	// 30 x 10000 / (10000 tokens in 1020 ms), and 6000 tokens/s / (100000/10100 requests at an ITL of 14.95 ms).
	if prefill[12] != 31 || decode[12] != 10 {
		t.Errorf("prompts of ten times the length: got %d and %d, want 31 of prefill and 10 of decode", prefill[12], decode[12])
	}
}

func TestPairedKeepsItsRatioWhateverPrefillHasToDo(t *testing.T) {
	// 64 requests at once, 80 % of which are the target; the ratio is 3.6/3.9375 = 0.914.
	busy := func(_ int, _ *Observation, d *Variant) {
		for i := range d.Pods {
			d.Pods[i].Running = fresh(256 / float64(len(d.Pods)))
		}
	}
	prefill, decode := rolesStory(t, "hpa-paired", nil, 3, busy)
	if prefill[2] != 5 || decode[2] != 5 {
		t.Errorf("256 requests in decode: got %d and %d, want 5 and ceil(4.57)", prefill[2], decode[2])
	}
	prefill, decode = rolesStory(t, "hpa-paired", map[string]string{"ratio": "2.1"}, 3, busy)
	if prefill[2] != 11 || decode[2] != 5 {
		t.Errorf("with a ratio of 2.1: got %d and %d, want 11 and 5", prefill[2], decode[2])
	}
	prefill, _ = rolesStory(t, "hpa-paired", nil, 3, func(step int, in *Observation, d *Variant) {
		busy(step, in, d)
		if step > 0 {
			in.Load.InputTokens = fresh(5000)
		}
	})
	// 64 requests of 5200 tokens do not fit: 100000/5100 = 19.6 do, and 256/(0.8 x 19.6) = 16.3.
	if prefill[2] != 16 {
		t.Errorf("prompts of five times the length: got %d of prefill, want ceil(0.914 x 17): the ratio of the first load", prefill[2])
	}
	prefill, decode = rolesStory(t, "hpa-paired", map[string]string{"signal": "kv", "share": "0.5"}, 2, func(_ int, _ *Observation, d *Variant) {
		for i := range d.Pods {
			d.Pods[i].KVCacheUsage = fresh(0.9)
		}
	})
	if prefill[0] != 4 || decode[0] != 4 {
		t.Errorf("a KV cache usage of 0.9: got %d and %d, want 4 and ceil(2 x 0.9/0.5)", prefill[0], decode[0])
	}
}

func TestHeteroScaleFollowsTheTokensOfDecode(t *testing.T) {
	const most = 64 / 0.042 // tokens/s of a replica: 64 requests every 42 ms
	generating := func(total float64) func(int, *Observation, *Variant) {
		return func(_ int, in *Observation, d *Variant) {
			in.Load.ITL = fresh(40)
			for i := range d.Pods {
				d.Pods[i].Decoded = fresh(total / float64(len(d.Pods)))
			}
		}
	}
	for _, tt := range []struct {
		name            string
		total           float64 // tokens/s
		change          func(*Observation)
		steps           int
		prefill, decode scaling.Replicas
	}{
		{"more than the target", 3 * most, nil, 1, 4, 4}, // 3/0.8 = 3.75
		{"within the thresholds", 2 * 0.8 * 1.09 * most, nil, 5, 2, 2},
		{"just above the thresholds", 2 * 0.8 * 1.11 * most, nil, 1, 3, 3},
		{"less than the target", 0.5 * most, nil, 1, 1, 1},
		{"an ITL far above the objective", 2 * 0.8 * most, func(in *Observation) { in.Load.ITL = fresh(61) }, 1, 3, 3},
		{"again only when the last change is a minute old", 2 * 0.8 * most, func(in *Observation) { in.Load.ITL = fresh(61) }, 4, 3, 3},
		{"and then", 2 * 0.8 * most, func(in *Observation) { in.Load.ITL = fresh(61) }, 5, 4, 4},
		{"no tokens are measured", 0, func(in *Observation) { in.Variants[0].Pods = nil }, 3, 2, 2},
	} {
		prefill, decode := rolesStory(t, "heteroscale", nil, tt.steps, func(step int, in *Observation, d *Variant) {
			generating(tt.total)(step, in, d)
			if tt.change != nil {
				tt.change(in)
			}
		})
		if last := tt.steps - 1; prefill[last] != tt.prefill || decode[last] != tt.decode {
			t.Errorf("%s: got %d of prefill and %d of decode, want %d and %d", tt.name, prefill[last], decode[last], tt.prefill, tt.decode)
		}
	}
}

func TestRulesOfRolesLeaveOtherModelsAlone(t *testing.T) {
	for _, d := range RoleCatalogue() {
		p, err := ByName(d.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := Observation{SLO: SLO{TTFT: 1000, ITL: 50}, Variants: []Variant{oneVariant(3, 1)}}
		if got := p.Decide(begin, in); len(got) != 1 || got[0].Replicas != 4 {
			t.Errorf("%s: got %+v, want the 4 replicas there are", d.Name, got)
		}
	}
}

func TestTheCheapestVariantOfARoleHasWhatIsWanted(t *testing.T) {
	in := inParts(2, 2)
	dear := oneVariant(1, 0)
	dear.Key.Name, dear.Role, dear.Cost = "dear", scaling.RolePrefill, 50
	in.Variants = append(in.Variants[:1:1], dear, in.Variants[1])
	p, err := ByName("hpa-paired", map[string]string{"ratio": "3"})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Decide(begin, in)
	want := map[string]scaling.Replicas{"d": 2, "dear": 1, "p": 6}
	for i, target := range got {
		if target.Variant != in.Variants[i].Key || target.Replicas != want[target.Variant.Name] {
			t.Errorf("got %+v, want %v", target, want)
		}
	}
}

func TestRoleCatalogueIsCompleteAndBounded(t *testing.T) {
	for _, d := range RoleCatalogue() {
		if found, ok := Find(d.Name); !ok || !cmp.Equal(found, d) || d.Source == "" || d.Reads == "" || d.Interval <= 0 || slices.Contains(Names(), d.Name) {
			t.Errorf("%s: got %+v and %t, want its definition, and no place in Names", d.Name, found, ok)
		}
		if len(d.Grid) < 2 || len(d.Grid) > 10 {
			t.Errorf("%s: %d points, want 2 to 10", d.Name, len(d.Grid))
		}
		for seed := range uint64(3) {
			for _, point := range append(d.Grid, map[string]string{"ratio": "0.3"}) {
				bounded(t, d.Name, point, seed)
			}
		}
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, _ := strings.Cut(string(text), "// # Prefill and decode\n//\n"); !strings.HasPrefix(rest, table(RoleCatalogue())) {
		t.Errorf("doc.go lacks the table:\n%s", table(RoleCatalogue()))
	}
}

// bounded drives a policy of roles through a load that wanders, with readings missing.
func bounded(t *testing.T, name string, point map[string]string, seed uint64) {
	t.Helper()
	p, err := ByName(name, point)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(seed)
	w.variants[0].Role, w.variants[1].Role = scaling.RoleDecode, scaling.RolePrefill
	for step := range 200 {
		in := w.observe()
		for i := range in.Variants {
			for j := range in.Variants[i].Pods {
				in.Variants[i].Pods[j].Decoded = fresh(100 * w.rng.Float64() * w.load / float64(len(in.Variants[i].Pods)))
			}
		}
		targets := p.Decide(begin.Add(time.Duration(step)*p.Interval()), in)
		for i, target := range targets {
			if b := in.Variants[i].Bounds; target.Replicas < b.Min || target.Replicas > b.Max || target.Reason == "" || target.Variant != in.Variants[i].Key {
				t.Fatalf("%s %v, step %d: got %+v outside of %+v", name, point, step, target, b)
			}
		}
		w.obey(targets)
	}
}
