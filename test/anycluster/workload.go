package anycluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ports of serving pods and of gateways.
const (
	servingPort = 8000
	gatewayPort = 9090
)

// startUp is how long an emulated replica takes to load its model.
const startUp = "3s"

// Serve deploys a variant with one emulated replica and returns the base URL of its Service. The
// URL has the address of the Service: not every cluster resolves its names outside of the cluster.
func (r *Run) Serve(ctx context.Context, l Label, model, profile string) (url string, err error) {
	return r.deploy(ctx, string(l), server{
		namespace: r.Namespace(l), port: servingPort, health: "/health",
		args: []string{"emulate", "replica", "--model", model, "--profile", profile, "--startup-delay", startUp, "--listen", listen(servingPort)},
	})
}

// Hold deploys a gateway in front of a base URL and returns the gateway's URL. It has the metrics
// page of an endpoint picker where managers look for one.
func (r *Run) Hold(ctx context.Context, l Label, model, upstream string) (url string, err error) {
	return r.deploy(ctx, "gateway", server{
		namespace: r.Namespace(l), port: gatewayPort, health: "/healthz",
		args:   []string{"emulate", "gateway", "--model", model, "--upstream", upstream, "--listen", listen(gatewayPort)},
		labels: map[string]string{"inferencepool": string(l)},
	})
}

func listen(port int32) string { return ":" + strconv.Itoa(int(port)) }

// server is a program of the image that serves HTTP.
type server struct {
	namespace string
	port      int32
	health    string // path
	args      []string
	labels    map[string]string
}

// deploy makes a Deployment of one pod and its Service, both called name, and returns the base URL.
func (r *Run) deploy(ctx context.Context, name string, s server) (url string, err error) {
	selector := map[string]string{"app": name}
	labels := map[string]string{"app": name}
	maps.Copy(labels, s.labels)
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: name}
	c := r.container(s.args)
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: s.port}}
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: s.health, Port: intstr.FromString("http")}},
		PeriodSeconds: 1,
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)),
		Selector: &metav1.LabelSelector{MatchLabels: selector},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podOf(c)},
	}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: selector, Ports: []corev1.ServicePort{{Name: "http", Port: s.port, TargetPort: intstr.FromString("http")}},
	}}
	for _, o := range []client.Object{deployment, service} {
		if err := r.Client.Create(ctx, o); err != nil {
			return "", fmt.Errorf("creating %T %s/%s: %w", o, s.namespace, name, err)
		}
	}
	return "http://" + net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(s.port))), nil
}

// Load sends a workload to a base URL by a Job, until it has sent all or is stopped.
func (r *Run) Load(ctx context.Context, l Label, name, url, model, profile string) (*batchv1.Job, error) {
	pod := podOf(r.container([]string{
		"load", "--url", url, "--model", model, "--profile", profile, "--lengths", "constant",
		"--input-tokens", "200", "--output-tokens", "200", "--seed", "1", "--quiet", "-o", "json",
	}))
	pod.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(l), Name: name}, Spec: batchv1.JobSpec{
		BackoffLimit: new(int32),
		Template:     corev1.PodTemplateSpec{Spec: pod},
	}}
	if err := r.Client.Create(ctx, job); err != nil {
		return nil, fmt.Errorf("creating Job %s/%s: %w", job.Namespace, name, err)
	}
	return job, nil
}

// Stop ends a load.
func (r *Run) Stop(ctx context.Context, job *batchv1.Job) error {
	if err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return fmt.Errorf("removing Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return nil
}

// container returns a container that runs /wva of the image, within the restricted Pod Security
// Standard.
func (r *Run) container(args []string) corev1.Container {
	return corev1.Container{
		Name: "wva", Image: r.Image, Command: []string{"/wva"}, Args: args,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(bool),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// podOf returns a pod with one container and without a token for the API server.
func podOf(c corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{
		Containers:                   []corev1.Container{c},
		AutomountServiceAccountToken: new(bool),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
}
