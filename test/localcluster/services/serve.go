package services

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
)

// Options configures Serve. All are required.
type Options struct {
	Kubeconfig string // path
	Logger     *slog.Logger
}

// Defaults of the controller manager.
const (
	endpointsPerSlice = 100
	workers           = 5
)

// Serve keeps endpoints and passes connections on until ctx ends.
func Serve(ctx context.Context, o Options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core, slices := factory.Core().V1(), factory.Discovery().V1().EndpointSlices()
	if err := core.Pods().Informer().SetTransform(publish); err != nil {
		return fmt.Errorf("preparing to watch pods: %w", err)
	}
	sliceController := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), slices, endpointsPerSlice, client, 0)
	endpointController := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), client, 0)
	p := newProxy(core.Services().Lister(), slices.Lister(), o.Logger)
	for _, informer := range []cache.SharedIndexInformer{core.Services().Informer(), slices.Informer()} {
		if _, err := informer.AddEventHandler(p.handler()); err != nil {
			return fmt.Errorf("preparing to watch Services: %w", err)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var group sync.WaitGroup
	group.Go(func() { sliceController.Run(ctx, workers) })
	group.Go(func() { endpointController.Run(ctx, workers) })
	group.Go(func() { p.run(ctx) })
	group.Wait()
	return nil
}

// publish replaces the addresses of a pod by their published forms.
func publish(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.Status.PodIP = published(pod.Status.PodIP)
	for i := range pod.Status.PodIPs {
		pod.Status.PodIPs[i].IP = published(pod.Status.PodIPs[i].IP)
	}
	return pod, nil
}
