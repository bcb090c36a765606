package scalers

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// externalTrigger is a trigger of a type with metadata beside the address.
func externalTrigger(kind string, metadata ...string) map[string]any {
	all := map[string]any{"scalerAddress": "wva-external-scaler.wva:9443", "enableTLS": "true"}
	for i := 0; i < len(metadata); i += 2 {
		all[metadata[i]] = metadata[i+1]
	}
	return map[string]any{"type": kind, "metadata": all}
}

func TestWhatATriggerOfTheExternalScalerReads(t *testing.T) {
	const none = "none of its triggers reads wva_desired_replicas or wva_desired_ratio"
	with := func(trigger map[string]any, key, value string) map[string]any {
		trigger[key] = value
		return trigger
	}
	prometheus := func(query string) map[string]any {
		return map[string]any{"type": "prometheus", "metadata": map[string]any{"query": query, "threshold": "1"}}
	}
	for name, tt := range map[string]struct {
		triggers []any
		want     string
		others   bool
	}{
		"this variant":                         {[]any{externalTrigger("external-push", "variantName", "a")}, "", false},
		"this variant, without a push":         {[]any{externalTrigger("external", "variantName", "a")}, "", false},
		"that on its target":                   {[]any{externalTrigger("external-push")}, "", false},
		"that of a model on its target":        {[]any{externalTrigger("external-push", "modelID", "m", "variantCost", "3")}, "", false},
		"this variant and what we do not know": {[]any{externalTrigger("external-push", "variantName", "a", "team", "x")}, "", false},
		"another variant":                      {[]any{externalTrigger("external-push", "variantName", "b")}, "its trigger of type external-push asks for variant b", false},
		"another namespace":                    {[]any{externalTrigger("external", "namespace", "prod")}, "its trigger of type external asks for namespace prod, and is answered about its own alone", false},
		"its own namespace":                    {[]any{externalTrigger("external", "namespace", "ns")}, "", false},
		"a value that multiplies":              {[]any{with(externalTrigger("external"), "metricType", "Value")}, "the metricType of its trigger of type external is Value, and must be AverageValue", false},
		"an average":                           {[]any{with(externalTrigger("external"), "metricType", "AverageValue")}, "", false},
		"the external scaler of another app":   {[]any{externalTrigger("external", "queue", "orders")}, none, false},
		"not an external scaler":               {[]any{externalTrigger("cron", "variantName", "a")}, none, false},
		"this variant in two ways":             {[]any{externalTrigger("external-push"), prometheus(`wva_desired_replicas{variant_name="a"}`)}, "", false},
		"this variant and something else":      {[]any{externalTrigger("external-push"), prometheus("queue_length")}, "", true},
		"another variant, and this in a query": {[]any{externalTrigger("external", "variantName", "b"), prometheus(`wva_desired_replicas{variant_name="a"}`)}, "", true},
		"something else, and another variant":  {[]any{prometheus("queue_length"), externalTrigger("external", "variantName", "b")}, "its trigger of type external asks for variant b", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readScaledObject(keda(func(spec map[string]any) { spec["triggers"] = tt.triggers }))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.misreads(seriesA); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := s.others(seriesA); got != tt.others {
				t.Errorf("reads something else: %t, want %t", got, tt.others)
			}
		})
	}
}

// Get finds an object of the cache.
func (f *fakeWatches) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, object := range f.objects {
		if u, ok := object.(*unstructured.Unstructured); ok && client.ObjectKeyFromObject(u) == key {
			u.DeepCopyInto(into.(*unstructured.Unstructured))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "scaledobjects"}, key.Name)
}

func TestTheTargetOfAScaledObjectIsKnownOnceItIsListed(t *testing.T) {
	set := func(kind string) client.Object {
		return keda(func(spec map[string]any) { spec["scaleTargetRef"] = map[string]any{"kind": kind, "name": "a"} })
	}
	unlisted := map[string]bool{scaling.KindScaledObject: true}
	for name, tt := range map[string]struct {
		watches *fakeWatches
		name    string
		want    string // kind and name of the target, "" where it is not known
	}{
		"a Deployment, which is the default": {&fakeWatches{objects: []client.Object{keda()}}, "s", "Deployment a"},
		"another kind":                       {&fakeWatches{objects: []client.Object{set("LeaderWorkerSet")}}, "s", "LeaderWorkerSet a"},
		"another ScaledObject":               {&fakeWatches{objects: []client.Object{keda()}}, "t", ""},
		"not listed yet":                     {&fakeWatches{objects: []client.Object{keda()}, unsynced: unlisted}, "s", ""},
		"a cluster without KEDA":             {&fakeWatches{objects: []client.Object{keda()}, missing: unlisted}, "s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			reader := New(tt.watches, testingclock.NewFakePassiveClock(at(0)))
			for range 3 {
				if kind, target, ok := reader.ScaledObjectTarget(t.Context(), "ns", tt.name); ok {
					got = kind + " " + target
				}
			}
			if got != tt.want {
				t.Errorf("target %q, want %q", got, tt.want)
			}
			if tt.watches.missing != nil && tt.watches.asked != 1 {
				t.Errorf("the cluster was asked %d times for KEDA, want once a minute", tt.watches.asked)
			}
		})
	}
}
