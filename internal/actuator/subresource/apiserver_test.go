package subresource_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/subresource"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scale"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

const namespace = "acting"

// TestOnAPIServer has a TargetScaler act on a real API server, with the controllers that
// make pods of it. Its parts share one local cluster.
func TestOnAPIServer(t *testing.T) {
	s := newStage(t)
	t.Run("WithoutTheRoleTheVerbAndTheResourceAreNamed", s.forbidden)
	s.grant(t)
	for name, part := range map[string]func(*testing.T){
		"AnyKindWithAScaleIsSet":                s.kinds,
		"AKindWithoutAScaleIsNamed":             s.scaleless,
		"AConflictIsOneOfTheAPIServer":          s.conflicting,
		"AnHPAStandsStillAtZeroAndResumesAtOne": s.besideAnHPA,
		"AnHPAOfMinimumZeroNeedsItsGate":        s.besideAnHPAOfZero,
		"TheMarkedPodGoesFirst":                 s.marks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for controllers most of its time
			part(t)
		})
	}
}

// stage is an API server, and a manager's account that may do what its roles say.
// VariantAutoscalings are read by the administrator: the manager has them from its
// cache, and may not get one.
type stage struct {
	*testbed.Bed
	own client.Client // of the account
}

const account = "manager"

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Bed: apitest.Start(t, "HPAScaleToZero=true")}
	as := rest.CopyConfig(s.Config)
	as.Impersonate.UserName = account
	var err error
	if s.own, err = client.New(as, client.Options{Scheme: testbed.Scheme()}); err != nil {
		t.Fatal(err)
	}
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	s.bind(t, rbac.ManagerRoles(), 1) // the first is that of the manager
	return s
}

// grant binds the roles for actuation, as a user does who asks for it.
func (s *stage) grant(t *testing.T) {
	t.Helper()
	s.bind(t, rbac.ActuationRoles(), 2)
}

// bind gives the account the first n of the ClusterRoles.
func (s *stage) bind(t *testing.T, roles []byte, n int) {
	t.Helper()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(roles)))
	for range n {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			t.Fatalf("fewer than %d roles", n)
		}
		var role rbacv1.ClusterRole
		if err := errors.Join(err, yaml.UnmarshalStrict(document, &role)); err != nil {
			t.Fatal(err)
		}
		s.create(t, &role)
		s.create(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		})
	}
}

func (s *stage) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := s.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// fixed returns the same for every target.
type fixed scaling.Scalers

func (f fixed) Scalers(scaling.VariantKey) scaling.Scalers { return scaling.Scalers(f) }

// act makes the account carry out a decision on a target with current replicas, and returns
// the result.
func (s *stage) act(t *testing.T, target scaling.TargetRef, current, desired scaling.Replicas, by scaling.Scalers) (scaling.Trouble, []metrics.Outcome) {
	t.Helper()
	var outcomes []metrics.Outcome
	h := subresource.New(subresource.Options{
		Objects: s.Client, Scalers: fixed(by), Scales: scale.New(s.own), Pods: s.own,
		Count: func(o metrics.Outcome) { outcomes = append(outcomes, o) },
	})
	r := s.record(t, target, current, desired, by)
	h.Mark(t.Context(), r)
	h.Carry(t.Context(), r)
	trouble, known := h.Trouble(r.Fleet.Variants[0].Key)
	if !known {
		t.Error("it is not known how it ended")
	}
	return trouble, outcomes
}

