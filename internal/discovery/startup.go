package discovery

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// A pod says when it last became Ready, not when it first did: a readiness probe that fails for a
// moment moves that time. So a start-up is measured on a pod that this process saw before its first
// Ready. A pod that was already Ready when first seen counts only if none of its containers was
// restarted and the time is at most longestUnseen: most models start within it, and a later time is
// more likely that of a failed probe.
const longestUnseen = 10 * time.Minute

// firstStatus is how long after the start of a pod its first status may come. The kubelet sets its
// times together, in whole seconds.
const firstStatus = 5 * time.Second

// neverReady reports whether a pod has not been Ready since its creation. Its condition Ready is
// then missing, or False since the kubelet accepted the pod. After an earlier Ready it is False
// since the probe failed.
func neverReady(p *corev1.Pod) bool {
	started := p.CreationTimestamp.Time
	if p.Status.StartTime != nil && p.Status.StartTime.After(started) {
		started = p.Status.StartTime.Time
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status != corev1.ConditionTrue && !c.LastTransitionTime.After(started.Add(firstStatus))
		}
	}
	return true
}

// restarted reports whether a container of a pod has been restarted.
func restarted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}

// startUp returns how long a pod took to its first Ready, and false where that is unknown. awaited
// is whether the pod was seen before its first Ready.
func (p pod) startUp(awaited bool) (memory.StartUp, bool) {
	took := p.readyAt.Sub(p.created)
	switch {
	case !p.ready || took < 0 || took > memory.LongestStartUp:
		return memory.StartUp{}, false
	case !awaited && (p.restarted || took > longestUnseen):
		return memory.StartUp{}, false
	}
	// The API server's times are whole seconds, and a start-up of 0 would mean that there is none.
	return memory.StartUp{Pod: p.id(), Created: p.created.UTC(), Took: max(time.Second, took.Truncate(time.Second))}, true
}

// id returns a short permanent ID of the pod. Eight digits of a UID distinguish twenty pods.
func (p pod) id() string {
	if len(p.uid) < idLength {
		return p.name
	}
	return string(p.uid[:idLength])
}

const idLength = 8

// unseenFor is how long the start-ups of a variant are kept while it is not in the fleet: longer
// than it takes to apply it again, or to end a conflict about its target.
const unseenFor = 24 * time.Hour

// started identifies a variant together with its model: another model takes another time to load.
type started struct {
	model   scaling.ModelKey
	variant string
}

// startUps remembers how long pods took to start, also while no pod exists. The zero value
// remembers nothing. It is safe for concurrent use.
type startUps struct {
	mu      sync.Mutex
	known   map[started]memory.StartUps
	seen    map[started]time.Time // when the variant was last in the fleet
	awaited map[string]bool       // pods that had not been Ready yet, as last seen
}

// observe records the start-ups of the pods of a fleet at now, and completes the variants with what
// is remembered. targets are those of the variants, in the same order.
func (s *startUps) observe(variants []scaling.Variant, targets []target, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	awaited := map[string]bool{}
	for i := range variants {
		key := started{variants[i].Model, variants[i].Key.Name}
		var fresh memory.StartUps
		for _, p := range targets[i].pods {
			if p.neverReady {
				awaited[p.id()] = true
			}
			if one, ok := p.startUp(s.awaited[p.id()]); ok && s.known[key].Lacks(one.Pod, one.Created) {
				fresh = append(fresh, one)
			}
		}
		if len(fresh) > 0 {
			s.known[key] = s.known[key].Merge(fresh)
		}
		s.seen[key] = now
		variants[i] = memory.StartingLike(variants[i], s.known[key])
	}
	s.awaited = awaited
	maps.DeleteFunc(s.seen, func(_ started, at time.Time) bool { return now.Sub(at) > unseenFor })
	maps.DeleteFunc(s.known, func(key started, _ memory.StartUps) bool { return s.seen[key].IsZero() })
}

func (s *startUps) init() {
	if s.known == nil {
		s.known, s.seen = map[started]memory.StartUps{}, map[started]time.Time{}
	}
}

// restore adds what an earlier process remembered of a model, as if seen at now.
func (s *startUps) restore(model scaling.ModelKey, of memory.VariantStartUps, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	for name, ups := range of {
		earlier := slices.Clone(ups)
		for i := range earlier {
			earlier[i].Restored = true
		}
		key := started{model, name}
		s.known[key] = s.known[key].Merge(earlier)
		s.seen[key] = now
	}
}

// all returns the start-ups of each model.
func (s *startUps) all() map[scaling.ModelKey]memory.VariantStartUps {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[scaling.ModelKey]memory.VariantStartUps{}
	for key, ups := range s.known {
		if out[key.model] == nil {
			out[key.model] = memory.VariantStartUps{}
		}
		out[key.model][key.variant] = ups
	}
	return out
}

// RestoreStartUps adds the start-ups that an earlier process remembered of each model. Call it
// before the first Fleet.
func (c *Cluster) RestoreStartUps(of map[scaling.ModelKey]memory.VariantStartUps, now time.Time) {
	for model, ups := range of {
		c.startUps.restore(model, ups, now)
	}
}

// AllStartUps returns the start-ups of each model that Fleet observed or RestoreStartUps added.
func (c *Cluster) AllStartUps() map[scaling.ModelKey]memory.VariantStartUps { return c.startUps.all() }

// StartUps returns the start-ups of a variant that serves model.
func (c *Cluster) StartUps(model scaling.ModelKey, variant string) memory.StartUps {
	c.startUps.mu.Lock()
	defer c.startUps.mu.Unlock()
	return c.startUps.known[started{model, variant}]
}
