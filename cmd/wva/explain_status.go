package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// heldStatus is the last decision on an object, as the API server has it.
type heldStatus struct {
	// From says that this is not an answer of the manager.
	From      string                            `json:"from"`
	Namespace string                            `json:"namespace"`
	Name      string                            `json:"name"`
	Model     string                            `json:"model"`
	Status    v1alpha1.VariantAutoscalingStatus `json:"status"`
	Events    []heldEvent                       `json:"events,omitempty"` // the oldest first
}

// heldEvent is an event of an object.
type heldEvent struct {
	At      time.Time `json:"at"` // when it last happened
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

// readStatus reads the status and the events of an object.
func readStatus(ctx context.Context, c client.Reader, key client.ObjectKey) (heldStatus, error) {
	var va v1alpha1.VariantAutoscaling
	if err := c.Get(ctx, key, &va); err != nil {
		return heldStatus{}, fmt.Errorf("reading VariantAutoscaling %s: %w", key, err)
	}
	out := heldStatus{From: "status and events", Namespace: key.Namespace, Name: key.Name, Model: va.Spec.ModelID, Status: va.Status}
	var events corev1.EventList
	of := client.MatchingFields{"involvedObject.name": key.Name, "involvedObject.kind": v1alpha1.Kind}
	if err := c.List(ctx, &events, client.InNamespace(key.Namespace), of); err != nil {
		return heldStatus{}, fmt.Errorf("listing events of %s: %w", key, err)
	}
	for _, e := range events.Items {
		out.Events = append(out.Events, heldEvent{At: lastSeen(e), Type: e.Type, Reason: e.Reason, Message: e.Message})
	}
	slices.SortStableFunc(out.Events, func(a, b heldEvent) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Message, b.Message)) })
	return out, nil
}

// print writes it as text.
func (h heldStatus) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s\n", h.Namespace, h.Name, h.Model)
	if d := h.Status.DesiredOptimizedAlloc; d != nil {
		fmt.Fprintf(&b, "  decision   %s", scaling.Replicas(int(d.NumReplicas)).Text())
		if u := d.LastUpdate; u != nil && u.UpdateTime != nil {
			fmt.Fprintf(&b, ", since %s: %s", u.UpdateTime.Format(time.RFC3339), u.Reason)
		}
		fmt.Fprintln(&b)
	}
	for _, condition := range h.Status.Conditions {
		fmt.Fprintf(&b, "  %-26s %-6s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	for _, e := range h.Events {
		fmt.Fprintf(&b, "  event      %s %s: %s\n", e.At.Format(time.RFC3339), e.Reason, e.Message)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// lastSeen returns when an event last happened, in either of the two events APIs.
func lastSeen(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