// record returns a cycle of one variant, whose object it creates if need be.
func (s *stage) record(t *testing.T, target scaling.TargetRef, current, desired scaling.Replicas, by scaling.Scalers) memory.Record {
	t.Helper()
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: target.Name, Annotations: map[string]string{v1alpha1.AnnotationActuation: string(by.Own)},
		},
		Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: "m", ScaleTargetRef: &v1alpha1.ScaleTargetRef{APIVersion: target.APIVersion, Kind: target.Kind, Name: target.Name},
		},
	}
	if err := s.Client.Create(t.Context(), va); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	model := scaling.ModelKey{Namespace: namespace, ID: "m"}
	key := scaling.VariantKey{Namespace: namespace, Name: target.Name}
	v := scaling.Variant{Key: key, Model: model, Target: target, Replicas: scaling.ReplicaCounts{Observed: true, Current: current}}
	d := scaling.Decision{Variant: key, Model: model, Current: current}.Then(scaling.StageOptimize, desired, scaling.ReasonSaturated, "")
	return memory.Record{Fleet: scaling.Fleet{Variants: []scaling.Variant{v}}, Plan: scaling.Plan{Decisions: []scaling.Decision{d}}}
}

// alone says that there is no other scaler.
var alone = scaling.Scalers{Own: scaling.ActuationScale, Known: true}

func deployment(name string) scaling.TargetRef {
	return scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
}

// template is a template of pods that run no process, on nodes that report pods as Ready.
func template(name string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "engine", Image: "engine",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
		}}},
	}
}

func newDeployment(name string, replicas int32) *appsv1.Deployment {
	selector, pods := template(name)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: pods},
	}
}

// replicas returns what a target is asked to run.
func (s *stage) replicas(t *testing.T, target scaling.TargetRef) scaling.Replicas {
	t.Helper()
	is, err := scale.New(s.Client).Scale(t.Context(), namespace, target)
	if err != nil {
		t.Fatal(err)
	}
	return scaling.Replicas(is.Spec.Replicas)
}

func (s *stage) forbidden(t *testing.T) {
	s.create(t, newDeployment("denied", 1))
	trouble, outcomes := s.act(t, deployment("denied"), 1, 2, alone)
	want := scaling.Trouble{Reason: "Forbidden", Message: `the manager may not update deployments/scale of API group "apps". ` +
		"Bind the ClusterRole workload-variant-autoscaler-scaler-role to its account"}
	if diff := cmp.Diff(want, trouble); diff != "" {
		t.Errorf("trouble (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]metrics.Outcome{metrics.Forbidden}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if n := s.replicas(t, deployment("denied")); n != 1 {
		t.Errorf("the target has %d replicas", n)
	}
}

// leaderWorkerSets is the part of a LeaderWorkerSet's definition that matters here:
// a kind of its own with a scale subresource.
func leaderWorkerSets() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "leaderworkersets.leaderworkerset.x-k8s.io", Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "leaderworkerset.x-k8s.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "leaderworkersets", Kind: "LeaderWorkerSet"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
				},
			}},
		},
	}
}

func (s *stage) kinds(t *testing.T) {
	if err := s.Define(t.Context(), leaderWorkerSets()); err != nil {
		t.Fatal(err)
	}
	selector, pods := template("set")
	one := int32(1)
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
		"metadata": map[string]any{"namespace": namespace, "name": "group"}, "spec": map[string]any{"replicas": int64(1)},
	}}
	for _, tt := range []struct {
		object client.Object
		target scaling.TargetRef
	}{
		{newDeployment("web", 1), deployment("web")},
		{&appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "set"},
			Spec:       appsv1.StatefulSetSpec{Replicas: &one, Selector: selector, Template: pods},
		}, scaling.TargetRef{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "set"}},
		{group, scaling.TargetRef{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "group"}},
	} {
		t.Run(tt.target.Kind, func(t *testing.T) {
			s.create(t, tt.object)
			for _, n := range []scaling.Replicas{3, 0, 2} {
				trouble, outcomes := s.act(t, tt.target, s.replicas(t, tt.target), n, alone)
				if trouble.Reason != "" || !cmp.Equal(outcomes, []metrics.Outcome{metrics.Success}) || s.replicas(t, tt.target) != n {
					t.Errorf("to %d: trouble %+v, outcomes %v, the target has %d", n, trouble, outcomes, s.replicas(t, tt.target))
				}
			}
			if _, outcomes := s.act(t, tt.target, 1, 2, alone); len(outcomes) != 0 {
				t.Errorf("set again what it has: %v", outcomes)
			}
		})
	}
}

