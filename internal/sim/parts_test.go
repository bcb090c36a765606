package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// partsModel has one replica of prefill, "p", and one of decode, "d".
func partsModel(requests iter.Seq2[workload.Request, error]) Model {
	m := testModel(requests)
	p, d := testVariant("p"), testVariant("d")
	p.Spec.Role, d.Spec.Role = scaling.RolePrefill, scaling.RoleDecode
	m.Variants = []Variant{d, p}
	return m
}

// at are requests of one length at some instants.
func at(input, output int, instants ...time.Duration) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) {
		for _, t := range instants {
			if !yield(workload.Request{At: t, InputTokens: input, OutputTokens: output}, nil) {
				return
			}
		}
	}
}

// partsTurmoil is turmoil of models that are served in parts.
func partsTurmoil(tb testing.TB, seed uint64) (Config, restless) {
	c, policy := turmoil(tb, seed)
	for i := range c.Models {
		m := &c.Models[i]
		m.Transfer = Transfer{Base: 400 * time.Millisecond, PerToken: time.Millisecond}
		m.Patience = Patience{Mean: 8 * time.Second, Deviation: 5 * time.Second, Retry: 0.3, After: time.Second}
		m.Prefix = Prefix{Share: 0.5, Part: 0.5, Warm: 20}
		m.Variants[0].Spec.Role, m.Variants[1].Spec.Role = scaling.RolePrefill, scaling.RoleDecode
		if i == 1 {
			m.Variants[0].Spec.Role, m.Variants[1].Spec.Role = scaling.RoleDecode, scaling.RolePrefill
		}
	}
	return c, policy
}

func TestRequestsOfModelsInPartsEndOnce(t *testing.T) {
	var total Counts
	between := 0
	for seed := range uint64(6) {
		c, policy := partsTurmoil(t, seed)
		c.check = func(w *world) error {
			for _, v := range w.variants {
				for _, p := range slices.Concat(v.pods, v.leaving) {
					between += p.pulls
					if p.keeps < 0 || p.pulls < 0 || p.phase == gone && p.keeps+p.pulls > 0 {
						return fmt.Errorf("%s keeps %d requests and receives %d", p.name, p.keeps, p.pulls)
					}
				}
			}
			if err := w.conserved(); err != nil {
				return err
			}
			return stockIsConserved(w)
		}
		r, err := Run(t.Context(), c, policy)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, m := range r.Models {
			total.Finished += m.Counts.Finished
			total.Rejected += m.Counts.Rejected
			total.Expired += m.Counts.Expired
			total.Lost += m.Counts.Lost
			total.Abandoned += m.Counts.Abandoned
			total.Held += m.Counts.Held
			if got := m.Counts.ended() + m.Unfinished; got != m.Counts.Arrived {
				t.Errorf("seed %d: %d requests of %s ended or are unfinished, %d arrived", seed, got, m.Model, m.Counts.Arrived)
			}
		}
	}
	if between == 0 || total.Finished == 0 || total.Rejected == 0 || total.Expired == 0 || total.Lost == 0 || total.Held == 0 || total.Abandoned == 0 {
		t.Errorf("the turmoil is too quiet: %d on their way, %+v", between, total)
	}
}

