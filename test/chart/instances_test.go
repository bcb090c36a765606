package chart

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// shared has one name in every release: of several in a namespace, all but one say
// configMaps.create=false.
const shared = "ConfigMap/a/workload-variant-autoscaler-variantautoscaling-config"

func TestReleasesStandSideBySide(t *testing.T) {
	chart := load(t)
	type side struct{ name, namespace, values string }
	for _, test := range []struct {
		name   string
		first  side
		second side
	}{
		{"instances in a namespace each", side{"wva", "a", "controllerInstance: blue"}, side{"wva", "b", "controllerInstance: green"}},
		{"instances in one namespace", side{"wva", "a", "controllerInstance: blue"}, side{"wva", "a", "controllerInstance: green\nconfigMaps: {create: false}"}},
		{"of a namespace each", side{"wva", "a", "watchNamespace: a"}, side{"wva", "b", "watchNamespace: b"}},
		{"of namespaces elsewhere", side{"wva", "a", "watchNamespace: c"}, side{"wva", "b", "watchNamespace: d"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			first := mustRender(t, chart, values(t, test.first.values), Release{Name: test.first.name, Namespace: test.first.namespace})
			second := mustRender(t, chart, values(t, test.second.values), Release{Name: test.second.name, Namespace: test.second.namespace})
			var deployments []*appsv1.Deployment
			there := map[string]bool{}
			for _, o := range first.Objects {
				there[Identity(o)] = true
			}
			for _, o := range second.Objects {
				if there[Identity(o)] {
					t.Errorf("both make %s", Identity(o))
				}
			}
			for _, o := range slices.Concat(first.Objects, second.Objects) {
				if o.GetKind() == "Deployment" {
					deployments = append(deployments, find[appsv1.Deployment](t, slices.Concat(first.Objects, second.Objects), Identity(o)))
				}
			}
			if test.first.namespace != test.second.namespace {
				return
			}
			selector, err := metav1.LabelSelectorAsSelector(deployments[0].Spec.Selector)
			if err != nil {
				t.Fatal(err)
			}
			if selector.Matches(labels.Set(deployments[1].Spec.Template.Labels)) {
				t.Errorf("the selector of the first, %s, takes the pods of the second", selector)
			}
		})
	}
	t.Run("but for the settings of a namespace", func(t *testing.T) {
		for _, instance := range []string{"blue", "green"} {
			out := mustRender(t, chart, map[string]any{"controllerInstance": instance}, Release{Name: "wva", Namespace: "a"})
			if !slices.Contains(identities(out), shared) {
				t.Errorf("instance %s does not make %s", instance, shared)
			}
		}
	})
}

func TestInstancesOfOneNamespaceElectLeadersApart(t *testing.T) {
	chart := load(t)
	for instance, want := range map[string]string{
		"": "--leader-election-id=72dd1cf1.llm-d.ai", "blue": "--leader-election-id=blue.72dd1cf1.llm-d.ai",
	} {
		out := mustRender(t, chart, map[string]any{"controllerInstance": instance, "fullnameOverride": "wva"}, standard)
		name := "wva"
		if instance != "" {
			name += "-" + instance
		}
		d := find[appsv1.Deployment](t, out.Objects, "Deployment/"+standard.Namespace+"/"+name+"-controller-manager")
		if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, want) {
			t.Errorf("instance %q: got %v, want %s", instance, args, want)
		}
	}
}

func identities(out *Output) []string {
	var all []string
	for _, o := range out.Objects {
		all = append(all, Identity(o))
	}
	return all
}
