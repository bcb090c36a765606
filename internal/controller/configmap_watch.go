package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// longestSync bounds the first listing of all ConfigMaps. If it takes longer, the manager is not
// allowed to list them, or no API server answers.
const longestSync = 2 * time.Minute

// ConfigMapWatch watches the ConfigMaps that have one of a few names, in every namespace. No
// selector takes several names, so each name has its own watch: other ConfigMaps are never sent
// here.
type ConfigMapWatch struct {
	caches  []cache.Cache
	running sync.WaitGroup
}

var _ ConfigMaps = (*ConfigMapWatch)(nil)

// NewConfigMapWatch returns a ConfigMapWatch. newCache builds a cache with the given options; only
// Start starts it. namespaces restricts the watch, nil for all.
func NewConfigMapWatch(newCache func(cache.Options) (cache.Cache, error), names, namespaces []string) (*ConfigMapWatch, error) {
	w := &ConfigMapWatch{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		options := cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", name)}},
		}
		for _, namespace := range namespaces {
			if options.DefaultNamespaces == nil {
				options.DefaultNamespaces = map[string]cache.Config{}
			}
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
		c, err := newCache(options)
		if err != nil {
			return nil, fmt.Errorf("building the cache of ConfigMaps named %s: %w", name, err)
		}
		w.caches = append(w.caches, c)
	}
	return w, nil
}

// Start watches until ctx ends, and returns once it has seen every existing ConfigMap. It calls
// changed for each of these and for each later change, from several goroutines at once; changed
// must not block.
func (w *ConfigMapWatch) Start(ctx context.Context, changed func(ConfigMapChange)) error {
	for _, c := range w.caches {
		w.running.Go(func() { _ = c.Start(ctx) }) // ends with ctx, without an error
	}
	syncing, cancel := context.WithTimeout(ctx, longestSync)
	defer cancel()
	// All at once: each waits by polling, twice 100 ms.
	group, syncing := errgroup.WithContext(syncing)
	for _, c := range w.caches {
		group.Go(func() error { return follow(syncing, c, changed) })
	}
	return group.Wait()
}

// follow calls changed for each change in a cache, and returns once it has done so for every
// existing ConfigMap.
func follow(ctx context.Context, c cache.Cache, changed func(ConfigMapChange)) error {
	informer, err := c.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps: %w", err)
	}
	registration, err := informer.AddEventHandler(handleConfigMaps(changed))
	if err != nil {
		return fmt.Errorf("watching ConfigMaps: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return errors.New("watching ConfigMaps: the first look has not ended; may they be listed and watched?")
	}
	return nil
}

// Wait returns when the context of Start has ended and no cache runs any more.
func (w *ConfigMapWatch) Wait() { w.running.Wait() }

// All returns every ConfigMap, which the caller must not modify.
func (w *ConfigMapWatch) All(ctx context.Context) ([]corev1.ConfigMap, error) {
	var all []corev1.ConfigMap
	for _, c := range w.caches {
		var list corev1.ConfigMapList
		if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing ConfigMaps: %w", err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// handleConfigMaps returns the handler that calls changed.
func handleConfigMaps(changed func(ConfigMapChange)) toolscache.ResourceEventHandler {
	tell := func(object any, trigger string) {
		if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if m, ok := object.(*corev1.ConfigMap); ok {
			changed(ConfigMapChange{Key: client.ObjectKeyFromObject(m), Trigger: trigger})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell(object, "created") },
		UpdateFunc: func(_, object any) { tell(object, "updated") },
		DeleteFunc: func(object any) { tell(object, "deleted") },
	}
}
