package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/access"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// off is the bind address of a server that does not run.
const off = "0"

// Every pod of the cluster can connect to the ports. These limits bound the cost of one connection;
// connections bounds their number.
const (
	maxHeaders = 16 << 10 // bytes; a token and the headers of a proxy
	// stopWithin is how long requests in progress may take once the manager ends.
	stopWithin = 5 * time.Second
)

// connections bounds the connections of one port: about 64 kB each with TLS.
var connections = throttle.Connections{All: 128, PerAddress: 32}

// servePorts adds the servers of both ports to mgr. They start before its caches.
func servePorts(mgr manager.Manager, o *config.Operator, ready map[string]healthz.Checker, debug debugged) error {
	probes := probeServer(map[string]healthz.Checker{"healthz": healthz.Ping}, ready)
	if err := listen(mgr, "probes", o.HealthProbeBindAddress, probes, nil); err != nil {
		return err
	}
	return serveMetrics(mgr, o, debug)
}

// listen adds a server to mgr that listens from now on. secure is its TLS, nil for none. The
// address off or "" adds nothing.
func listen(mgr manager.Manager, name, address string, server *http.Server, secure *tls.Config) error {
	if address == off || address == "" {
		return nil
	}
	// Binding does not wait, so no context needs to end it.
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for %s: %w", name, err)
	}
	l = throttle.Listen(l, connections)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	// A failed handshake or an early close is a fault of the client.
	server.ErrorLog = slog.NewLogLogger(logr.ToSlogHandler(mgr.GetLogger()), slog.LevelDebug)
	within := stopWithin
	if err := mgr.Add(&manager.Server{Name: name, Server: server, Listener: l, ShutdownTimeout: &within}); err != nil {
		return fmt.Errorf("serving %s: %w", name, err)
	}
	return nil
}

// probeServer returns the server of /healthz and /readyz. A kubelet opens a new connection for each
// probe.
func probeServer(alive, ready map[string]healthz.Checker) *http.Server {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": alive, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return &http.Server{
		Handler: mux, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: time.Second,
	}
}

// serveMetrics adds the server of /metrics and the debug paths to mgr.
func serveMetrics(mgr manager.Manager, o *config.Operator, debug debugged) error {
	if o.MetricsBindAddress == off || o.MetricsBindAddress == "" {
		return nil
	}
	var who *access.Access
	var secure *tls.Config
	if o.MetricsSecure {
		var err error
		if who, err = access.New(mgr.GetConfig(), mgr.GetHTTPClient(), clock.RealClock{}, mgr.GetLogger()); err != nil {
			return fmt.Errorf("building who may read the metrics port: %w", err)
		}
		if secure, err = metricsTLS(mgr, o); err != nil {
			return err
		}
	}
	metrics := promhttp.HandlerFor(ctrlmetrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	return listen(mgr, "metrics", o.MetricsBindAddress, metricsServer(metrics, debug, who), secure)
}

// cachePath shows the collector's cache (verb get, for authorization) and empties it (delete).
const cachePath = "/debug/cache"

// debugged are the sources of the debug paths.
type debugged struct {
	memory  web.Memory
	around  web.Surroundings
	cycles  web.Cycles
	history web.Histories
	measure http.Handler // the collector's cache
}

// metricsServer returns the server of the metrics port. who authorizes clients; nil admits every
// client.
func metricsServer(metrics http.Handler, debug debugged, who *access.Access) *http.Server {
	known, byURL := func(h http.Handler) http.Handler { return h }, func(h http.Handler) http.Handler { return h }
	var readers web.Readers
	if who != nil {
		known, byURL, readers = who.Known, who.URL, who
	}
	mux := http.NewServeMux()
	mux.Handle("/", byURL(http.NotFoundHandler()))
	mux.Handle("/metrics", byURL(metrics))
	mux.Handle(cachePath, byURL(debug.measure))
	decisions := web.Decisions(debug.memory, debug.around, readers)
	mux.Handle(web.DecisionsPath, decisions)
	mux.Handle(web.DecisionsPath+"/", decisions)
	mux.Handle(web.CyclePattern, web.Cycle(debug.cycles, readers))
	past := web.History(debug.history, readers)
	for _, path := range []string{web.FleetPath, web.HistoryPath, web.ReplicasPath} {
		mux.Handle(path, past)
		mux.Handle(path+"/", past)
	}
	return &http.Server{
		Handler: known(mux), MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: 90 * time.Second,
	}
}

// metricsTLS returns the TLS of the metrics port: with a certificate that follows its file if there
// is one, else with a self-signed one.
func metricsTLS(mgr manager.Manager, o *config.Operator) (*tls.Config, error) {
	// HTTP/2 is off unless asked for: HTTP/2 servers were open to stream cancellation attacks
	// (CVE-2023-44487, CVE-2023-39325).
	secure := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if o.EnableHTTP2 {
		secure.NextProtos = []string{"h2", "http/1.1"}
	}
	var certFile, keyFile string
	if o.MetricsCertPath != "" {
		certFile, keyFile = filepath.Join(o.MetricsCertPath, o.MetricsCertName), filepath.Join(o.MetricsCertPath, o.MetricsCertKey)
	}
	served, err := certificate.New(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("the metrics port: %w", err)
	}
	secure.GetCertificate = served.Get
	if err := mgr.Add(everywhere{served}); err != nil {
		return nil, fmt.Errorf("watching the certificate of the metrics port: %w", err)
	}
	return secure, nil
}
