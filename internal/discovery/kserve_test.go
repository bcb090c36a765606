package discovery

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var update = flag.Bool("update", false, "write what is read of the objects of KServe into testdata")

// TestTheObjectsOfKServeAreVariants reads what the controller of KServe generates, as it is: by the
// versions that write VariantAutoscalings, and by those that annotate the scaler instead.
func TestTheObjectsOfKServeAreVariants(t *testing.T) {
	files, err := filepath.Glob("testdata/kserve/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	var text strings.Builder
	for _, file := range files {
		set := readObjects(t, file)
		fmt.Fprintf(&text, "%s\n", filepath.Base(file))
		for _, serves := range []bool{true, false} {
			by := scalers.New(set, clocktesting.NewFakePassiveClock(at(0)))
			by.ServesMetrics = serves
			fleet := New(Served{Reader: set, Annotated: &scalers.Annotated{Reader: by, On: func() bool { return true }}}, set.scales)
			fleet.By = by
			got, err := fleet.Fleet(t.Context(), at(120))
			if err != nil {
				t.Fatal(file, err)
			}
			said := told(fleet, got)
			if serves {
				text.WriteString(said)
			} else if !strings.HasSuffix(text.String(), said) {
				fmt.Fprintf(&text, " where the manager does not serve the External Metrics API:\n%s", said)
			}
		}
	}
	goldentest.Generated(t, "testdata/kserve/fleet.txt", []byte(text.String()), *update)
}

// told is what is known of a fleet.
func told(c *Cluster, fleet scaling.Fleet) string {
	var out strings.Builder
	for _, v := range fleet.Variants {
		fmt.Fprintf(&out, "  %s: model %s on %s %s, %d to %d replicas, cost %g\n",
			v.Key.Name, v.Model.ID, v.Target.Kind, v.Target.Name, v.Bounds.Min, v.Bounds.Max, v.Cost)
		fmt.Fprintf(&out, "    %d of %d ready, %d accelerators %q each, role %q, from %q\n",
			v.Replicas.Ready, v.Replicas.Current, v.GPUsRequested, v.Accelerator, v.Role, v.Origin)
		for _, s := range c.Scalers(v.Key).List {
			fmt.Fprintf(&out, "    followed by %s %s", s.Kind, s.Name)
			if v.ReadAs != "" {
				fmt.Fprintf(&out, ", as %s", v.ReadAs)
			}
			if v.ByValue {
				fmt.Fprint(&out, ", by value")
			}
			if s.Misread != "" {
				fmt.Fprintf(&out, ", not: %s", s.Misread)
			}
			fmt.Fprintln(&out)
		}
		if v.Undecidable != "" {
			fmt.Fprintf(&out, "    held: %s\n", v.Undecidable)
		}
	}
	return out.String()
}

// objects is a cluster made of a file.
type objects struct {
	*fakeCache
	scales fakeScales
}

func (o objects) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return synced{}, nil
}

type synced struct{ cache.Informer }

func (synced) HasSynced() bool { return true }

// readObjects returns the objects of a file, with the pods that controllers make for them, all
// of which are Ready.
func readObjects(t *testing.T, file string) objects {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := objects{&fakeCache{}, fakeScales{}}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var head metav1.TypeMeta
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatal(file, err)
		}
		typed := map[string]client.Object{
			v1alpha1.Kind: &v1alpha1.VariantAutoscaling{}, scaling.KindHPA: &autoscalingv2.HorizontalPodAutoscaler{}, kindDeployment: &appsv1.Deployment{},
		}[head.Kind]
		if typed == nil {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(document, &u.Object); err != nil {
				t.Fatal(file, err)
			}
			typed = u
		} else if err := yaml.UnmarshalStrict(document, typed); err != nil {
			t.Fatal(file, err)
		}
		out.objects = append(out.objects, typed)
		switch o := typed.(type) {
		case *appsv1.Deployment:
			out.deployed(o)
		case *unstructured.Unstructured:
			if head.Kind == kindLeaderWorkerSet {
				out.grouped(t, o)
			}
		}
	}
}

// deployed adds what a Deployment controls.
func (o objects) deployed(d *appsv1.Deployment) {
	rs := replicaSet(d.Name+"-1", "")
	rs.Namespace, rs.OwnerReferences = d.Namespace, controlledBy(string(d.UID))
	o.objects = append(o.objects, rs)
	for i := range *d.Spec.Replicas {
		o.add(podOf(d.Spec.Template, fmt.Sprintf("%s-1-%d", d.Name, i), d.Namespace, metav1.OwnerReference{Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID}))
	}
}

// grouped adds what a LeaderWorkerSet controls: a StatefulSet of leaders, and one of the workers of
// each of them.
func (o objects) grouped(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	set := &leaderWorkerSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
		t.Fatal(err)
	}
	leaders := statefulSetOf(set.Name, set.Namespace, *set.leader(), metav1.OwnerReference{Kind: kindLeaderWorkerSet, Name: set.Name, UID: set.UID})
	o.add(leaders)
	for i := range *set.Spec.Replicas {
		leader := podOf(*set.leader(), fmt.Sprintf("%s-%d", set.Name, i), set.Namespace, part(leaders))
		workers := statefulSetOf(leader.Name, set.Namespace, set.Spec.Template.Worker, metav1.OwnerReference{Kind: "Pod", Name: leader.Name, UID: leader.UID})
		workers.Spec.Replicas, workers.Status.ReadyReplicas = new(int32(set.workers())), int32(set.workers())
		o.add(leader, workers)
		for n := range set.workers() {
			o.add(podOf(set.Spec.Template.Worker, fmt.Sprintf("%s-%d", leader.Name, n+1), set.Namespace, part(workers)))
		}
	}
	o.scales[set.Name] = func() (*autoscalingv1.Scale, error) {
		return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: *set.Spec.Replicas}}, nil
	}
}

// part returns the reference of what a StatefulSet controls.
func part(of *appsv1.StatefulSet) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: "StatefulSet", Name: of.Name, UID: of.UID}
}

func (o objects) add(all ...client.Object) { o.objects = append(o.objects, all...) }

func statefulSetOf(name, namespace string, template corev1.PodTemplateSpec, owner metav1.OwnerReference) *appsv1.StatefulSet {
	yes := true
	owner.Controller = &yes
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("statefulset-" + name), OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       appsv1.StatefulSetSpec{Template: template},
	}
}

func podOf(template corev1.PodTemplateSpec, name, namespace string, owner metav1.OwnerReference) *corev1.Pod {
	yes := true
	owner.Controller = &yes
	p := &corev1.Pod{Spec: template.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("pod-" + name), Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{owner},
	}}
	readySince(10)(p)
	return p
}
