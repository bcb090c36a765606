package main

import (
	"maps"
	"strconv"
)

// unknownReplicas stands in commands for an unknown number of replicas.
const unknownReplicas = "REPLICAS"

// kserveScaling is the scaling of a workload after a step.
type kserveScaling struct {
	keda bool // else an HPA or none
	// min and idle are the least replicas that KEDA leaves while the series is missing; idle is nil
	// for min.
	min  int64
	idle *int64
	// missing says that the series of the decision may be missing for some seconds: the name that
	// the trigger reads changes, and Prometheus has not scraped it under the new name yet. An HPA
	// then keeps the current replicas. KEDA reads 0, unless the trigger asks the manager itself,
	// where an unknown value is an error.
	missing bool
}

// least returns how few of the decided replicas the scaling may leave.
func (s kserveScaling) least(replicas int64) int64 {
	if !s.keda || !s.missing {
		return replicas
	}
	if s.idle != nil {
		return min(replicas, *s.idle)
	}
	return min(replicas, s.min)
}

// kserveStep is one step of the migration to triggers that ask the manager.
type kserveStep struct {
	what  string
	after []kserveScaling // by workload
}

// steps returns the migration. It holds the current replicas while series may be missing, and
// releases them at the end.
func (s kserveService) steps() []kserveStep {
	state := func(change func(kserveWorkload) kserveScaling) []kserveScaling {
		var all []kserveScaling
		for _, w := range s.workloads {
			all = append(all, change(w))
		}
		return all
	}
	held := func(w kserveWorkload) kserveScaling { return kserveScaling{keda: !s.hpa, min: w.hold()} }
	return []kserveStep{
		{"hold: minReplicas is what runs, and idleReplicaCount is gone", state(held)},
		{"make a VariantAutoscaling of your own: that of KServe is older and decides on", state(held)},
		{"upgrade KServe: it deletes its VariantAutoscalings, and " + s.scalerKind() + "s ask for other names", state(func(w kserveWorkload) kserveScaling {
			after := held(w)
			after.missing = true
			return after
		})},
		{"ask the manager by spec.scaling.keda: KServe puts a ScaledObject with that trigger in place", state(func(w kserveWorkload) kserveScaling {
			return kserveScaling{keda: true, min: w.hold()}
		})},
		{"let go, once the ScaledObject is Ready: minReplicas and idleReplicaCount as before", state(func(w kserveWorkload) kserveScaling {
			return kserveScaling{keda: true, min: w.min, idle: w.idle}
		})},
	}
}

// unheld returns how few replicas the upgrade of KServe may leave if the hold before it is omitted.
func (s kserveService) unheld(w kserveWorkload) int64 {
	return kserveScaling{keda: !s.hpa, min: w.min, idle: w.idle, missing: true}.least(*w.replicas)
}

// counts renders a number of replicas for each workload, "?" where the current ones are not known.
func (s kserveService) counts(of func(i int, w kserveWorkload) int64) []string {
	var texts []string
	for i, w := range s.workloads {
		if w.replicas == nil {
			texts = append(texts, "?")
			continue
		}
		texts = append(texts, strconv.FormatInt(of(i, w), 10))
	}
	return texts
}

// kserveAddress is where KEDA asks the manager, and the authentication for it.
type kserveAddress struct{ scaler, authentication string }

// patch returns the merge patch of the service with the scaling of each workload.
func (s kserveService) patch(scaling func(kserveWorkload) map[string]any) map[string]any {
	spec := map[string]any{}
	for _, w := range s.workloads {
		if w.role == "main" {
			spec["scaling"] = scaling(w)
			continue
		}
		spec[w.role] = map[string]any{"scaling": scaling(w)}
	}
	return map[string]any{"spec": spec}
}

// holding returns the scaling of the first step.
func (s kserveService) holding(w kserveWorkload) map[string]any {
	out := map[string]any{"minReplicas": w.hold()}
	if w.replicas == nil {
		out["minReplicas"] = unknownReplicas
	}
	if w.idle != nil {
		out["wva"] = map[string]any{"keda": map[string]any{"idleReplicaCount": nil}}
	}
	return out
}

// direct returns the scaling that asks the manager, and still holds.
func (s kserveService) direct(w kserveWorkload, at kserveAddress) map[string]any {
	keda := map[string]any{}
	if s.hpa {
		if len(w.settings) > 0 {
			keda["advanced"] = map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": w.settings}}
		}
	} else {
		maps.Copy(keda, w.settings)
		delete(keda, "idleReplicaCount")
	}
	keda["triggers"] = []any{map[string]any{
		"type":              "external-push",
		"metadata":          map[string]any{"scalerAddress": at.scaler, "enableTLS": "true"},
		"authenticationRef": map[string]any{"kind": "ClusterTriggerAuthentication", "name": at.authentication},
	}}
	out := map[string]any{"minReplicas": w.hold(), "wva": nil, "keda": keda}
	if w.replicas == nil {
		out["minReplicas"] = unknownReplicas
	}
	return out
}

// releasing returns the scaling of the last step.
func (s kserveService) releasing(w kserveWorkload) map[string]any {
	out := map[string]any{"minReplicas": w.min}
	if w.idle != nil {
		out["keda"] = map[string]any{"idleReplicaCount": *w.idle}
	}
	return out
}

// variants returns the user's own VariantAutoscalings, without the label by which KServe finds
// those that it deletes.
func (s kserveService) variants() []map[string]any {
	var all []map[string]any
	for _, w := range s.workloads {
		apiVersion := "apps/v1"
		if w.kind != "Deployment" {
			apiVersion = "leaderworkerset.x-k8s.io/v1"
		}
		spec := map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": apiVersion, "kind": w.kind, "name": w.target},
			"modelID":        w.model, "variantCost": w.cost, "minReplicas": w.floor(), "maxReplicas": w.max,
		}
		if w.accelerator != "" && w.accelerator != "unknown" {
			spec["accelerator"] = w.accelerator
		}
		all = append(all, map[string]any{
			"apiVersion": "llmd.ai/v1alpha1", "kind": "VariantAutoscaling",
			"metadata": map[string]any{"namespace": s.namespace, "name": w.target}, "spec": spec,
		})
	}
	return all
}
