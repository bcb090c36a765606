package anycluster

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestLabelsAreRead(t *testing.T) {
	for text, want := range map[string][]Label{
		"":                      nil,
		"zero":                  {Zero},
		"zero, model,zero,kind": {Zero, Model, Kind},
	} {
		if got, err := ParseLabels(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: got %q %v, want %q", text, got, err, want)
		}
	}
	_, err := ParseLabels("zero,null")
	if want := `label "null", want some of saturation,model,zero,openshift,kind`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatTheClusterLacksIsLeftOutUnlessAskedFor(t *testing.T) {
	const noKind, noOpenShift = "providerID kind://", "neither route.openshift.io"
	anywhere := []Label{Saturation, Model, Zero}
	for _, c := range []struct {
		name  string
		facts Facts
		asked []Label
		run   []Label
		left  map[Label]string // part of why
		err   string           // part
	}{
		{name: "any cluster", run: anywhere, left: map[Label]string{OpenShift: noOpenShift, Kind: noKind}},
		{name: "one asked for", asked: []Label{Zero}, run: []Label{Zero}},
		{name: "kind", facts: Facts{KindCluster: "kind"}, run: append(anywhere[:3:3], Kind), left: map[Label]string{OpenShift: noOpenShift}},
		{
			name: "kind with KEDA", facts: Facts{KindCluster: "kind", ExternalMetrics: "keda/keda-metrics"}, run: anywhere,
			left: map[Label]string{OpenShift: noOpenShift, Kind: "served by keda/keda-metrics"},
		},
		{name: "OpenShift", facts: Facts{OpenShift: true, UserMonitoring: true}, run: append(anywhere[:3:3], OpenShift), left: map[Label]string{Kind: noKind}},
		{
			name: "OpenShift without user monitoring", facts: Facts{OpenShift: true}, asked: []Label{OpenShift},
			err: "scenario openshift cannot be run here: no Prometheus",
		},
		{name: "kind asked for elsewhere", asked: []Label{Saturation, Kind}, err: "scenario kind cannot be run here: the nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(c.asked, c.facts)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error that says %q", err, c.err)
				}
				return
			}
			if err != nil || !cmp.Equal(got.Chosen, c.run) || len(got.Left) != len(c.left) {
				t.Errorf("got %q without %q, %v; want %q", got.Chosen, got.Left, err, c.run)
			}
			for l, why := range c.left {
				if !strings.Contains(got.Left[l], why) {
					t.Errorf("%s is left out for %q, want for %q", l, got.Left[l], why)
				}
			}
		})
	}
}

func TestAKindClusterIsKnownByAllOfItsNodes(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{nil, ""},
		{[]string{"kind://docker/kind/kind-control-plane", "kind://docker/kind/kind-worker"}, "kind"},
		{[]string{"kind://docker/kind/kind-control-plane", ""}, ""},
		{[]string{"kind://docker/a/a-worker", "kind://docker/b/b-worker"}, ""},
		{[]string{"aws:///eu-central-1a/i-0"}, ""},
	} {
		var nodes []corev1.Node
		for _, id := range c.ids {
			nodes = append(nodes, corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}})
		}
		if got := kindCluster(nodes); got != c.want {
			t.Errorf("%q: got %q, want %q", c.ids, got, c.want)
		}
	}
}

func TestAnImageIsWrittenAsTheChartWantsIt(t *testing.T) {
	for image, want := range map[string]map[string]any{
		"wva":                         {"repository": "wva", "tag": "latest"},
		"localhost:5000/wva":          {"repository": "localhost:5000/wva", "tag": "latest"},
		"localhost:5000/a/wva:v1.2.3": {"repository": "localhost:5000/a/wva", "tag": "v1.2.3"},
		"example.com/wva@sha256:00ff": {"repository": "example.com/wva", "digest": "sha256:00ff"},
	} {
		if diff := cmp.Diff(want, imageValues(image)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", image, diff)
		}
	}
}

// TestRightsThatAreMissingAreNamed has a user who may do everything but two things.
func TestRightsThatAreMissingAreNamed(t *testing.T) {
	clients := fake.NewClientset()
	asked := map[string]bool{}
	clients.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		a := review.Spec.ResourceAttributes
		asked[a.Verb+" "+a.Resource] = true
		review.Status.Allowed = a.Subresource != "log" && a.Resource != "clusterroles"
		return true, review, nil
	})
	err := checkRights(t.Context(), clients, Facts{ExternalMetrics: "keda/keda-metrics"})
	want := "the user of the kubeconfig may not, in every namespace: get pods/log, create clusterroles.rbac.authorization.k8s.io, delete clusterroles.rbac.authorization.k8s.io"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !asked["create customresourcedefinitions"] || asked["create apiservices"] {
		t.Errorf("asked for %v, want the CRD, which is not there, and no APIService, which is", asked)
	}
}

func TestHelmIsWhatIsNamedElseInstalledElseBuilt(t *testing.T) {
	root, path, named := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "my-helm")
	built, installed := filepath.Join(root, ".local", "bin", "helm"), filepath.Join(path, "helm")
	t.Setenv("PATH", path)
	t.Setenv("HELM", "")
	if _, err := FindHelm(root); err == nil || !strings.Contains(err.Error(), built) {
		t.Errorf("got %v, want an error that names %s", err, built)
	}
	if err := os.MkdirAll(filepath.Dir(built), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{built, installed} {
		if err := os.WriteFile(want, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if got, err := FindHelm(root); got != want || err != nil {
			t.Errorf("got %s %v, want %s", got, err, want)
		}
	}
	t.Setenv("HELM", named)
	if _, err := FindHelm(root); err == nil || !strings.Contains(err.Error(), "HELM="+named) {
		t.Errorf("got %v, want an error that names HELM=%s", err, named)
	}
}

func TestARunNeedsAnImage(t *testing.T) {
	if _, err := Begin(t.Context(), Options{Root: t.TempDir(), Out: io.Discard}); err == nil || !strings.Contains(err.Error(), "which image") {
		t.Errorf("got %v, want it to ask for an image", err)
	}
}
