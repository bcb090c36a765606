package constrain

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// piece is one variant of a model, known by its name, that passes through Retention.
type piece struct {
	name            string
	current, ready  scaling.Replicas
	min             scaling.Replicas
	cost            float64
	gpus            scaling.Accelerators
	asked           scaling.Replicas // replicas that the optimizer asks for
	stands          scaling.Replicas // the last decision, with decided
	decided         bool             // whether there is one
	ago             time.Duration    // time since that decision; 0 means an hour
	paused, missing bool
	unseen          time.Duration // how long it has been missing, with decided
	gone            bool          // its target does not exist
}

func vkey(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }

// quiet returns the activity of a model that is known to have been idle for d.
func quiet(d time.Duration) memory.Activity {
	return memory.Activity{At: start, Life: scaling.LifeIdle, IdleSince: start.Add(-d), Until: start}
}

// then returns a with the life and the detail of later.
func then(a, later memory.Activity) memory.Activity {
	a.Life, a.Detail = later.Life, later.Detail
	return a
}

// retain passes the pieces through Retention and returns the target of each.
func retain(zero Zero, activity memory.Activity, pieces ...piece) (map[string]scaling.Replicas, scaling.Plan) {
	in := Input{
		Now: start, Variants: map[scaling.VariantKey]scaling.Variant{}, History: memory.History{},
		Policies: map[scaling.ModelKey]Pacing{model: {Zero: zero}}, Activity: map[scaling.ModelKey]memory.Activity{model: activity},
	}
	var plan scaling.Plan
	for _, p := range pieces {
		k := vkey(p.name)
		v := scaling.Variant{
			Key: k, Model: model, Cost: p.cost, GPUsPerReplica: p.gpus, Paused: p.paused, Gone: p.gone, Bounds: scaling.Bounds{Min: p.min, Max: 100},
			Replicas: scaling.ReplicaCounts{Observed: !p.missing, Current: p.current, Ready: p.ready},
		}
		in.Variants[k] = v
		if p.decided {
			past := memory.Past{Desired: p.stands, DecidedAt: start.Add(-cmp.Or(p.ago, time.Hour))}
			in.History[k] = past.See(!p.missing, start.Add(-p.unseen))
		}
		plan.Decisions = append(plan.Decisions, scaling.Decision{Variant: k, Model: model, Current: p.current, Fallback: true}.
			Then(scaling.StageOptimize, p.asked, "Asked", "it was asked for"))
	}
	plan = Retention(in, plan)
	out := map[string]scaling.Replicas{}
	for _, d := range plan.Decisions {
		out[d.Variant.Name] = d.Target()
	}
	return out, plan
}

