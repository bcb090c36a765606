package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaderElectionID is the default name of the manager's lease.
const leaderElectionID = "72dd1cf1.llm-d.ai"

// metricsPort is the port on which the shipped manager serves /debug/decisions.
const metricsPort = 8443

// leader is the pod of the leading manager.
type leader struct {
	Namespace, Pod string
	Port           int // of /metrics and /debug/decisions
}

// String returns the name of the pod.
func (l leader) String() string { return "pod " + l.Namespace + "/" + l.Pod }

// findLeader returns the manager that holds a lease. controller-runtime identifies the holder by
// its host name, which is that of its pod, and a UUID.
func findLeader(ctx context.Context, c client.Reader, lease client.ObjectKey, now time.Time) (leader, error) {
	var held coordinationv1.Lease
	err := c.Get(ctx, lease, &held)
	switch {
	case apierrors.IsNotFound(err):
		return leader{}, fmt.Errorf("looking for the manager that leads: there is no Lease %s: leader election is off (--leader-elect), "+
			"or the manager is elsewhere (--system-namespace, --leader-election-id)", lease)
	case err != nil:
		return leader{}, fmt.Errorf("looking for the manager that leads: reading Lease %s: %w", lease, err)
	}
	holder := ptr.Deref(held.Spec.HolderIdentity, "")
	if holder == "" {
		return leader{}, fmt.Errorf("looking for the manager that leads: no process holds Lease %s", lease)
	}
	if renewed := held.Spec.RenewTime; renewed != nil {
		lasts := time.Duration(ptr.Deref(held.Spec.LeaseDurationSeconds, 0)) * time.Second
		if now.Sub(renewed.Time) > lasts {
			return leader{}, fmt.Errorf("looking for the manager that leads: Lease %s of %s ran out: it was renewed at %s for %s",
				lease, holder, renewed.Format(time.RFC3339), lasts)
		}
	}
	name, _, _ := strings.Cut(holder, "_")
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: lease.Namespace, Name: name}, &pod); err != nil {
		return leader{}, fmt.Errorf("looking for the manager that leads: reading pod %s/%s, which holds Lease %s: %w", lease.Namespace, name, lease, err)
	}
	return leader{Namespace: pod.Namespace, Pod: pod.Name, Port: portOf(pod)}, nil
}

// portOf returns the metrics port of a manager's pod by its name, else the port of the shipped
// manager.
func portOf(pod corev1.Pod) int {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if slices.Contains([]string{"metrics", "https"}, p.Name) {
				return int(p.ContainerPort)
			}
		}
	}
	return metricsPort
}
