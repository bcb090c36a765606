package external_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newValue(namespace, name string, desired, current scaling.Replicas) external.Value {
	return external.Value{
		Variant:     scaling.VariantKey{Namespace: namespace, Name: name},
		Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name + "-decode"},
		Accelerator: "A100",
		Desired:     desired,
		Current:     current,
		Observed:    true,
		At:          start,
		Cycle:       "k-7",
	}
}

// newStore holds three variants in two namespaces.
func newStore() *external.Store {
	s := &external.Store{}
	s.Fill([]external.Value{
		newValue("prod", "llama-h100", 3, 2),
		newValue("prod", "llama-a100", 4, 3),
		newValue("test", "llama-a100", 1, 0),
	})
	return s
}

// ask returns the matching variants' targets with their values, in order.
func ask(t *testing.T, p *external.Provider, namespace, selector, metric string) ([]string, error) {
	t.Helper()
	sel, err := labels.Parse(selector)
	if err != nil {
		t.Fatalf("selector %q: %v", selector, err)
	}
	list, err := p.GetExternalMetric(t.Context(), namespace, sel, provider.ExternalMetricInfo{Metric: metric})
	if err != nil {
		return nil, err
	}
	var got []string
	for _, item := range list.Items {
		if item.MetricName != metric || !item.Timestamp.Time.Equal(start) {
			t.Errorf("item: got metric %s at %s, want %s at %s", item.MetricName, item.Timestamp, metric, start)
		}
		got = append(got, item.MetricLabels[metrics.LabelVariant]+"="+item.Value.String())
	}
	return got, nil
}

