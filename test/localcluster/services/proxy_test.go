package services

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// world is what a proxy under test sees of a cluster.
type world struct {
	*proxy
	t                *testing.T
	services, slices cache.Indexer
	ended            chan struct{}
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, ended: make(chan struct{}),
		services: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		slices:   cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
	}
	w.proxy = newProxy(
		corelisters.NewServiceLister(w.services), discoverylisters.NewEndpointSliceLister(w.slices),
		slog.New(slog.NewTextHandler(t.Output(), nil)),
	)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { w.run(ctx); close(w.ended) }()
	t.Cleanup(func() { cancel(); <-w.ended })
	return w
}

// service sets the Service, of a cluster address.
func (w *world) service(address string, port int32) {
	w.set(w.services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"},
		Spec:       corev1.ServiceSpec{ClusterIP: address, Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: port}}},
	})
}

// endpoints sets the Service's pods: whether the one at an address is ready.
func (w *world) endpoints(port int32, ready map[string]bool) {
	name, slice := "http", &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "a", Name: "s-1", Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	slice.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port}}
	for address, is := range ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{published(address)}, Conditions: discoveryv1.EndpointConditions{Ready: &is},
		})
	}
	w.set(w.slices, slice)
}

func (w *world) set(in cache.Indexer, object any) {
	w.t.Helper()
	if err := in.Update(object); err != nil {
		w.t.Fatal(err)
	}
	w.handler().OnAdd(object, false)
}

// serve answers every connection to an address with its host, and returns the port.
func serve(t *testing.T, address string) int32 {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("no second loopback address:", err)
	}
	t.Cleanup(func() { listener.Close() })
	host, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, host)
			c.Close()
		}
	}()
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// answers waits until connections to an address reach each of the hosts and no other
// else; without hosts, until connections are refused or end at once.
func answers(t *testing.T, address string, hosts ...string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		got := map[string]int{}
		for range 2 * max(1, len(hosts)) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				continue
			}
			host, _ := io.ReadAll(c)
			c.Close()
			if len(host) > 0 {
				got[string(host)]++
			}
		}
		right := len(got) == len(hosts)
		for _, host := range hosts {
			right = right && got[host] == 2
		}
		if right {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s is answered by %v, want two each of %v", address, got, hosts)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestConnectionsGoToReadyPodsInTurn(t *testing.T) {
	const first, second, third = "127.88.2.1", "127.88.2.2", "127.88.2.3"
	port := serve(t, first+":0")
	serve(t, hostPort(second, port))
	serve(t, hostPort(third, port))
	w := newWorld(t)
	w.service("127.88.0.9", port)
	at := hostPort("127.88.0.9", port)
	w.endpoints(port, map[string]bool{first: true, second: true, third: false})
	answers(t, at, first, second)
	w.endpoints(port, map[string]bool{first: false, second: true, third: true})
	answers(t, at, second, third)
	w.endpoints(port, map[string]bool{"127.88.2.4": true, third: true})
	answers(t, at, third) // where no server answers, the next one is tried
	w.endpoints(port, nil)
	answers(t, at)
	w.service("127.88.0.10", port)
	w.endpoints(port, map[string]bool{first: true})
	answers(t, hostPort("127.88.0.10", port), first)
	if c, err := net.Dial("tcp", at); err == nil {
		c.Close()
		t.Errorf("%s is listened on, which is no Service's any more", at)
	}
}

func TestServicesWithoutAnAddressOfThisMachineAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	for _, address := range []string{"", corev1.ClusterIPNone, "10.96.0.9"} {
		w.service(address, 8080)
		if got := w.wanted(); len(got) != 0 {
			t.Errorf("address %q: got %v, want nothing", address, got)
		}
	}
}
