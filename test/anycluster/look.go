package anycluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// awaitManager waits until every manager of a release is available. It returns early where a pod is
// stuck.
func (r *Run) awaitManager(ctx context.Context, namespace string) error {
	missing := ""
	err := wait.PollUntilContextTimeout(ctx, time.Second, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		var managers appsv1.DeploymentList
		if err := r.Client.List(ctx, &managers, client.InNamespace(namespace), client.MatchingLabels{instanceLabel: namespace}); err != nil {
			missing = err.Error()
			return false, nil //nolint:nilerr // asked again until the time is over
		}
		if len(managers.Items) != 1 {
			return false, fmt.Errorf("%d Deployments of managers, want one", len(managers.Items))
		}
		d := managers.Items[0]
		missing = fmt.Sprintf("%d of %d available", d.Status.AvailableReplicas, *d.Spec.Replicas)
		if d.Status.AvailableReplicas == *d.Spec.Replicas {
			return true, nil
		}
		return false, r.stuck(ctx, namespace)
	})
	if err != nil {
		return fmt.Errorf("waiting for the managers in %s (%s): %w", namespace, missing, err)
	}
	return nil
}

// stuck returns an error if a container of a namespace waits for something that does not come by
// itself.
func (r *Run) stuck(ctx context.Context, namespace string) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil //nolint:nilerr // asked again
	}
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			w := c.State.Waiting
			if w != nil && slices.Contains([]string{"ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CrashLoopBackOff"}, w.Reason) {
				return fmt.Errorf("pod %s: %s: %s", pods.Items[i].Name, w.Reason, w.Message)
			}
		}
	}
	return nil
}

// Deployment returns the Deployment of a scenario's variant.
func (r *Run) Deployment(ctx context.Context, l Label) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace(l), Name: string(l)}, d)
}

// Autoscaling returns the VariantAutoscaling of a scenario.
func (r *Run) Autoscaling(ctx context.Context, l Label) (*v1alpha1.VariantAutoscaling, error) {
	va := &v1alpha1.VariantAutoscaling{}
	return va, r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace(l), Name: string(l)}, va)
}

// Events returns the events of a scenario's VariantAutoscaling with a reason.
func (r *Run) Events(ctx context.Context, l Label, reason string) ([]corev1.Event, error) {
	var events corev1.EventList
	if err := r.Client.List(ctx, &events, client.InNamespace(r.Namespace(l))); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(events.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.Kind != "VariantAutoscaling" || e.Reason != reason
	}), nil
}

// Failed reports whether a Job has failed.
func (r *Run) Failed(ctx context.Context, job *batchv1.Job) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), job)
	return job.Status.Failed > 0, err
}

// Log returns the end of the log of a pod of a namespace.
func (r *Run) Log(ctx context.Context, namespace, pod string, lines int64) (string, error) {
	stream, err := r.Clients.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{TailLines: &lines}).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s/%s: %w", namespace, pod, err)
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s/%s: %w", namespace, pod, err)
	}
	return string(text), nil
}

// Output returns the log of the pod of a Job.
func (r *Run) Output(ctx context.Context, job *batchv1.Job) (string, error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return "", fmt.Errorf("looking for the pod of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	if len(pods.Items) != 1 {
		return "", fmt.Errorf("looking for the pod of Job %s/%s: there are %d, want one", job.Namespace, job.Name, len(pods.Items))
	}
	const all = 10000 // lines: a summary has a few dozen
	return r.Log(ctx, job.Namespace, pods.Items[0].Name, all)
}

// Report describes a namespace of the run after a failure: pods, the VariantAutoscaling, events,
// and the log of managers. It names what it cannot read.
func (r *Run) Report(ctx context.Context, namespace string) string {
	var b bytes.Buffer
	var pods corev1.PodList
	errs := []error{r.Client.List(ctx, &pods, client.InNamespace(namespace))}
	for i := range pods.Items {
		p := &pods.Items[i]
		fmt.Fprintf(&b, "pod %s: %s\n", p.Name, podState(p))
		if p.Labels["control-plane"] == "controller-manager" {
			text, err := r.Log(ctx, namespace, p.Name, 30)
			errs = append(errs, err)
			b.WriteString(text)
		}
	}
	var vas v1alpha1.VariantAutoscalingList
	errs = append(errs, r.Client.List(ctx, &vas, client.InNamespace(namespace)))
	for i := range vas.Items {
		fmt.Fprintf(&b, "VariantAutoscaling %s:\n", vas.Items[i].Name)
		for _, c := range vas.Items[i].Status.Conditions {
			fmt.Fprintf(&b, "  %s is %s, %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	var events corev1.EventList
	errs = append(errs, r.Client.List(ctx, &events, client.InNamespace(namespace)))
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, e := range events.Items {
		fmt.Fprintf(&b, "%s %s %s %s: %s\n", e.CreationTimestamp.Format(time.TimeOnly), e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(&b, err)
	}
	return strings.TrimSpace(b.String())
}

// podState describes the state of a pod in a line.
func podState(p *corev1.Pod) string {
	state := []string{string(p.Status.Phase)}
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue && c.Message != "" {
			state = append(state, c.Message)
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			state = append(state, w.Reason+": "+w.Message)
		}
	}
	return strings.Join(slices.Compact(state), "; ")
}
