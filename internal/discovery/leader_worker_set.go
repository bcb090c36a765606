package discovery

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// kindLeaderWorkerSet is the kind whose replica is a group of pods: a leader, and workers in a
// StatefulSet that the leader controls.
const kindLeaderWorkerSet = "LeaderWorkerSet"

// The labels by which the scale of a LeaderWorkerSet selects its leaders (lws, api/leaderworkerset/v1).
const (
	labelGroupsOf    = "leaderworkerset.sigs.k8s.io/name"
	labelWorkerIndex = "leaderworkerset.sigs.k8s.io/worker-index"
)

var leaderWorkerSetKind = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: kindLeaderWorkerSet}

// leaderWorkerSet holds the fields that are read of a LeaderWorkerSet. Importing its own types
// would import their dependencies.
type leaderWorkerSet struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32 `json:"replicas,omitempty"`
		Template struct {
			Leader *corev1.PodTemplateSpec `json:"leaderTemplate,omitempty"` // nil for the workers' template
			Worker corev1.PodTemplateSpec  `json:"workerTemplate"`
			Size   *int32                  `json:"size,omitempty"` // pods of a group including its leader, nil for 1
		} `json:"leaderWorkerTemplate"`
	} `json:"spec"`
}

// leader returns the template of the leaders.
func (l *leaderWorkerSet) leader() *corev1.PodTemplateSpec {
	if l.Spec.Template.Leader != nil {
		return l.Spec.Template.Leader
	}
	return &l.Spec.Template.Worker
}

// workers returns the number of pods in a group besides the leader.
func (l *leaderWorkerSet) workers() int { return max(0, int(ptr.Deref(l.Spec.Template.Size, 1))-1) }

// labels returns the labels of the template of the leaders.
func (l *leaderWorkerSet) labels() map[string]string { return l.leader().Labels }

// leaderWorkerSets reads LeaderWorkerSets from a cache, which lists them once one is a target. It
// never waits: objects that are not listed yet, or that the manager has no right to list, are
// unknown. It is safe for concurrent use.
type leaderWorkerSets struct {
	search scalers.Search

	mu   sync.Mutex
	read map[types.UID]*leaderWorkerSet // latest decoded version
}

// of returns the known LeaderWorkerSets of a namespace, by name.
func (l *leaderWorkerSets) of(ctx context.Context, by *scalers.Reader, namespace string) map[string]*leaderWorkerSet {
	items := by.Optional(ctx, &l.search, leaderWorkerSetKind, namespace)
	out := make(map[string]*leaderWorkerSet, len(items))
	for i := range items {
		if set, err := l.decoded(&items[i]); err == nil { // else it has another version, and its templates are unknown
			out[set.Name] = set
		}
	}
	return out
}

// decoded returns the decoded form of u. It decodes each resource version once.
func (l *leaderWorkerSets) decoded(u *unstructured.Unstructured) (*leaderWorkerSet, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.read[u.GetUID()]; known != nil && known.ResourceVersion == u.GetResourceVersion() {
		return known, nil
	}
	set := &leaderWorkerSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
		return nil, fmt.Errorf("decoding LeaderWorkerSet %s in namespace %s: %w", u.GetName(), u.GetNamespace(), err)
	}
	if l.read == nil || len(l.read) > 4*mostKept {
		l.read = map[types.UID]*leaderWorkerSet{}
	}
	l.read[set.UID] = set
	return set, nil
}

// mostKept is a quarter of the number of decoded objects beyond which all of them are dropped.
const mostKept = 256

// isGroupSet reports whether a target is a LeaderWorkerSet.
func isGroupSet(ref scaling.TargetRef) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == leaderWorkerSetKind.Group && ref.Kind == kindLeaderWorkerSet
}

// grouped completes a target from its LeaderWorkerSet. A replica is a group: it is Ready when its
// leader and all of its workers are, and takes the accelerators of all of them. While a rollout
// changes the size of the groups, some differ from the template.
func (w workloads) grouped(t target, set *leaderWorkerSet) target {
	t.labels, t.workers = set.labels(), set.workers()
	if leader := &set.leader().Spec; len(leader.Containers) > 0 {
		t.pod = leader
		if t.workers > 0 {
			t.worker = &set.Spec.Template.Worker.Spec
		}
	}
	leaders, resized := t.pods, ""
	t.pods = make([]pod, len(leaders))
	for i, p := range leaders {
		ready, size := 0, 1
		for _, workers := range w.parts[workloadName{"Pod", p.name}] {
			ready += w.readyOf[workers]
			size += w.sizeOf[workers]
			for _, worker := range w.owned[workers] {
				p.gpus += worker.gpus
				p.unschedulable = p.unschedulable || worker.unschedulable
			}
		}
		// The workers of a new group may not exist yet.
		counts := size > 1 || p.ready
		p.ready = p.ready && ready >= t.workers
		t.pods[i] = p
		if counts && size != t.workers+1 && (t.resized == "" || p.name < resized) {
			resized = p.name
			t.resized = fmt.Sprintf("the group of pod %s has %d pods and the template of LeaderWorkerSet %s says %d. What a group costs and serves is not one number until its rollout has replaced every group; if none is under way, see its events",
				p.name, size, set.Name, t.workers+1)
		}
	}
	return t
}