func (s *stage) scaleless(t *testing.T) {
	for _, tt := range []struct {
		target scaling.TargetRef
		reason string
	}{
		{scaling.TargetRef{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "each"}, "NotFound"},
		{scaling.TargetRef{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt"}, "Forbidden"}, // of another API group
		{deployment("nowhere"), "NotFound"},
		{scaling.TargetRef{APIVersion: "unknown.example/v1", Kind: "Thing", Name: "thing"}, "NoKind"},
	} {
		if trouble, _ := s.act(t, tt.target, 1, 2, alone); trouble.Reason != tt.reason {
			t.Errorf("%s: trouble %+v, want %s", tt.target, trouble, tt.reason)
		}
	}
}

// conflicting sets the scale of a target that has changed since it was read.
func (s *stage) conflicting(t *testing.T) {
	s.create(t, newDeployment("contested", 1))
	scales, target := scale.New(s.own), deployment("contested")
	var read *autoscalingv1.Scale
	s.eventually(t, "the controllers let the target alone", func() bool { // they write its status
		var err error
		if read, err = scales.Scale(t.Context(), namespace, target); err != nil {
			t.Fatal(err)
		}
		return scales.SetScale(t.Context(), target, withReplicas(read, 4)) == nil
	})
	if err := scales.SetScale(t.Context(), target, withReplicas(read, 2)); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if n := s.replicas(t, target); n != 4 {
		t.Errorf("the target has %d replicas, want those of who was first", n)
	}
}

func withReplicas(scale *autoscalingv1.Scale, n int32) *autoscalingv1.Scale {
	scale = scale.DeepCopy()
	scale.Spec.Replicas = n
	return scale
}

// newHPA returns an HPA of a target, by a metric that does not exist here.
func newHPA(name string, least int32) *autoscalingv2.HorizontalPodAutoscaler {
	one := resource.MustParse("1")
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    &least, MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "wva_desired_replicas"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &one},
			}}},
		},
	}
}

// besideAnHPA scales from zero and back with an HPA of minimum 2, whose minimum shows
// whether it is active.
func (s *stage) besideAnHPA(t *testing.T) {
	target := deployment("chat")
	by := scaling.Scalers{Own: scaling.ActuationZero, Known: true, List: []scaling.Scaler{{Kind: scaling.KindHPA, Name: "chat", Bounds: scaling.Bounds{Min: 2, Max: 3}}}}
	s.create(t, newDeployment("chat", 0))
	s.create(t, newHPA("chat", 2))
	disabled := func() bool { return s.standsStill(t, "chat") }
	s.eventually(t, "the HPA stands still at zero", disabled)
	if trouble, _ := s.act(t, target, 0, 1, by); trouble.Reason != "" {
		t.Fatalf("from zero: %+v", trouble)
	}
	s.eventually(t, "the HPA resumes, and raises the target to its minimum", func() bool { return s.replicas(t, target) == 2 })
	if trouble, _ := s.act(t, target, 2, 0, by); trouble.Reason != "" {
		t.Fatalf("to zero: %+v", trouble)
	}
	s.eventually(t, "the HPA stands still again", disabled)
	if n := s.replicas(t, target); n != 0 {
		t.Errorf("the target has %d replicas, want that zero stays", n)
	}
}

