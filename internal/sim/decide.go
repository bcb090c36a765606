package sim

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// decide asks the policy and stores its targets.
func (w *world) decide() error {
	w.begin()
	targets, err := w.policy.Decide(w.view())
	if err != nil {
		return fmt.Errorf("simulation: policy %s at %s: %w", w.policy.Name(), w.now, err)
	}
	w.decided++
	for _, t := range targets {
		v, ok := w.byKey(t.Variant)
		if !ok || t.Replicas < 0 {
			return fmt.Errorf("simulation: policy %s at %s wants %d replicas of %s: want a variant of the run and 0 or more",
				w.policy.Name(), w.now, t.Replicas, t.Variant)
		}
		if last, ok := w.wanted[v]; w.cfg.OnDecision != nil && (!ok && t.Replicas != scaling.Replicas(len(v.pods)) || ok && last.Replicas != t.Replicas) {
			w.cfg.OnDecision(w.now, t)
		}
		w.wanted[v] = t
	}
	if w.cfg.Sync == 0 {
		return w.carryOut()
	}
	return nil
}

// sync carries out the last targets and schedules the next sync.
func (w *world) sync() error {
	w.agenda.push(event{at: w.now + w.cfg.Sync, kind: syncEvent})
	return w.carryOut()
}

// carryOut sets the replicas of every variant with a target.
func (w *world) carryOut() error {
	for _, v := range w.variants {
		t, ok := w.wanted[v]
		if !ok || v.deleted {
			continue
		}
		had := scaling.Replicas(len(v.pods))
		v.tally.Peak = max(v.tally.Peak, had, t.Replicas)
		if w.tolerated(had, t.Replicas) {
			continue
		}
		w.count(v, t.Replicas-had)
		if t.Replicas == had {
			continue
		}
		if err := w.scale(v, t.Replicas); err != nil {
			return err
		}
		w.changed()
	}
	return nil
}

// count books a change of the replicas of a variant.
func (w *world) count(v *variant, change scaling.Replicas) {
	switch {
	case !w.judges():
	case change > 0:
		v.tally.Grown++
		if len(v.door().readyPods()) == 0 {
			v.tally.ColdStarts++
		}
	case change < 0:
		v.tally.Shrunk++
	}
}

// tolerated reports whether the scaler leaves had replicas as they are, because wanted is within
// its tolerance (k8s.io/kubernetes, podautoscaler).
func (w *world) tolerated(had, wanted scaling.Replicas) bool {
	ratio := float64(wanted) / float64(max(1, had))
	return had > 0 && wanted > 0 && ratio >= 1-w.cfg.Tolerance && ratio <= 1+w.cfg.Tolerance
}

// view returns what the policy sees now.
func (w *world) view() View {
	w.settleAll() // the policy sees requests in flight without a lag
	s := w.survey()
	view := View{Now: w.clock(w.now), Snapshots: w.snapshots(s), Inventory: w.inventory()}
	for _, m := range w.models {
		view.Models = append(view.Models, m.view(s))
	}
	return view
}

// snapshots returns the Snapshots of all models, as the collector would make them.
func (w *world) snapshots(s survey) []scaling.Snapshot {
	snapshots := make([]scaling.Snapshot, len(w.models))
	for i, m := range w.models {
		snapshots[i] = w.snapshot(m, s)
	}
	return snapshots
}

func (m *model) view(s survey) ModelView {
	shapes := m.shapes
	view := ModelView{
		Model: m.Key, SLO: m.SLO, Shapes: &shapes, Held: len(m.held), Passed: len(m.passed), InFlight: m.inFlight(), InputTokens: m.inputTokens, Arrived: m.tally.total.Arrived + m.tally.back.arrived,
	}
	for _, v := range m.variants {
		for _, p := range v.pods {
			pod := PodView{Name: p.name, Variant: v.Spec.Key, Placed: p.phase != unplaced, Ready: p.phase == serves}
			if len(p.pages) > 0 {
				pod.QueuedTokens = scaling.Measured(p.pages[len(p.pages)-1].queued, s.freshness(p))
			}
			view.Pods = append(view.Pods, pod)
		}
		view.Variants = append(view.Variants, VariantView{
			Key: v.Spec.Key, KVTokens: v.kvTokens(), BatchedTokens: float64(v.Profile.MaxBatchedTokens),
			ArrivalRate: v.flows(s).arrivals(s.coverage(v)), InFlight: v.inFlight(),
		})
	}
	slices.SortFunc(view.Pods, func(a, b PodView) int { return a.compare(b) })
	return view
}