func TestSelectorsOfPublishedDialectsMatch(t *testing.T) {
	tests := []struct {
		name      string
		namespace string
		selector  string
		metric    string
		want      []string
	}{
		{"by target", "prod", "target_name=llama-a100-decode,target_kind=Deployment", metrics.DesiredReplicas, []string{"llama-a100=4"}},
		{"by variant", "prod", "variant_name=llama-h100,exported_namespace=prod", metrics.DesiredReplicas, []string{"llama-h100=3"}},
		{"by instance", "prod", "variant_name=llama-h100,exported_namespace=prod,controller_instance=blue", metrics.DesiredReplicas, []string{"llama-h100=3"}},
		{"with the accelerator", "prod", "variant_name=llama-h100,namespace=prod,accelerator_type=A100", metrics.DesiredReplicas, []string{"llama-h100=3"}},
		{"of another instance", "prod", "variant_name=llama-h100,controller_instance=green", metrics.DesiredReplicas, nil},
		{"of another namespace", "prod", "variant_name=llama-a100,exported_namespace=test", metrics.DesiredReplicas, nil},
		{"the namespace is that of the request", "test", "variant_name=llama-a100", metrics.DesiredReplicas, []string{"llama-a100=1"}},
		{"ratio", "prod", "variant_name=llama-a100", metrics.DesiredRatio, []string{"llama-a100=1333m"}},     // 4 / 3
		{"ratio at zero", "test", "variant_name=llama-a100", metrics.DesiredRatio, []string{"llama-a100=1"}}, // desired
		{"several, sorted", "prod", "", metrics.DesiredReplicas, []string{"llama-a100=4", "llama-h100=3"}},
		{"empty namespace", "none", "", metrics.DesiredReplicas, nil},
		{"of a probe", "prod", "variant_name=llama-h100,wva_probe=7", metrics.DesiredReplicas, []string{"llama-h100=7"}},
		{"of a probe, as a set", "prod", "wva_probe in (7),variant_name=llama-h100", metrics.DesiredRatio, []string{"llama-h100=7"}},
		{"of a probe of another variant", "prod", "variant_name=llama,wva_probe=7", metrics.DesiredReplicas, nil},
		{"of a probe that selects several", "prod", "wva_probe=1", metrics.DesiredReplicas, []string{"llama-a100=1", "llama-h100=1"}},
		{"after a probe", "prod", "variant_name=llama-h100", metrics.DesiredReplicas, []string{"llama-h100=3"}},
	}
	p := external.NewProvider(external.ProviderOptions{Store: newStore(), ControllerInstance: "blue"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ask(t, p, tt.namespace, tt.selector, tt.metric)
			if err != nil {
				t.Fatalf("GetExternalMetric: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANumberOfAProbeThatIsNoneIsRefused(t *testing.T) {
	p := external.NewProvider(external.ProviderOptions{Store: newStore()})
	for _, selector := range []string{"wva_probe=0", "wva_probe=11", "wva_probe=007x", "wva_probe=two", "wva_probe", "wva_probe in (1,2)", "wva_probe!=2", "wva_probe>2"} {
		if got, err := ask(t, p, "prod", selector, metrics.DesiredReplicas); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: got %v, %v; want it refused", selector, got, err)
		}
	}
}

func TestAProbeThatSelectsSeveralIsNotReportedAsAmbiguous(t *testing.T) {
	p := external.NewProvider(external.ProviderOptions{Store: newStore(), Ambiguous: func(context.Context, external.Ambiguity) { t.Error("it is reported") }})
	if _, err := ask(t, p, "prod", "wva_probe=2", metrics.DesiredReplicas); err != nil {
		t.Error(err)
	}
}

func TestItemCarriesTheLabelsOfTheGauges(t *testing.T) {
	v := newValue("prod", "v", 1, 1)
	v.Accelerator = ""
	s := &external.Store{}
	s.Fill([]external.Value{v})
	p := external.NewProvider(external.ProviderOptions{Store: s})
	list, err := p.GetExternalMetric(t.Context(), "prod", labels.Everything(), provider.ExternalMetricInfo{Metric: metrics.DesiredReplicas})
	if err != nil {
		t.Fatalf("GetExternalMetric: %v", err)
	}
	want := map[string]string{
		"variant_name": "v", "target_name": "v-decode", "target_kind": "Deployment",
		"namespace": "prod", "exported_namespace": "prod", "accelerator_type": "unknown",
	}
	if diff := cmp.Diff(want, list.Items[0].MetricLabels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestRatioIsAbsentWhileTheTargetIsUnreadable(t *testing.T) {
	v := newValue("prod", "v", 3, 0)
	v.Observed = false
	s := &external.Store{}
	s.Fill([]external.Value{v})
	p := external.NewProvider(external.ProviderOptions{Store: s})
	for metric, want := range map[string][]string{metrics.DesiredRatio: nil, metrics.DesiredReplicas: {"v=3"}} {
		got, err := ask(t, p, "prod", "", metric)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", metric, err, diff)
		}
	}
}

func TestUnknownMetricNamesThoseThatExist(t *testing.T) {
	p := external.NewProvider(external.ProviderOptions{Store: newStore()})
	_, err := ask(t, p, "prod", "", "wva_desired")
	if !apierrors.IsNotFound(err) {
		t.Fatalf("got %v, want NotFound", err)
	}
	for _, name := range []string{"wva_desired,", metrics.DesiredReplicas, metrics.DesiredRatio} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

func TestAmbiguousSelectorIsReported(t *testing.T) {
	var got []external.Ambiguity
	p := external.NewProvider(external.ProviderOptions{
		Store:     newStore(),
		Ambiguous: func(_ context.Context, a external.Ambiguity) { got = append(got, a) },
	})
	sel := labels.SelectorFromSet(labels.Set{"target_kind": "Deployment"})
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "hpa"})
	for _, namespace := range []string{"prod", "test"} { // one variant in test: not ambiguous
		if _, err := p.GetExternalMetric(ctx, namespace, sel, provider.ExternalMetricInfo{Metric: metrics.DesiredReplicas}); err != nil {
			t.Fatalf("GetExternalMetric: %v", err)
		}
	}
	want := []external.Ambiguity{{
		Namespace: "prod",
		Metric:    metrics.DesiredReplicas,
		Selector:  "target_kind=Deployment",
		User:      "hpa",
		Variants:  []scaling.VariantKey{{Namespace: "prod", Name: "llama-a100"}, {Namespace: "prod", Name: "llama-h100"}},
		Sum:       "7",
		Cycle:     "k-7",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ambiguities (-want +got):\n%s", diff)
	}
}

// status is a Fallback.
type status struct {
	values []external.Value
	err    error
}

func (s status) Values(context.Context, string) ([]external.Value, error) { return s.values, s.err }

func TestFallbackAnswersWhileNotLeading(t *testing.T) {
	leads := &external.Store{}
	leads.Fill(nil)
	follows := newStore()
	follows.Clear()
	known := status{values: []external.Value{newValue("prod", "v", 2, 2), newValue("test", "w", 9, 9)}}
	tests := []struct {
		name     string
		store    *external.Store
		fallback external.Fallback
		want     []string
		fails    bool
	}{
		{"follower with status", follows, known, []string{"v=2"}, false},
		{"follower, status unreadable", follows, status{err: errors.New("cache not synced")}, nil, true},
		{"follower without fallback", &external.Store{}, nil, nil, true},
		{"leader without variants", leads, known, nil, false},
		{"leader", newStore(), known, []string{"llama-a100=4", "llama-h100=3"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := external.NewProvider(external.ProviderOptions{Store: tt.store, Fallback: tt.fallback})
			got, err := ask(t, p, "prod", "", metrics.DesiredReplicas)
			if apierrors.IsServiceUnavailable(err) != tt.fails || (err != nil) != tt.fails {
				t.Errorf("error: got %v, want ServiceUnavailable: %v", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}
