package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestTheScopeOfAManagerIsThatOfItsDeployment(t *testing.T) {
	const fromField = `env: [{name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, {name: FROM_SECRET, valueFrom: {secretKeyRef: {name: s, key: k}}}]`
	tests := []struct{ name, container, namespace, instance string }{
		{"without flags", `{name: manager}`, "", ""},
		{"the published chart", `{name: manager, args: [--leader-elect=true, --watch-namespace=$(POD_NAMESPACE)], ` + fromField + `}`, "home", ""},
		{"this chart", `{name: manager, args: [--watch-namespace=models, --controller-instance=blue]}`, "models", "blue"},
		{"in two words", `{name: manager, args: [-watch-namespace, models]}`, "models", ""},
		{"variables", `{name: manager, env: [{name: WATCH_NAMESPACE, value: models}, {name: CONTROLLER_INSTANCE, value: blue}]}`, "models", "blue"},
		{"a flag beside the variable", `{name: manager, args: [--watch-namespace=], env: [{name: WATCH_NAMESPACE, value: models}]}`, "", ""},
		{"a value that the Deployment does not say", `{name: manager, args: [--watch-namespace=$(FROM_SECRET)], ` + fromField + `}`, "", ""},
		{"another container first", `{name: proxy, args: [--watch-namespace=no]}, {name: manager, args: [--watch-namespace=models]}`, "models", ""},
		{"no container", ``, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			if err := yaml.UnmarshalStrict([]byte(`{metadata: {namespace: home, name: m}, spec: {template: {spec: {containers: [`+tt.container+`]}}}}`), d); err != nil {
				t.Fatal(err)
			}
			want := scope{manager: "home/m", namespace: tt.namespace, instance: tt.instance}
			if got := scopeOf(d); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestAVariantThatNoManagerServesIsNamed(t *testing.T) {
	va := func(namespace, instance string) unstructured.Unstructured {
		o := unstructured.Unstructured{Object: map[string]any{}}
		o.SetKind("VariantAutoscaling")
		o.SetNamespace(namespace)
		o.SetName("v")
		if instance != "" {
			o.SetLabels(map[string]string{"wva.llmd.ai/controller-instance": instance})
		}
		return o
	}
	home, blue := scope{manager: "wva/a", namespace: "wva"}, scope{manager: "wva/b", instance: "blue"}
	const serve = "serve it (watchNamespace of the chart, of an earlier one wva.namespaceScoped), or delete it"
	tests := []struct {
		name          string
		scopes        []scope
		va            unstructured.Unstructured
		found, remedy string
	}{
		{"no manager is to run", nil, va("models", ""), "", ""},
		{"a manager of every namespace", []scope{{manager: "wva/c"}}, va("models", "green"), "", ""},
		{"a manager of its namespace", []scope{home, {manager: "wva/c", namespace: "models"}}, va("models", ""), "", ""},
		{"a manager of another namespace", []scope{home}, va("models", ""), "no manager serves its namespace: wva/a serves namespace wva", serve},
		{
			"an instance without a manager",
			[]scope{blue},
			va("models", "green"),
			`no manager serves its controller instance "green": wva/b serves every namespace, controller instance blue`,
			"correct the label wva.llmd.ai/controller-instance, or install a manager of that instance",
		},
		{
			"no instance, and managers of instances alone",
			[]scope{blue},
			va("models", ""),
			`no manager serves its controller instance "": wva/b serves every namespace, controller instance blue`,
			"correct the label wva.llmd.ai/controller-instance, or install a manager of that instance",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got, want []finding
			for _, l := range surveyServed(tt.scopes, []unstructured.Unstructured{tt.va}) {
				got = append(got, l.finding)
				if l.remove != nil {
					t.Error("--apply would do something about it")
				}
			}
			if tt.found != "" {
				want = []finding{{State: stateByHand, Namespace: "models", Kind: "VariantAutoscaling", Name: "v", Found: tt.found, Remedy: tt.remedy}}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
