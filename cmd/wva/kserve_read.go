package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// kserveGroup is the API group of LLMInferenceService, which has the versions v1alpha1 and
// v1alpha2.
const kserveGroup, kserveKind = "serving.kserve.io", "LLMInferenceService"

// kserveService is an LLMInferenceService whose scaling uses WVA.
type kserveService struct {
	namespace, name string
	workloads       []kserveWorkload // main, then prefill if there is one
	hpa             bool             // an HPA carries out decisions, else a ScaledObject
}

// kserveWorkload is one workload of a service, with the names that KServe gives to its objects.
type kserveWorkload struct {
	role, target, kind string // main or prefill; the target and its kind
	scaler, variant    string
	model, cost        string
	accelerator        string         // "" where the service names none
	min, max           int64          // replicas
	idle               *int64         // replicas without a request, nil for min
	settings           map[string]any // of wva.keda, or the behavior of wva.hpa
	replicas           *int64         // that the target should have, nil if unknown
}

// floor returns the least replicas that KEDA leaves without a metric.
func (w kserveWorkload) floor() int64 {
	if w.idle != nil {
		return *w.idle
	}
	return w.min
}

// hold returns the minReplicas that keep the current replicas while a metric may be missing. KServe
// accepts 1 or more.
func (w kserveWorkload) hold() int64 {
	if w.replicas == nil {
		return w.min
	}
	return max(w.min, *w.replicas)
}

// readKServe returns the service of an object, and whether its scaling uses WVA.
func readKServe(o *unstructured.Unstructured) (kserveService, bool) {
	s := kserveService{namespace: o.GetNamespace(), name: o.GetName()}
	for _, role := range []string{"main", "prefill"} {
		path, suffix := []string{"spec"}, ""
		if role == "prefill" {
			path, suffix = append(path, role), "-prefill"
		}
		wva, found, _ := unstructured.NestedMap(o.Object, slices.Concat(path, []string{"scaling", "wva"})...)
		if !found {
			continue
		}
		base := s.name + "-kserve" + suffix
		w := kserveWorkload{role: role, kind: "Deployment", target: base, variant: base + "-va", min: 1, cost: "10.0"}
		if _, several, _ := unstructured.NestedFieldNoCopy(o.Object, append(slices.Clone(path), "worker")...); several {
			w.kind, w.target = "LeaderWorkerSet", s.name+"-kserve-mn"+suffix
		}
		if n, ok, _ := unstructured.NestedInt64(o.Object, slices.Concat(path, []string{"scaling", "minReplicas"})...); ok {
			w.min = n
		}
		w.max, _, _ = unstructured.NestedInt64(o.Object, slices.Concat(path, []string{"scaling", "maxReplicas"})...)
		if cost, _, _ := unstructured.NestedString(wva, "variantCost"); cost != "" {
			w.cost = cost
		}
		w.model, _, _ = unstructured.NestedString(o.Object, "spec", "model", "name")
		if w.model == "" {
			w.model = s.name // the default that KServe writes
		}
		w.accelerator, _, _ = unstructured.NestedString(o.Object, append(slices.Clone(path), "labels", v1alpha1.LabelAcceleratorName)...)
		if w.settings, found, _ = unstructured.NestedMap(wva, "keda"); found {
			w.scaler = base + "-keda"
			if n, ok, _ := unstructured.NestedInt64(w.settings, "idleReplicaCount"); ok {
				w.idle = &n
			}
		} else {
			s.hpa, w.scaler = true, base+"-hpa"
			w.settings, _, _ = unstructured.NestedMap(wva, "hpa", "behavior")
		}
		s.workloads = append(s.workloads, w)
	}
	return s, len(s.workloads) > 0
}

// scalerKind returns the kind of the scaler that carries out the decisions of the service.
func (s kserveService) scalerKind() string {
	if s.hpa {
		return "HorizontalPodAutoscaler"
	}
	return "ScaledObject"
}

// knows sets the replicas of the workloads from those of the targets by kind, namespace and name.
func (s kserveService) knows(replicas map[string]int64) {
	for i := range s.workloads {
		w := &s.workloads[i]
		if n, ok := replicas[strings.Join([]string{w.kind, s.namespace, w.target}, "/")]; ok {
			w.replicas = &n
		}
	}
}

// targetReplicas adds the replicas that an object should have, by kind, namespace and name, if it
// may be a target of KServe.
func targetReplicas(to map[string]int64, o *unstructured.Unstructured) {
	if kind := o.GetKind(); kind != "Deployment" && kind != "LeaderWorkerSet" {
		return
	}
	n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		n = 1 // the default of both kinds
	}
	to[strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")] = n
}

// String returns the kind, namespace and name of the service.
func (s kserveService) String() string {
	return fmt.Sprintf("%s %s/%s", kserveKind, s.namespace, s.name)
}
