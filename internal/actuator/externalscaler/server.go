package externalscaler

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
)

// shutdownTimeout is how long calls under way may take after the server begins to stop.
const shutdownTimeout = 5 * time.Second

// Limits for clients. KEDA holds one connection for all triggers of one address and certificate,
// and two streams on it for each trigger of type external-push.
const (
	maxStreamsOfCaller = 4096     // streams that one caller holds open
	maxStreams         = 8192     // streams that are open in all
	maxCalls           = 5000     // calls and streams at one time on one connection
	maxMessage         = 64 << 10 // bytes; a trigger and its metadata have a few hundred
	maxHeaders         = 16 << 10 // bytes
	window             = 64 << 10 // bytes that a client may send ahead, on a stream and on a connection
)

// connections limits the open connections.
var connections = throttle.Connections{All: 64, PerAddress: 16}

// Targets returns the targets of ScaledObjects.
type Targets interface {
	// ScaledObjectTarget returns the kind and the name of the target of a ScaledObject, and false
	// where they are unknown.
	ScaledObjectTarget(ctx context.Context, namespace, name string) (kind, target string, ok bool)
}

// Options configures a Server.
type Options struct {
	BindAddress string // host:port; the port may be 0, the host empty
	// CertFile and KeyFile are PEM files, read again when they change. Without both, the server
	// signs its own certificate, which lives as long as the process.
	CertFile, KeyFile string
	// ClientAuthorities is the PEM file of the authorities whose clients may ask, read again
	// when it changes. "" lets every client ask.
	ClientAuthorities string
	Decisions         external.Source
	Targets           Targets
	Log               logr.Logger
	Clock             clock.WithTicker // the wall clock when nil
}

// Server serves decisions to KEDA over TLS.
type Server struct {
	listener net.Listener
	grpc     *grpc.Server
	certs    *certificate.Served
	service  *service
	log      logr.Logger
}

// New returns a Server that listens and does not answer before Run. A Server that is not
// run must be closed.
func New(opts Options) (*Server, error) {
	if opts.Decisions.Store == nil || opts.Targets == nil {
		return nil, errors.New("external scaler: no decisions, or no targets")
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	certs, err := certificate.New(opts.CertFile, opts.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("external scaler: %w", err)
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certs.Get}
	var who *certificate.Authorities
	if opts.ClientAuthorities != "" {
		if who, err = certificate.ReadAuthorities(opts.ClientAuthorities); err != nil {
			return nil, fmt.Errorf("external scaler: %w", err)
		}
		secure.ClientAuth = tls.RequireAnyClientCert
		secure.VerifyConnection = func(state tls.ConnectionState) error {
			return who.Verify(state.PeerCertificates, opts.Clock.Now())
		}
	}
	s := &Server{certs: certs, log: opts.Log, service: newService(opts, who)}
	s.grpc = grpc.NewServer(
		grpc.Creds(credentials.NewTLS(secure)),
		grpc.ConnectionTimeout(10*time.Second), // of the handshake
		grpc.MaxConcurrentStreams(maxCalls), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders),
		// Without these the windows grow with the rate at which a client sends.
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		// The streams of a client that is gone end within 40 s.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.service.admit), grpc.StreamInterceptor(s.service.admitStream),
		grpc.WaitForHandlers(true),
	)
	wire.RegisterExternalScalerServer(s.grpc, s.service)
	// Listening does not block, so no context needs to end it.
	if s.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", opts.BindAddress); err != nil {
		return nil, fmt.Errorf("listening for the external scaler: %w", err)
	}
	s.listener = throttle.Listen(s.listener, connections)
	return s, nil
}

// Addr returns the address that the server listens on, with the actual port.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening. Run does so itself.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the listener of the external scaler: %w", err)
	}
	return nil
}

// Run answers calls until ctx ends. Then it ends all streams without an error, because only then
// KEDA opens them again after 2 s. It gives calls under way five seconds, and returns nil when all
// its goroutines have ended. A Server runs once.
func (s *Server) Run(ctx context.Context) error {
	s.log.Info("serving decisions to KEDA as an external scaler", "address", s.Addr().String(), "clients", s.service.clients())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.certs.Run(ctx); err != nil {
			return fmt.Errorf("external scaler: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		s.service.watch(ctx)
		return nil
	})
	group.Go(func() error {
		if err := s.grpc.Serve(s.listener); err != nil {
			return fmt.Errorf("serving the external scaler: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.stop()
		return nil
	})
	return group.Wait()
}

// stop ends all streams, and waits shutdownTimeout for calls under way.
func (s *Server) stop() {
	close(s.service.stopping)
	late := time.AfterFunc(shutdownTimeout, s.grpc.Stop)
	defer late.Stop()
	s.grpc.GracefulStop()
}
