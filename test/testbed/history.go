package testbed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Version is one version of an object, as the API server stored it.
type Version struct {
	Revision uint64 // of the store: later versions, of any kind, have higher ones
	First    bool   // it existed when the record began
	Gone     bool   // the object was deleted; Object is its last version
	Object   *unstructured.Unstructured
}

// History records every version of the objects of a namespace: a watch of the API server misses
// none.
type History struct {
	client    dynamic.Interface
	namespace string
	resources []schema.GroupVersionResource
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu       sync.Mutex
	versions []Version
}

// Record begins a record of the objects of some resources in a namespace. Stop ends it.
func (b *Bed) Record(ctx context.Context, namespace string, resources ...schema.GroupVersionResource) (*History, error) {
	c, err := dynamic.NewForConfig(b.Config)
	if err != nil {
		return nil, fmt.Errorf("recording namespace %s: %w", namespace, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &History{client: c, namespace: namespace, resources: resources, cancel: cancel}
	for _, r := range resources {
		if err := h.follow(ctx, r); err != nil {
			cancel()
			return nil, fmt.Errorf("recording %s of namespace %s: %w", r.Resource, namespace, err)
		}
	}
	return h, nil
}

// follow lists a resource and watches it from there. It lists again where the server no longer has
// the changes since, as after a definition was replaced: the objects that have changed or are gone
// are recorded, but versions between may be missed.
func (h *History) follow(ctx context.Context, r schema.GroupVersionResource) error {
	of := h.client.Resource(r).Namespace(h.namespace)
	begin := func(first bool) (*watchtools.RetryWatcher, error) {
		list, err := of.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		h.addAll(list, first)
		return watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return of.Watch(ctx, o) },
		})
	}
	events, err := begin(true)
	if err != nil {
		return err
	}
	h.running.Go(func() {
		for ctx.Err() == nil {
			for e := range events.ResultChan() {
				if o, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Bookmark && e.Type != watch.Error {
					h.add(Version{Object: o, Revision: revision(o.GetResourceVersion()), Gone: e.Type == watch.Deleted})
				}
			}
			if err := poll(ctx, func() (bool, error) { events, err = begin(false); return err == nil, nil }); err != nil {
				return
			}
		}
	})
	return nil
}

// revision reads a version of an object: a number that grows with each change of any object. A
// version that is no number is 0.
func revision(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (h *History) add(v Version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.versions = append(h.versions, v)
}

// addAll adds the versions of a list that the record lacks, and the ends of recorded objects that
// the list lacks.
func (h *History) addAll(list *unstructured.UnstructuredList, first bool) {
	last := h.last(list.GetKind())
	for i := range list.Items {
		o := &list.Items[i]
		if before, ok := last[o.GetName()]; !ok || before.GetResourceVersion() != o.GetResourceVersion() {
			h.add(Version{Object: o, Revision: revision(o.GetResourceVersion()), First: first})
		}
		delete(last, o.GetName())
	}
	for _, o := range last {
		h.add(Version{Object: o, Revision: revision(list.GetResourceVersion()), Gone: true})
	}
}

// last returns the last version of each object of a kind that exists, by name.
func (h *History) last(listKind string) map[string]*unstructured.Unstructured {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := map[string]*unstructured.Unstructured{}
	for _, v := range h.versions {
		switch {
		case v.Object.GetKind()+"List" != listKind:
		case v.Gone:
			delete(last, v.Object.GetName())
		default:
			last[v.Object.GetName()] = v.Object
		}
	}
	return last
}

// Stop ends the record once it has all objects of the namespace. It returns the record in the order
// of the store, with the versions at the beginning first.
func (h *History) Stop(ctx context.Context) ([]Version, error) {
	defer h.running.Wait()
	defer h.cancel()
	for _, r := range h.resources {
		list, err := h.client.Resource(r).Namespace(h.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading %s of namespace %s: %w", r.Resource, h.namespace, err)
		}
		if err := poll(ctx, func() (bool, error) { return h.has(list), nil }); err != nil {
			return nil, fmt.Errorf("waiting for the last versions of %s of namespace %s: %w", r.Resource, h.namespace, err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return InOrder(h.versions), nil
}

// has reports whether the record has all objects of a list in their version or a later one, and no
// other objects of their kind.
func (h *History) has(list *unstructured.UnstructuredList) bool {
	last := h.last(list.GetKind())
	for i := range list.Items {
		o := &list.Items[i]
		if recorded, ok := last[o.GetName()]; !ok || revision(recorded.GetResourceVersion()) < revision(o.GetResourceVersion()) {
			return false
		}
	}
	return len(last) <= len(list.Items)
}

// InOrder returns versions in the order of the store, with those at the beginning of the record
// first.
func InOrder(versions []Version) []Version {
	return slices.SortedStableFunc(slices.Values(versions), func(a, b Version) int {
		if a.First != b.First {
			if a.First {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Revision, b.Revision)
	})
}

// Disturbances returns where a record shows a disturbed target. In an undisturbed one, at every
// instant, the Deployment named target keeps its replicas and its pods, which are those with
// podLabel, exactly one HPA or ScaledObject scales it, and its one VariantAutoscaling stays the
// same object. The versions are those of Stop.
func Disturbances(versions []Version, target, podLabel string, replicas int64) []string {
	var said []string
	there := map[string]*unstructured.Unstructured{} // by kind and name
	begun := false
	for i, v := range versions {
		key := v.Object.GetKind() + "/" + v.Object.GetName()
		before := there[key]
		if there[key] = v.Object; v.Gone {
			delete(there, key)
		}
		say := func(text string) {
			said = append(said, fmt.Sprintf("revision %d, %s %s: %s", v.Revision, v.Object.GetKind(), v.Object.GetName(), text))
		}
		if text := v.disturbs(before, target, podLabel, replicas); text != "" {
			say(text)
		}
		if begun = begun || !v.First || i == len(versions)-1 || !versions[i+1].First; !begun {
			continue
		}
		if n := scalersOf(there, target); len(n) != 1 {
			say(fmt.Sprintf("%s is scaled by %v, want one", target, n))
		}
	}
	return said
}

// disturbs returns in words what a version of a target, a pod or a variant changes that is to stay,
// "" for nothing. before is the version before it, nil if the object did not exist.
func (v Version) disturbs(before *unstructured.Unstructured, target, podLabel string, replicas int64) string {
	o := v.Object
	_, serves := o.GetLabels()[podLabel]
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	another := v.another(before)
	switch kind := o.GetKind(); {
	case kind == "Deployment" && o.GetName() == target && (v.Gone || n != replicas):
		return fmt.Sprintf("it is to have %d replicas, want %d", n, replicas)
	case kind == "Pod" && serves && (another || !v.First && o.GetDeletionTimestamp() != nil):
		return "a replica came or went"
	case kind == "VariantAutoscaling" && scales(o, target) && another:
		return "it came or went"
	}
	return ""
}

// another reports whether this version created, deleted or replaced the object.
func (v Version) another(before *unstructured.Unstructured) bool {
	return !v.First && (before == nil || v.Gone || before.GetUID() != v.Object.GetUID())
}

// scalersOf returns the kinds and names of the scalers of a target.
func scalersOf(there map[string]*unstructured.Unstructured, target string) []string {
	found := []string{}
	for key, o := range there {
		if kind := o.GetKind(); (kind == "HorizontalPodAutoscaler" || kind == "ScaledObject") && scales(o, target) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

func scales(o *unstructured.Unstructured, target string) bool {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "name")
	return name == target
}