func (s *stage) besideAnHPAOfZero(t *testing.T) {
	target := deployment("idle")
	s.create(t, newDeployment("idle", 1))
	s.create(t, newHPA("idle", 0))
	by := func(atZero bool) scaling.Scalers {
		hpa := scaling.Scaler{Kind: scaling.KindHPA, Name: "idle", Bounds: scaling.Bounds{Max: 3}, AtZero: atZero}
		return scaling.Scalers{Own: scaling.ActuationZero, Known: true, List: []scaling.Scaler{hpa}}
	}
	if trouble, outcomes := s.act(t, target, 1, 0, by(false)); trouble.Reason != "" || len(outcomes) != 0 || s.replicas(t, target) != 1 {
		t.Errorf("trouble %+v, outcomes %v: want that this is left to the HPA", trouble, outcomes)
	}
	scales := scale.New(s.Client)
	s.eventually(t, "another client sets the target to zero", func() bool {
		read, err := scales.Scale(t.Context(), namespace, target)
		return err == nil && scales.SetScale(t.Context(), target, withReplicas(read, 0)) == nil
	})
	s.eventually(t, "the HPA, which did not go there itself, stands still", func() bool { return s.standsStill(t, "idle") })
	if trouble, _ := s.act(t, target, 0, 1, by(true)); trouble.Reason != "" || s.replicas(t, target) != 1 {
		t.Errorf("trouble %+v, want that the first replica is started", trouble)
	}
	s.eventually(t, "the HPA resumes", func() bool { return !s.standsStill(t, "idle") })
}

// standsStill reports whether an HPA says that it is disabled because its target is at
// zero.
func (s *stage) standsStill(t *testing.T, name string) bool {
	t.Helper()
	var h autoscalingv2.HorizontalPodAutoscaler
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &h); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScalingActive && c.Reason == "ScalingDisabled"
	})
}

// marks makes the ReplicaSet controller choose which of three pods ends.
func (s *stage) marks(t *testing.T) {
	target := deployment("marked")
	s.create(t, newDeployment("marked", 3))
	var pods []corev1.Pod
	s.eventually(t, "three pods are Ready", func() bool {
		pods = s.ready(t, "marked")
		return len(pods) == 3
	})
	spared := map[string]bool{}
	by := alone
	r := s.record(t, target, 3, 2, by)
	snapshot := scaling.Snapshot{Model: r.Fleet.Variants[0].Model}
	for i := range pods {
		held := 5.0
		if i == 1 { // neither the first nor the last by name, nor by age
			held = 0
		} else {
			spared[pods[i].Name] = true
		}
		r.Fleet.Pods = append(r.Fleet.Pods, scaling.Pod{Namespace: namespace, Name: pods[i].Name, Variant: r.Fleet.Variants[0].Key, Ready: true})
		snapshot.Replicas = append(snapshot.Replicas, scaling.ReplicaSample{
			Pod: pods[i].Name, Variant: r.Fleet.Variants[0].Key, Ready: true,
			Running: scaling.Measured(held, scaling.Fresh), QueueLength: scaling.Measured(0, scaling.Fresh),
		})
	}
	r.Snapshots = []scaling.Snapshot{snapshot}
	h := subresource.New(subresource.Options{
		Objects: s.Client, Scalers: fixed(by), Scales: scale.New(s.own), Pods: s.own, Count: func(metrics.Outcome) {},
	})
	h.Mark(t.Context(), r)
	var idle corev1.Pod
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(&pods[1]), &idle); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{corev1.PodDeletionCost: "-1", v1alpha1.AnnotationMarked: "marked"}
	if got := idle.Annotations; got[corev1.PodDeletionCost] != want[corev1.PodDeletionCost] || got[v1alpha1.AnnotationMarked] != want[v1alpha1.AnnotationMarked] {
		t.Fatalf("the idle pod has %v, want %v", got, want)
	}
	h.Carry(t.Context(), r)
	var left []corev1.Pod
	s.eventually(t, "two pods are left", func() bool {
		left = s.ready(t, "marked")
		return len(left) == 2
	})
	for i := range left {
		if !spared[left[i].Name] {
			t.Errorf("%s is left, and held nothing", left[i].Name)
		}
	}
}

// ready returns the pods of a Deployment that are Ready and stay.
func (s *stage) ready(t *testing.T, name string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := s.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"app": name}); err != nil {
		t.Fatal(err)
	}
	var out []corev1.Pod
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && list.Items[i].DeletionTimestamp.IsZero() {
				out = append(out, list.Items[i])
			}
		}
	}
	return out
}

func (s *stage) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so in time: %s", what)
		}
	}
}