func TestARunInPartsIsThatOfItsSeed(t *testing.T) {
	run := func(seed uint64) []byte {
		c, policy := partsTurmoil(t, seed)
		r, err := Run(t.Context(), c, policy)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first, again, other := run(3), run(3), run(4)
	if !bytes.Equal(first, again) {
		t.Errorf("two runs of seed 3 differ:\n%s\n%s", first, again)
	}
	if bytes.Equal(first, other) {
		t.Error("runs of two seeds do not differ")
	}
}

// TestWatchingARunInPartsChangesNothing has replicas looked at after every event: what prefill
// hands over does not depend on who looks.
func TestWatchingARunInPartsChangesNothing(t *testing.T) {
	run := func(check func(*world) error) Report {
		c := Config{Seed: 5, Models: []Model{partsModel(simtest.Chat(t, "constant(3,5m)", 5))}, check: check}
		c.Models[0].Transfer = DefaultTransfer()
		r, err := Run(t.Context(), c, hold())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if a, b := run(nil), run(func(*world) error { return nil }); a.TTFT != b.TTFT || a.ITL != b.ITL || a.Models[0].Response != b.Models[0].Response {
		t.Errorf("left alone %+v, watched %+v", a.Models[0], b.Models[0])
	}
}

// TestALoneRequestTakesPrefillTransferAndDecode is the closed form: gamma + delta x input for prefill,
// the transfer, gamma + delta for the last token of the prompt that decode computes again, and
// alpha + beta for every token after the first.
func TestALoneRequestTakesPrefillTransferAndDecode(t *testing.T) {
	const input, output = 1000, 50
	p := testProfile()
	transfer := Transfer{Base: 7 * time.Millisecond, PerToken: 20 * time.Microsecond}
	m := partsModel(at(input, output, 10*time.Second))
	m.Transfer = transfer
	r, err := Run(t.Context(), Config{Models: []Model{m}, Duration: time.Minute}, hold())
	if err != nil {
		t.Fatal(err)
	}
	prefill := p.GammaMS + p.DeltaMS*input
	moved := 7 + 0.02*input
	first := p.GammaMS + p.DeltaMS
	itl := p.AlphaMS + p.BetaMS
	got := r.Models[0]
	within := func(what string, got, want, part float64) {
		t.Helper()
		if got < want*(1-part) || got > want*(1+part) {
			t.Errorf("%s is %g ms, want %g", what, got, want)
		}
	}
	// Sketches are exact within 1 %.
	within("TTFT", got.TTFT.P50, prefill+moved+first, 0.01)
	within("ITL", got.ITL.P50, itl, 0.01)
	within("response time", got.Response.P50, prefill+moved+first+(output-1)*itl, 0.01)
	if got.Counts.Finished != 1 || got.Counts.OutputTokens != output {
		t.Errorf("finished %d requests with %d tokens, want one with %d", got.Counts.Finished, got.Counts.OutputTokens, output)
	}
}

// TestPrefillAloneTakesAsLongAsAWholeReplica sends the same requests to a replica that serves
// whole requests of one token, and to prefill.
func TestPrefillAloneTakesAsLongAsAWholeReplica(t *testing.T) {
	const input = 700
	var instants []time.Duration
	draws := rand.New(rand.NewPCG(1, 2))
	for now := time.Duration(0); now < 3*time.Minute; now += time.Duration(draws.ExpFloat64() * float64(120*time.Millisecond)) {
		instants = append(instants, now)
	}
	stats := func(m Model, pod string) (uint64, time.Duration) {
		var n uint64
		var sum time.Duration
		c := Config{Models: []Model{m}, check: func(w *world) error {
			for _, v := range w.variants {
				if p := v.pods[0]; v.Spec.Key.Name == pod {
					s := p.replica.Stats()
					n, sum = s.FirstTokens, s.TTFT
				}
				for _, p := range v.pods {
					if s := p.replica.Stats(); p.prefills() && s.InterTokens > 0 {
						return fmt.Errorf("prefill put out %d tokens after the first", s.InterTokens)
					}
				}
			}
			return nil
		}}
		if _, err := Run(t.Context(), c, hold()); err != nil {
			t.Fatal(err)
		}
		return n, sum
	}
	n, whole := stats(testModel(at(input, 1, instants...)), "a")
	for _, output := range []int{1, 20} {
		of, prefill := stats(partsModel(at(input, output, instants...)), "p")
		if of != n || prefill != whole {
			t.Errorf("answers of %d tokens: prefill took %s for %d prompts, a whole replica %s for %d", output, prefill, of, whole, n)
		}
	}
}

func TestWhatPrefillIsDoneWithWaitsForDecode(t *testing.T) {
	for _, tt := range []struct {
		name           string
		hold           time.Duration
		decodeAt       int // of the decision that wants a decode replica, every 15 s; it is ready 30 s later
		want           Counts
		ttftMS, atMost float64
	}{
		{name: "until a replica is ready", hold: time.Minute, decodeAt: 1, ttftMS: 45_000 - 10_000, atMost: 45_100 - 10_000, want: Counts{Arrived: 1, Finished: 1, Held: 1, OutputTokens: 5, MetITL: 1}},
		{name: "for as long as the gateway holds requests", hold: 20 * time.Second, decodeAt: 100, want: Counts{Arrived: 1, Expired: 1, Held: 1}},
		{name: "not at all where the gateway holds none", decodeAt: 100, want: Counts{Arrived: 1, Rejected: 1}},
	} {
		m := partsModel(at(100, 5, 10*time.Second))
		m.Hold, m.Variants[0].Replicas = tt.hold, 0
		targets := make([][]Target, 200)
		for i := range targets {
			targets[i] = []Target{{Variant: m.Variants[0].Spec.Key, Replicas: scaling.Replicas(min(1, (i+1)/tt.decodeAt))}}
		}
		r, err := Run(t.Context(), Config{Models: []Model{m}, Duration: 2 * time.Minute}, &scripted{every: 15 * time.Second, targets: targets})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := r.Models[0]
		if got.Counts != tt.want || tt.ttftMS > 0 && (got.TTFT.P50 < 0.99*tt.ttftMS || got.TTFT.P50 > 1.01*tt.atMost) {
			t.Errorf("%s: got %+v and a TTFT of %g ms, want %+v and one within [%g, %g]", tt.name, got.Counts, got.TTFT.P50, tt.want, tt.ttftMS, tt.atMost)
		}
	}
}

// TestAPodThatEndsTakesItsTransfersWithIt crashes either pod while the KV cache moves, and before.
func TestAPodThatEndsTakesItsTransfersWithIt(t *testing.T) {
	for _, tt := range []struct {
		name, pod string
		at        time.Duration
		want      uint64 // lost requests
	}{
		{"prefill while it sends", "p", 11 * time.Second, 1},
		{"decode while it receives", "d", 11 * time.Second, 1},
		{"prefill after it has sent", "p", 13100 * time.Millisecond, 0},
		{"decode while it generates", "d", 13100 * time.Millisecond, 1},
	} {
		m := partsModel(at(100, 50, 10*time.Second))
		m.Transfer = Transfer{Base: 3 * time.Second}
		c := Config{Models: []Model{m}, Duration: time.Minute, Faults: []fault.Fault{{Kind: fault.Crash, At: tt.at, Variant: scaling.VariantKey{Namespace: "ns", Name: tt.pod}, Replicas: 1}}}
		c.check = func(w *world) error { return w.conserved() }
		r, err := Run(t.Context(), c, hold())
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := r.Models[0].Counts; got.Lost != tt.want || got.Finished != 1-tt.want {
			t.Errorf("%s: got %+v, want %d lost", tt.name, got, tt.want)
		}
	}
}

// TestARemovedPrefillReplicaStaysUntilItsKVCachesHaveMoved removes it while the first request moves.
func TestARemovedPrefillReplicaStaysUntilItsKVCachesHaveMoved(t *testing.T) {
	m := partsModel(at(100, 5, 14*time.Second))
	m.Transfer = Transfer{Base: 5 * time.Second}
	gone := time.Duration(0)
	c := Config{Models: []Model{m}, Duration: time.Minute}
	c.check = func(w *world) error {
		if v, _ := w.byKey(m.Variants[1].Spec.Key); gone == 0 && len(v.pods)+len(v.leaving) == 0 {
			gone = w.now
		}
		return nil
	}
	r, err := Run(t.Context(), c, &scripted{every: 15 * time.Second, targets: [][]Target{{{Variant: m.Variants[1].Spec.Key}}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Models[0].Counts.Finished != 1 || gone < 19*time.Second || gone > 20*time.Second {
		t.Errorf("the replica was gone at %s, and %+v, want 19 s and the request finished", gone, r.Models[0].Counts)
	}
}

func TestRolesOfAModelBelongTogether(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Model)
		want   string // the field that is wrong, "" for none
	}{
		{"prefill and decode", func(*Model) {}, ""},
		{"decode alone serves whole requests", func(m *Model) { m.Variants = m.Variants[:1] }, ""},
		{"prefill alone", func(m *Model) { m.Variants = m.Variants[1:] }, "models[0].variants"},
		{"a variant of whole requests beside prefill", func(m *Model) { m.Variants[0].Spec.Role = "" }, "models[0].variants[0].spec.role"},
		{"another role", func(m *Model) { m.Variants[0].Spec.Role = "encode" }, "models[0].variants[0].spec.role"},
		{"a transfer that ends before it begins", func(m *Model) { m.Transfer.PerToken = -1 }, "models[0].transfer"},
	} {
		m := partsModel(at(1, 1))
		tt.change(&m)
		err := Config{Models: []Model{m}}.Validate()
		field := ""
		if wrong, ok := errors.AsType[*FieldError](err); ok {
			field = wrong.Field
		}
		if field != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: got %v, want %q to be wrong", tt.name, err, tt.want)
		}
	}
}

// TestTheLoadOfRolesIsThatOfTheirParts has 2 requests/s, far below what either replica can do.
func TestTheLoadOfRolesIsThatOfTheirParts(t *testing.T) {
	const input, output = 800, 40
	var instants []time.Duration
	for now := time.Duration(0); now < 5*time.Minute; now += 500 * time.Millisecond {
		instants = append(instants, now)
	}
	m := partsModel(at(input, output, instants...))
	m.Transfer = Transfer{Base: 100 * time.Millisecond}
	var last scaling.Snapshot
	if _, err := Run(t.Context(), Config{Models: []Model{m}, Duration: 5 * time.Minute}, &scripted{every: 4*time.Minute + 50*time.Second, seen: func(v View) { last = v.Snapshots[0] }}); err != nil {
		t.Fatal(err)
	}
	p := testProfile()
	prefill := p.GammaMS + p.DeltaMS*input
	decode := 100 + p.GammaMS + p.DeltaMS // at least: a step that is under way ends first
	if len(last.Roles) != 2 || last.Roles[0].Role != scaling.RoleDecode || last.Roles[1].Role != scaling.RolePrefill {
		t.Fatalf("got roles %+v, want decode and prefill", last.Roles)
	}
	d, pre := last.Roles[0].Load, last.Roles[1].Load
	for _, tt := range []struct {
		name       string
		got        scaling.Reading
		low, upper float64
	}{
		{"rate of the model", last.Load.ArrivalRate, 1.98, 2.02},
		{"rate of decode", d.ArrivalRate, 1.98, 2.02},
		{"rate of prefill", pre.ArrivalRate, 1.98, 2.02},
		{"answers of prefill", pre.OutputTokens, 1, 1},
		{"answers of decode", d.OutputTokens, output - 0.5, output + 0.5},
		{"prompts of prefill", pre.InputTokens, input, input},
		{"prompts of decode", d.InputTokens, input, input},
		{"TTFT of prefill", pre.TTFT, prefill - 0.1, prefill + 0.1},
		{"TTFT of decode", d.TTFT, decode, decode + 2*(p.AlphaMS+3*p.BetaMS)},
		{"TTFT of the model", last.Load.TTFT, prefill + decode - 0.1, prefill + decode + 2*(p.AlphaMS+3*p.BetaMS)},
		{"what decode does not compute", d.PrefixHits, 0.98, 1},
		{"ITL", d.ITL, p.AlphaMS + p.BetaMS, p.AlphaMS + 3*p.BetaMS + 2},
	} {
		if !tt.got.Known() || tt.got.Value < tt.low || tt.got.Value > tt.upper {
			t.Errorf("%s: got %+v, want it within [%g, %g]", tt.name, tt.got, tt.low, tt.upper)
		}
	}
	if pre.ITL.State != scaling.NotApplicable || last.Load.TTFTBuckets.State != scaling.NotApplicable {
		t.Errorf("an ITL of prefill, %+v, or quantiles of the TTFT, %+v: want neither", pre.ITL, last.Load.TTFTBuckets)
	}
}