func TestRetentionDecidesWhetherThereAreReplicas(t *testing.T) {
	on, off := Zero{true, 10 * time.Minute}, Zero{false, 10 * time.Minute}
	long, short := quiet(time.Hour), quiet(9*time.Minute)
	active, unknown := memory.Activity{At: start, Life: scaling.LifeActive}, memory.Activity{At: start, Detail: "no metrics"}
	one := piece{name: "a", current: 3, ready: 3, asked: 1}
	tests := []struct {
		name     string
		zero     Zero
		activity memory.Activity
		pieces   []piece
		want     map[string]scaling.Replicas
		reason   scaling.Reason // of the first decision, "" where Retention leaves it alone
	}{
		{"idle for longer", on, long, []piece{one}, map[string]scaling.Replicas{"a": 0}, scaling.ReasonIdle},
		{"exactly as long is not longer", on, quiet(10 * time.Minute), []piece{one}, map[string]scaling.Replicas{"a": 1}, ""},
		{"idle, and not for long", on, short, []piece{one}, map[string]scaling.Replicas{"a": 1}, ""},
		{"active", on, active, []piece{one}, map[string]scaling.Replicas{"a": 1}, ""},
		{"not known to be idle", on, unknown, []piece{one}, map[string]scaling.Replicas{"a": 1}, ""},
		{"never seen", on, memory.Activity{}, []piece{one}, map[string]scaling.Replicas{"a": 1}, ""},
		{"no policy", Zero{}, long, []piece{one}, map[string]scaling.Replicas{"a": 1}, ""},
		{
			"each variant to its own minimum", on, long,
			[]piece{{name: "a", current: 4, ready: 4, asked: 4, min: 2}, {name: "b", current: 1, ready: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 2, "b": 0},
			scaling.ReasonIdle,
		},
		{
			"zero for nothing is not granted before", on, short,
			[]piece{{name: "a", current: 3, ready: 3, stands: 3, decided: true}},
			map[string]scaling.Replicas{"a": 3},
			scaling.ReasonRetained,
		},
		{"nor while nothing is known", on, unknown, []piece{{name: "a", current: 2, ready: 2}}, map[string]scaling.Replicas{"a": 2}, scaling.ReasonRetained},
		{
			"off: the last replica is on the cheapest", off, long,
			[]piece{{name: "a", current: 2, ready: 2, asked: 1, cost: 5}, {name: "b", current: 1, ready: 1, asked: 1, cost: 3}},
			map[string]scaling.Replicas{"a": 0, "b": 1},
			scaling.ReasonIdle,
		},
		{
			"off: nothing jumps, the optimizer takes the others down first", off, long,
			[]piece{{name: "a", current: 60, ready: 60, asked: 59, cost: 5}, {name: "b", current: 1, ready: 1, asked: 1, cost: 3}},
			map[string]scaling.Replicas{"a": 59, "b": 1},
			"",
		},
		{
			"off: ties go by accelerators of a replica", off, long,
			[]piece{{name: "a", current: 1, ready: 1, asked: 1, gpus: 2}, {name: "b", current: 1, ready: 1, asked: 1, gpus: 1}},
			map[string]scaling.Replicas{"a": 0, "b": 1},
			scaling.ReasonIdle,
		},
		{
			"off: then by name", off, long,
			[]piece{{name: "b", current: 1, ready: 1, asked: 1}, {name: "a", current: 1, ready: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 0},
			scaling.ReasonIdle,
		},
		{
			"off: one that is asked for is settled all the same", off, long,
			[]piece{{name: "a", current: 3, ready: 3, asked: 1}},
			map[string]scaling.Replicas{"a": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: what serves stays until what is cheaper is Ready", off, long,
			[]piece{{name: "a", current: 1, asked: 1, cost: 1}, {name: "b", current: 1, ready: 1, asked: 1, cost: 9}},
			map[string]scaling.Replicas{"a": 1, "b": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: what is cheaper starts", off, long,
			[]piece{{name: "a", cost: 1}, {name: "b", current: 1, ready: 1, asked: 1, cost: 9}, {name: "c", current: 1, ready: 1, asked: 0, cost: 5}},
			map[string]scaling.Replicas{"a": 1, "b": 1, "c": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: not while the model is active", off, active,
			[]piece{{name: "a", cost: 1}, {name: "b", current: 1, ready: 1, asked: 1, cost: 9}},
			map[string]scaling.Replicas{"a": 0, "b": 1},
			"",
		},
		{
			"off: not before the period is over", off, short,
			[]piece{{name: "a", cost: 1}, {name: "b", current: 1, ready: 1, asked: 1, cost: 9}},
			map[string]scaling.Replicas{"a": 0, "b": 1},
			"",
		},
		{
			"off: while it starts the model is not known to be idle", off, then(long, memory.Activity{Life: scaling.LifeUnknown}),
			[]piece{{name: "a", current: 1, asked: 0, cost: 1, stands: 1, decided: true, ago: time.Minute}, {name: "b", current: 1, ready: 1, asked: 1, cost: 9}},
			map[string]scaling.Replicas{"a": 1, "b": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: nor does the other go then", off, then(long, memory.Activity{Life: scaling.LifeUnknown}),
			[]piece{{name: "a", current: 1, ready: 1, asked: 1, cost: 1}, {name: "b", current: 1, ready: 1, asked: 1, cost: 9}},
			map[string]scaling.Replicas{"a": 1, "b": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: a minimum is a replica that stays", off, long,
			[]piece{{name: "a", current: 1, ready: 1, asked: 1, cost: 1}, {name: "b", current: 2, ready: 2, asked: 1, min: 1, cost: 9}},
			map[string]scaling.Replicas{"a": 0, "b": 1},
			scaling.ReasonIdle,
		},
		{
			"off: one starts again where none is", off, unknown,
			[]piece{{name: "a", decided: true}, {name: "b", decided: true, cost: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 0},
			scaling.ReasonLastReplica,
		},
		{
			"off: one whose target was deleted is not the one that stays", off, unknown,
			[]piece{{name: "b", decided: true}, {name: "a", missing: true, gone: true, decided: true, stands: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: nor one without reading for five minutes", off, unknown,
			[]piece{{name: "b", decided: true}, {name: "a", missing: true, unseen: 5 * time.Minute, decided: true, stands: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 1},
			scaling.ReasonLastReplica,
		},
		{
			"off: one without reading for four may be", off, unknown,
			[]piece{{name: "b", decided: true}, {name: "a", missing: true, unseen: 4 * time.Minute, decided: true, stands: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 0},
			"",
		},
		{
			"at zero it stays there, whatever was decided for a target that was deleted", on, unknown,
			[]piece{{name: "b", decided: true, asked: 1}, {name: "a", missing: true, gone: true, decided: true, stands: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 0},
			scaling.ReasonIdle,
		},
		{"at zero it stays there", on, unknown, []piece{{name: "a", decided: true, asked: 1}}, map[string]scaling.Replicas{"a": 0}, scaling.ReasonIdle},
		{"with a variant that is new", on, unknown, []piece{{name: "a", decided: true}, {name: "b", asked: 1}}, map[string]scaling.Replicas{"a": 0, "b": 0}, scaling.ReasonIdle},
		{"unless a request waits", on, active, []piece{{name: "a", decided: true, asked: 1}}, map[string]scaling.Replicas{"a": 1}, ""},
		{"the first replica of a new model starts", on, unknown, []piece{{name: "a", asked: 1}}, map[string]scaling.Replicas{"a": 1}, ""},
		{"what a user started is not undone", on, unknown, []piece{{name: "a", current: 1, decided: true, asked: 1}}, map[string]scaling.Replicas{"a": 1}, ""},
		{
			"a paused variant keeps its decision", on, long,
			[]piece{{name: "a", current: 2, ready: 2, asked: 2, paused: true}, {name: "b", current: 1, ready: 1, asked: 1}},
			map[string]scaling.Replicas{"a": 2, "b": 0},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, plan := retain(tt.zero, tt.activity, tt.pieces...)
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("replicas (-want +got):\n%s", diff)
			}
			d := plan.Decisions[0]
			last := d.Steps[len(d.Steps)-1]
			if tt.reason == "" && last.Stage == scaling.StageRetention {
				t.Errorf("got %+v, want the decision to be left alone", last)
			}
			if tt.reason != "" && (last.Stage != scaling.StageRetention || last.Reason != tt.reason) {
				t.Errorf("got %+v, want reason %s", last, tt.reason)
			}
		})
	}
}

func TestRetentionSaysWhyAModelIsKept(t *testing.T) {
	_, plan := retain(Zero{true, 10 * time.Minute}, memory.Activity{At: start, Detail: "a: 1 of 2 replicas say what they do"}, piece{name: "a", current: 2, ready: 1})
	step := plan.Decisions[0].Steps[1]
	if want := "a: 1 of 2 replicas say what they do"; !strings.Contains(step.Detail, want) || step.To != 2 {
		t.Errorf("got %+v, want 2 replicas and %q", step, want)
	}
}

// TestZeroIsNoFallback: a decision based on the known activity of the model is not a
// fallback, even without an analysis.
func TestZeroIsNoFallback(t *testing.T) {
	on := Zero{true, 10 * time.Minute}
	for name, c := range map[string]struct {
		activity memory.Activity
		piece    piece
		want     bool
	}{
		"idle for longer":      {quiet(time.Hour), piece{name: "a", current: 1, ready: 1, asked: 1}, false},
		"at zero":              {memory.Activity{}, piece{name: "a", decided: true}, false},
		"held within the time": {quiet(time.Minute), piece{name: "a", current: 1, ready: 1}, true},
	} {
		if _, plan := retain(on, c.activity, c.piece); plan.Decisions[0].Fallback != c.want {
			t.Errorf("%s: fallback %t, want %t", name, plan.Decisions[0].Fallback, c.want)
		}
	}
}

// TestZeroIsNotPaced: the model has already waited for the retention period, so neither a
// stabilization period nor a step limit applies.
func TestZeroIsNotPaced(t *testing.T) {
	v := scaling.Variant{Key: key, Model: model, Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 3}}
	in := Input{
		Now: start, Variants: map[scaling.VariantKey]scaling.Variant{key: v}, History: memory.History{key: {Desired: 3, DecidedAt: start.Add(-time.Hour)}},
		Policies: map[scaling.ModelKey]Pacing{model: {ScaleDownStabilization: time.Hour, MaxScaleDownStep: 1, Zero: Zero{true, time.Minute}}},
		Activity: map[scaling.ModelKey]memory.Activity{model: quiet(2 * time.Minute)},
	}
	var got scaling.Decision
	for asked := range 4 { // also where the optimizer asks for zero itself
		d := scaling.Decision{Variant: key, Model: model, Current: 3}.Then(scaling.StageOptimize, scaling.Replicas(asked), "Asked", "")
		if got = Apply(in, scaling.Plan{Decisions: []scaling.Decision{d}}).Decisions[0]; got.Target() != 0 {
			t.Errorf("asked for %d: got %d (%+v), want 0 at once", asked, got.Target(), got.Steps)
		}
	}
	if wants := Wants(in, got); wants.LeastSince(in.Now).Replicas != 0 {
		t.Errorf("got %+v, want that 0 was wanted", wants)
	}
}

// TestRetentionLeavesItsInput: a stage returns new values and does not modify its input.
func TestRetentionLeavesItsInput(t *testing.T) {
	in := Input{
		Now: start, Variants: map[scaling.VariantKey]scaling.Variant{key: {Key: key, Model: model, Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1}}},
		Policies: map[scaling.ModelKey]Pacing{model: {Zero: Zero{true, time.Minute}}}, Activity: map[scaling.ModelKey]memory.Activity{model: quiet(time.Hour)},
	}
	plan := scaling.Plan{Decisions: []scaling.Decision{{Variant: key, Model: model, Current: 1, Fallback: true}}}
	before := fmt.Sprintf("%+v", plan)
	if got := Retention(in, plan).Decisions[0].Target(); got != 0 {
		t.Fatalf("got %d, want 0", got)
	}
	if after := fmt.Sprintf("%+v", plan); after != before {
		t.Errorf("the plan became %s, was %s", after, before)
	}
}
