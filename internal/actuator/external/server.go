package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
)

// shutdownTimeout is how long requests under way may take after the server begins to stop.
const shutdownTimeout = 5 * time.Second

// connections bounds the open connections. All connections of an autoscaler come from the
// API servers, whose proxies hold some.
var connections = throttle.Connections{All: 256, PerAddress: 128}

// Options configures a Server.
type Options struct {
	BindAddress string // host:port; the port may be 0, the host empty
	// CertFile and KeyFile are PEM files, read again when they change. Without both, the server
	// signs its own certificate, which lives as long as the process.
	CertFile, KeyFile string
	// RESTConfig reaches the API server that authenticates and authorizes clients.
	RESTConfig *rest.Config
	Provider   *Provider
	Log        logr.Logger
	Clock      clock.WithTicker // the wall clock when nil
}

// Server serves the External Metrics API over TLS.
type Server struct {
	listener net.Listener
	http     *http.Server
	certs    *certificate.Served
	trust    *trust
	clock    clock.WithTicker
}

// New returns a Server that listens and does not answer before Run. A Server that is not
// run must be closed.
func New(opts Options) (*Server, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	routes, err := newAPI(opts.Provider)
	if err != nil {
		return nil, err
	}
	guard, err := newAccess(opts.RESTConfig, routes.codecs, opts.Clock, opts.Log)
	if err != nil {
		return nil, err
	}
	certs, err := certificate.New(opts.CertFile, opts.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("external metrics: %w", err)
	}
	s := &Server{trust: guard.trust, clock: opts.Clock, certs: certs}
	// HTTP/1.1 only: the aggregation layer speaks it, and there is nothing to
	// multiplex.
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler: routes.handler(guard.wrap),
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: certs.Get,
			// The authenticator asks for the certificate and verifies it, because the
			// authorities may change during a connection.
			ClientAuth: tls.RequestClientCert,
		},
		Protocols:         protocols,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      requestTimeout + 10*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10, // a token and the headers of a proxy
		// Failed handshakes are errors of the client.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(opts.Log), slog.LevelDebug),
	}
	// Listening does not block, so no context needs to end it.
	if s.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", opts.BindAddress); err != nil {
		return nil, fmt.Errorf("listening for external metrics: %w", err)
	}
	s.listener = throttle.Listen(s.listener, connections)
	return s, nil
}

// complete checks the options and fills in defaults.
func (o *Options) complete() error {
	switch {
	case o.Provider == nil:
		return errors.New("external metrics: no provider")
	case o.RESTConfig == nil:
		return errors.New("external metrics: no API server to delegate authentication to")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return errors.New("external metrics: a certificate file needs a key file and the other way round")
	}
	if _, _, err := net.SplitHostPort(o.BindAddress); err != nil {
		return fmt.Errorf("external metrics: bind address: %w", err)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return nil
}

// Addr returns the address that the server listens on, with the actual port.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening. Run does so itself.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the listener of external metrics: %w", err)
	}
	return nil
}

// Run answers requests until ctx ends, then gives requests under way five seconds, and
// returns nil when all its goroutines have ended. An error means that the server cannot
// serve. A Server runs once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.trust.refresh(ctx); err != nil {
		if ctx.Err() != nil {
			return s.Close()
		}
		return errors.Join(fmt.Errorf("starting external metrics: %w", err), s.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		s.trust.run(ctx, s.clock)
		return nil
	})
	group.Go(func() error {
		if err := s.certs.Run(ctx); err != nil {
			return fmt.Errorf("external metrics: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		err := s.http.ServeTLS(s.listener, "", "")
		if err != nil && !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving external metrics: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if err := s.http.Shutdown(bounded); err != nil {
			return errors.Join(fmt.Errorf("stopping external metrics: %w", err), s.http.Close())
		}
		return nil
	})
	return group.Wait()
}
