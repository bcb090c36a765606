package services

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/forward"
)

const (
	// retry is the time until the next attempt to listen on an address.
	retry = 5 * time.Second
	// dialWithin limits the time in which a pod accepts a connection.
	dialWithin = time.Second
)

// errNoBackend says that no pod is ready, or that no ready pod answers.
var errNoBackend = errors.New("no pod answers")

// proxy listens on the addresses of Services and passes connections on.
type proxy struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	logger   *slog.Logger
	changed  chan struct{} // holds one value while something has changed

	group sync.WaitGroup // of listeners and connections
	// ports holds the listeners by address, and refused the addresses on which listening failed and
	// which have been logged. Only run uses them.
	ports   map[string]*port
	refused map[string]bool
}

// port is a port of a Service on which the proxy listens.
type port struct {
	listener net.Listener

	mu       sync.Mutex
	backends []string // addresses of ready pods, in order
	turn     int      // counts connections; the next backend is turn modulo their number
}

func newProxy(services corelisters.ServiceLister, endpoints discoverylisters.EndpointSliceLister, logger *slog.Logger) *proxy {
	return &proxy{services: services, slices: endpoints, logger: logger, changed: make(chan struct{}, 1), ports: map[string]*port{}, refused: map[string]bool{}}
}

// handler returns a handler that notes every change.
func (p *proxy) handler() cache.ResourceEventHandler {
	note := func() {
		select {
		case p.changed <- struct{}{}:
		default: // noted already
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: func(any) { note() }, UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() }}
}

// run follows Services and their endpoints until ctx ends, and ends every
// connection before it returns.
func (p *proxy) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer p.group.Wait()
	defer cancel()
	for {
		var again <-chan time.Time
		if !p.sync(ctx) {
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-p.changed:
		}
	}
}

// sync listens on the addresses wanted and closes all others. It reports whether it could.
func (p *proxy) sync(ctx context.Context) bool {
	wanted := p.wanted()
	for address, old := range p.ports {
		if _, stays := wanted[address]; !stays {
			old.listener.Close()
			delete(p.ports, address)
		}
	}
	complete := true
	for _, address := range slices.Sorted(maps.Keys(wanted)) {
		open := p.ports[address]
		if open == nil {
			listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
			if err != nil {
				if !p.refused[address] {
					p.logger.Error("listening for a Service", "err", err)
				}
				p.refused[address], complete = true, false
				continue
			}
			delete(p.refused, address)
			open = &port{listener: listener}
			p.ports[address] = open
			p.group.Go(func() { p.accept(ctx, open) })
		}
		open.mu.Lock()
		open.backends = wanted[address]
		open.mu.Unlock()
	}
	return complete
}

// wanted returns the addresses of ready pods by the address of a Service's port, for Services with
// an address of this machine.
func (p *proxy) wanted() map[string][]string {
	list, err := p.services.List(labels.Everything())
	if err != nil {
		return nil // a lister of a cache has no errors
	}
	wanted := map[string][]string{}
	for _, service := range list {
		ip, err := netip.ParseAddr(service.Spec.ClusterIP)
		if err != nil || !ip.IsLoopback() {
			continue // it has none, or one that is not ours
		}
		for _, of := range service.Spec.Ports {
			if of.Protocol == corev1.ProtocolTCP {
				wanted[hostPort(service.Spec.ClusterIP, of.Port)] = p.backends(service, of.Name)
			}
		}
	}
	return wanted
}

// backends returns the addresses of the pods that are ready for a port of a Service.
func (p *proxy) backends(service *corev1.Service, port string) []string {
	list, err := p.slices.EndpointSlices(service.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}))
	if err != nil {
		return nil // a lister of a cache has no errors
	}
	var backends []string
	for _, slice := range list {
		at := slices.IndexFunc(slice.Ports, func(of discoveryv1.EndpointPort) bool { return of.Name != nil && *of.Name == port && of.Port != nil })
		if at < 0 || slice.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				backends = append(backends, hostPort(reachable(e.Addresses[0]), *slice.Ports[at].Port))
			}
		}
	}
	slices.Sort(backends)
	return backends
}

func hostPort(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

// accept accepts connections until the listener or ctx ends.
func (p *proxy) accept(ctx context.Context, from *port) {
	defer context.AfterFunc(ctx, func() { from.listener.Close() })()
	for {
		client, err := from.listener.Accept()
		if err != nil {
			return // it was closed
		}
		p.group.Go(func() {
			server, err := from.dial(ctx)
			if err != nil {
				client.Close()
				return
			}
			forward.Join(ctx, client, server)
		})
	}
}

// dial connects to the pod whose turn it is, or to the next that answers.
func (f *port) dial(ctx context.Context) (net.Conn, error) {
	f.mu.Lock()
	backends, turn := f.backends, f.turn
	f.turn++
	f.mu.Unlock()
	dialer := net.Dialer{Timeout: dialWithin}
	for i := range backends {
		if server, err := dialer.DialContext(ctx, "tcp", backends[(turn+i)%len(backends)]); err == nil {
			return server, nil
		}
	}
	return nil, errNoBackend
}
