package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// ScrapeInterval is how often the Bed's Prometheus scrapes.
const ScrapeInterval = 3 * time.Second

// Variant describes one emulated variant: a Deployment, its VariantAutoscaling
// and the HPA that follows it.
type Variant struct {
	Namespace, Name string
	ModelID         string
	Profile         string // of the emulator
	GPU             string // nvidia.com/gpu.product of its nodes
	Accelerator     string
	Cost            string
	Replicas        int32 // to start with
	Min             int32
	Max             *int32
	StartUp         time.Duration
	NoHPA           bool
	// Annotated makes the Deployment a variant by annotations of the HPA, without a
	// VariantAutoscaling.
	Annotated bool
	// HPAMin is the minReplicas of the HPA; nil is its default, 1.
	HPAMin *int32
	// Actuation is the annotation that asks the manager to set replicas itself; "" for none.
	Actuation string
	// Role is the part of each request that its pods serve, "" the whole.
	Role string
	// Speed is the stated profile of a replica; nil for none.
	Speed *v1alpha1.VariantProfile
}

// Objects returns the variant's objects in the order in which they are applied.
func (v Variant) Objects() []client.Object {
	objects := []client.Object{v.deployment()}
	if !v.Annotated {
		objects = append(objects, v.Autoscaling())
	}
	if !v.NoHPA {
		objects = append(objects, v.hpa())
	}
	return objects
}

func (v Variant) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name}
}

func (v Variant) deployment() *appsv1.Deployment {
	labels := map[string]string{"app": v.Name}
	ofPods := maps.Clone(labels)
	if v.Role != "" {
		ofPods[v1alpha1.RoleKey] = v.Role
	}
	return &appsv1.Deployment{
		ObjectMeta: v.meta(),
		Spec: appsv1.DeploymentSpec{
			Replicas: &v.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: ofPods, Annotations: map[string]string{
					"wva.llmd.ai/startup-delay":    v.StartUp.String(),
					"wva.llmd.ai/emulated-model":   v.ModelID,
					"wva.llmd.ai/emulated-profile": v.Profile,
				}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"nvidia.com/gpu.product": v.GPU},
					Containers: []corev1.Container{{
						Name: "server", Image: "vllm/vllm-openai:emulated",
						Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
					}},
				},
			},
		},
	}
}

// Autoscaling returns the VariantAutoscaling of the variant. An Annotated variant is applied
// without it.
func (v Variant) Autoscaling() *v1alpha1.VariantAutoscaling {
	meta := v.meta()
	if v.Actuation != "" {
		meta.Annotations = map[string]string{v1alpha1.AnnotationActuation: v.Actuation}
	}
	return &v1alpha1.VariantAutoscaling{
		ObjectMeta: meta,
		Spec: v1alpha1.VariantAutoscalingSpec{
			ScaleTargetRef: &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: v.Name},
			ModelID:        v.ModelID, Accelerator: v.Accelerator, VariantCost: v.Cost,
			MinReplicas: v.Min, MaxReplicas: v.Max, VariantProfile: v.Speed,
		},
	}
}

// hpa returns an HPA that follows wva_desired_replicas exactly: without tolerance, and down without
// delay.
func (v Variant) hpa() *autoscalingv2.HorizontalPodAutoscaler {
	exactly, noDelay := resource.MustParse("0"), int32(0)
	most := int32(20)
	rules := &autoscalingv2.HPAScalingRules{Tolerance: &exactly, StabilizationWindowSeconds: &noDelay}
	meta := v.meta()
	if v.Annotated {
		meta.Labels = map[string]string{v1alpha1.LabelAcceleratorName: v.Accelerator}
		meta.Annotations = map[string]string{
			v1alpha1.AnnotationManaged: "true", v1alpha1.AnnotationModelID: v.ModelID, v1alpha1.AnnotationVariantCost: v.Cost,
		}
		if v.Max != nil {
			most = *v.Max
		}
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: meta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: v.Name},
			MinReplicas:    v.HPAMin,
			MaxReplicas:    most,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ExternalMetricSourceType,
				External: &autoscalingv2.ExternalMetricSource{
					Metric: autoscalingv2.MetricIdentifier{
						Name: "wva_desired_replicas",
						Selector: &metav1.LabelSelector{MatchLabels: map[string]string{
							"variant_name": v.Name, "exported_namespace": v.Namespace,
						}},
					},
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI)},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules, ScaleDown: rules},
		},
	}
}

// Deploy applies variants and creates their namespaces where needed. If the cluster stays, they are
// removed when the Bed goes down.
func (b *Bed) Deploy(ctx context.Context, variants ...Variant) error {
	for _, v := range variants {
		if err := b.Namespace(ctx, v.Namespace); err != nil {
			return err
		}
		if err := b.Apply(ctx, v.Objects()...); err != nil {
			return err
		}
	}
	return nil
}

// Namespace creates a namespace, which the Bed removes when it goes down.
func (b *Bed) Namespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	exists := false
	err := poll(ctx, func() (bool, error) {
		err := b.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		exists = err == nil && ns.DeletionTimestamp.IsZero()
		// A namespace that an earlier run left is terminating: wait for its end.
		return exists || apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("reading namespace %s: %w", name, err)
	}
	if exists {
		return nil
	}
	ns = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := b.Client.Create(ctx, ns); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	b.Cleanup(func(ctx context.Context) error { return client.IgnoreNotFound(b.Client.Delete(ctx, ns)) })
	return nil
}

// Emulator is the emulated serving fleet.
type Emulator struct {
	*Process
	// URL is its base address.
	URL string
}

// Endpoint returns the OpenAI-compatible base URL of a model.
func (e *Emulator) Endpoint(namespace, model string) string {
	return e.URL + "/" + namespace + "/" + model
}

// StartEmulator starts the fleet and lets Prometheus discover its pages.
func (b *Bed) StartEmulator(ctx context.Context, args ...string) (*Emulator, error) {
	address := filepath.Join(b.Dir, "emulator.address")
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("starting the emulator: %w", err)
	}
	p, err := b.run("emulator", filepath.Join("bin", "wva"), append([]string{"emulate", "--kubeconfig", b.State.Kubeconfig, "--address-file", address}, args...), nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	url, err := p.file(ctx, address)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`scrape_configs:
- job_name: vllm
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  http_sd_configs:
  - url: %[2]s/sd
    refresh_interval: 2s
`, ScrapeInterval, url)
	if err := os.WriteFile(filepath.Join(b.State.PrometheusConfigDir, "vllm.yml"), []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("configuring Prometheus: %w", err)
	}
	return &Emulator{Process: p, URL: url}, b.ReloadPrometheus(ctx)
}

// StartLoad sends a workload to a model.
func (b *Bed) StartLoad(name string, args ...string) (*Process, error) {
	return b.run(name, filepath.Join("bin", "wva"), append([]string{"load"}, args...), nil)
}
