package stock

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The kinds that are counted, in the plural.
const (
	kindNodes = "nodes"
	kindPods  = "pods"
)

// retryAfter is how long after a failure everything is listed again. A user who grants a missing
// permission should not wait for long.
const retryAfter = 5 * time.Second

// feedState is the state of the objects of one kind.
type feedState struct {
	listed bool
	failed error // why the last request was refused, nil if it was not
}

// fault says why the kind is unknown, "" when it is known.
func (f feedState) fault(kind string) string {
	switch {
	case f.failed != nil:
		return fmt.Sprintf("watching %s: %v; the manager's role must allow to list and watch them", kind, f.failed)
	case !f.listed:
		return fmt.Sprintf("the %s of the cluster have not been listed yet", kind)
	}
	return ""
}

// feed passes added, changed and deleted objects of one kind to the tally. It is a reflector's
// store that keeps no objects itself.
type feed[T client.Object] struct {
	stock   *Stock
	state   *feedState // guarded by the stock
	dropAll func(*tally)
	set     func(*tally, T)
	drop    func(*tally, T)
}

var _ clientcache.TransformingStore = feed[*corev1.Pod]{}

func newFeed[T client.Object](s *Stock, state *feedState, dropAll func(*tally), set, drop func(*tally, T)) feed[T] {
	return feed[T]{stock: s, state: state, dropAll: dropAll, set: set, drop: drop}
}

// run lists and watches the objects of a list, and begins again after every failure, until ctx
// ends.
func (f feed[T]) run(ctx context.Context, list client.ObjectList, which client.ListOptions) {
	source := f.stock.options.Client
	lw := &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			into, _ := list.DeepCopyObject().(client.ObjectList)
			which := which
			which.Raw, which.Limit, which.Continue = &o, o.Limit, o.Continue
			return into, f.note(ctx, source.List(ctx, into, &which))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			which := which
			which.Raw = &o
			w, err := source.Watch(ctx, list, &which)
			return w, f.note(ctx, err)
		},
	}
	var example T
	reflector := clientcache.NewReflectorWithOptions(clientcache.ToListWatcherWithWatchListSemantics(lw, source), example, f, clientcache.ReflectorOptions{})
	for ctx.Err() == nil {
		// Its errors are those of requests, which note has recorded, and the end of a watch, after
		// which everything is listed again.
		_ = reflector.ListAndWatchWithContext(ctx)
		select {
		case <-ctx.Done():
		case <-f.stock.options.Clock.After(retryAfter):
		}
	}
}

// note records the result of a request, and returns its error.
func (f feed[T]) note(ctx context.Context, err error) error {
	f.stock.mu.Lock()
	defer f.stock.mu.Unlock()
	if ctx.Err() == nil {
		f.state.failed = err
	}
	return err
}

// Add counts a new object.
func (f feed[T]) Add(object any) error { return f.change(object, f.set) }

// Update counts an object in its present state.
func (f feed[T]) Update(object any) error { return f.change(object, f.set) }

// Delete removes an object.
func (f feed[T]) Delete(object any) error { return f.change(object, f.drop) }

func (f feed[T]) change(object any, by func(*tally, T)) error {
	o, ok := object.(T)
	if !ok {
		return fmt.Errorf("counting accelerators: got a %T, want a %T", object, o)
	}
	f.stock.mu.Lock()
	defer f.stock.mu.Unlock()
	by(f.stock.tally, o)
	return nil
}

// Replace replaces all objects, and calls Learnt when the stock becomes known by that.
func (f feed[T]) Replace(objects []any, _ string) error {
	if f.replace(objects) && f.stock.options.Learnt != nil {
		f.stock.options.Learnt()
	}
	return nil
}

// replace reports whether the stock becomes known by it.
func (f feed[T]) replace(objects []any) bool {
	f.stock.mu.Lock()
	defer f.stock.mu.Unlock()
	f.dropAll(f.stock.tally)
	for _, object := range objects {
		if o, ok := object.(T); ok {
			f.set(f.stock.tally, o)
		}
	}
	first := !f.state.listed
	f.state.listed = true
	return first && f.stock.nodes.listed && f.stock.pods.listed
}

// Resync does nothing.
func (f feed[T]) Resync() error { return nil }

// Transformer returns a function that keeps the first list small while it arrives: of a pod that
// takes no accelerators only its identity stays.
func (f feed[T]) Transformer() clientcache.TransformFunc {
	return func(object any) (any, error) {
		p, ok := object.(*corev1.Pod)
		if !ok || len(portionsOf(&p.Spec, f.stock.vendors)) > 0 {
			return object, nil
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion}}, nil
	}
}
