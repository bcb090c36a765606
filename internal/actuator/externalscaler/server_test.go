package externalscaler_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate/certificatetest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// within is how long a test waits for what takes milliseconds.
const within = 20 * time.Second

// deployments are the targets of ScaledObjects, by namespace and name.
type deployments map[string]string

func (d deployments) ScaledObjectTarget(_ context.Context, namespace, name string) (kind, target string, ok bool) {
	target, ok = d[namespace+"/"+name]
	return "Deployment", target, ok
}

// statuses is what the status of resources says; "" of an error is none.
type statuses struct {
	mu     sync.Mutex
	values []external.Value
	err    error
	reads  int
}

func (s *statuses) Values(context.Context, string) ([]external.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.values, s.err
}

func (s *statuses) set(values []external.Value, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values, s.err = values, err
}

// decided is a decision on a variant of namespace prod, whose target has another name.
func decided(name string, desired, current scaling.Replicas) external.Value {
	return external.Value{
		Variant: scaling.VariantKey{Namespace: "prod", Name: name},
		Target:  scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name + "-target"},
		Desired: desired, Current: current, Observed: true,
	}
}

// server is a running Server.
type server struct {
	address string
	store   *external.Store
	status  *statuses
	stop    func() // returns when Run has
}

// start runs a server that knows ScaledObject prod/by-target, whose target is that of
// variant v. change changes its options.
func start(t *testing.T, change ...func(*externalscaler.Options)) *server {
	t.Helper()
	s := &server{store: &external.Store{}, status: &statuses{err: errors.New("the cache is not synced")}}
	opts := externalscaler.Options{
		BindAddress: "127.0.0.1:0", Log: logr.Discard(), Decisions: external.Source{Store: s.store, Fallback: s.status},
		Targets: deployments{"prod/by-target": "v-target", "prod/of-others": "other-target"},
	}
	for _, c := range change {
		c(&opts)
	}
	scaler, err := externalscaler.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.address = scaler.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- scaler.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// dial returns a client as KEDA is one, by default with unsafeSsl.
func (s *server) dial(t *testing.T, secure ...*tls.Config) wire.ExternalScalerClient {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if len(secure) > 0 {
		config = secure[0]
	}
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return wire.NewExternalScalerClient(conn)
}

// trigger is a trigger of ScaledObject so of namespace prod with metadata.
func trigger(so string, metadata ...string) *wire.ScaledObjectRef {
	ref := &wire.ScaledObjectRef{Name: so, Namespace: "prod", ScalerMetadata: map[string]string{"scalerAddress": "wva:9443", "enableTLS": "true"}}
	for i := 0; i < len(metadata); i += 2 {
		ref.ScalerMetadata[metadata[i]] = metadata[i+1]
	}
	return ref
}

// deadline is the context of a test's calls.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

func ask(ref *wire.ScaledObjectRef) *wire.GetMetricsRequest {
	return &wire.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "wva_desired_replicas"}
}

func TestKEDAReadsTheDecision(t *testing.T) {
	s := start(t)
	keda := s.dial(t)
	renamed := decided("renamed", 4, 4)
	renamed.ReadAs = "once"
	s.store.Fill([]external.Value{decided("v", 7, 3), decided("zero", 0, 1), renamed})
	for name, tt := range map[string]struct {
		ref  *wire.ScaledObjectRef
		want int
	}{
		"by the name of the variant":                {trigger("any", "variantName", "v"), 7},
		"by the target of the ScaledObject":         {trigger("by-target"), 7},
		"the name goes before the target":           {trigger("by-target", "variantName", "zero"), 0},
		"by another name that its scaler has":       {trigger("any", "variantName", "once"), 4},
		"its own namespace may be named":            {trigger("any", "variantName", "v", "namespace", "prod"), 7},
		"an empty name is none":                     {trigger("by-target", "variantName", ""), 7},
		"of a model and a cost nothing is asked":    {trigger("by-target", "modelID", "m", "variantCost", "10.0"), 7},
		"metadata that it does not know is no harm": {trigger("by-target", "team", "a"), 7},
	} {
		t.Run(name, func(t *testing.T) {
			specs, err := keda.GetMetricSpec(deadline(t), tt.ref)
			if err != nil || len(specs.GetMetricSpecs()) != 1 {
				t.Fatalf("metrics %v (%v), want one", specs, err)
			}
			if m := specs.GetMetricSpecs()[0]; m.GetMetricName() != "wva_desired_replicas" || m.GetTargetSize() != 1 || m.GetTargetSizeFloat() != 1 {
				t.Errorf("metric %v, want wva_desired_replicas with target 1", m)
			}
			values, err := keda.GetMetrics(deadline(t), ask(tt.ref))
			if err != nil || len(values.GetMetricValues()) != 1 {
				t.Fatalf("values %v (%v), want one", values, err)
			}
			if v := values.GetMetricValues()[0]; v.GetMetricName() != "wva_desired_replicas" || v.GetMetricValue() != int64(tt.want) || v.GetMetricValueFloat() != float64(tt.want) {
				t.Errorf("value %v, want %d", v, tt.want)
			}
			active, err := keda.IsActive(deadline(t), tt.ref)
			if err != nil || active.GetResult() != (tt.want > 0) {
				t.Errorf("active %v (%v), want %t", active, err, tt.want > 0)
			}
		})
	}
	s.store.Fill([]external.Value{decided("v", 9, 3)})
	if got, err := keda.GetMetrics(deadline(t), ask(trigger("by-target"))); err != nil || got.GetMetricValues()[0].GetMetricValueFloat() != 9 {
		t.Errorf("right after the next decision, 9: %v (%v)", got, err)
	}
}

func TestWhatIsNotKnownIsAnErrorAndNeverZero(t *testing.T) {
	s := start(t)
	keda := s.dial(t)
	refused := func(t *testing.T, ref *wire.ScaledObjectRef, want codes.Code, names ...string) {
		t.Helper()
		for _, err := range []error{
			second(keda.GetMetrics(deadline(t), ask(ref))), second(keda.IsActive(deadline(t), ref)),
		} {
			if got := status.Code(err); got != want {
				t.Errorf("%v: answered %v, want %s", ref, err, want)
			}
			for _, name := range names {
				if !strings.Contains(status.Convert(err).Message(), name) {
					t.Errorf("the message does not name %s: %v", name, err)
				}
			}
		}
	}
	t.Run("no decision since the start", func(t *testing.T) {
		refused(t, trigger("by-target"), codes.Unavailable, "the cache is not synced")
	})
	s.store.Fill([]external.Value{decided("v", 7, 3)})
	for name, tt := range map[string]struct {
		ref   *wire.ScaledObjectRef
		want  codes.Code
		names []string
	}{
		"a variant that there is not":      {trigger("by-target", "variantName", "w"), codes.NotFound, []string{"variant w", "prod", "by-target"}},
		"a target without a variant":       {trigger("of-others"), codes.NotFound, []string{"of-others", "Deployment other-target"}},
		"a ScaledObject that there is not": {trigger("gone"), codes.NotFound, []string{"ScaledObject gone", "variantName"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, tt.ref, tt.want, tt.names...)
			if _, err := keda.GetMetricSpec(deadline(t), tt.ref); err != nil {
				t.Errorf("KEDA counts errors for its fallback only where it knows the metric: %v", err)
			}
		})
	}
	for name, tt := range map[string]struct {
		ref  *wire.ScaledObjectRef
		want codes.Code
	}{
		"a variant of another namespace": {trigger("by-target", "variantName", "v", "namespace", "staging"), codes.PermissionDenied},
		"a ScaledObject without a name":  {trigger("", "variantName", "v"), codes.InvalidArgument},
		"no namespace":                   {&wire.ScaledObjectRef{Name: "by-target"}, codes.InvalidArgument},
		"nothing":                        {nil, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, tt.ref, tt.want)
			if _, err := keda.GetMetricSpec(deadline(t), tt.ref); status.Code(err) != tt.want {
				t.Errorf("GetMetricSpec: %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := keda.GetMetrics(deadline(t), &wire.GetMetricsRequest{ScaledObjectRef: trigger("by-target"), MetricName: "queue"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("another metric: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAManagerThatDoesNotLeadAnswersFromStatus(t *testing.T) {
	s := start(t)
	keda := s.dial(t)
	elsewhere := decided("v", 5, 1)
	elsewhere.Variant.Namespace = "staging"
	s.status.set([]external.Value{decided("v", 4, 1), decided("a", 2, 1), elsewhere}, nil)
	for range 50 {
		got, err := keda.GetMetrics(deadline(t), ask(trigger("any", "variantName", "v")))
		if err != nil || got.GetMetricValues()[0].GetMetricValueFloat() != 4 {
			t.Fatalf("%v (%v), want 4", got, err)
		}
	}
	if s.status.reads > 25 {
		t.Errorf("50 calls one after the other read the status %d times", s.status.reads)
	}
	s.store.Fill([]external.Value{decided("v", 6, 1)})
	if got, err := keda.GetMetrics(deadline(t), ask(trigger("any", "variantName", "v"))); err != nil || got.GetMetricValues()[0].GetMetricValueFloat() != 6 {
		t.Errorf("once it leads: %v (%v), want 6", got, err)
	}
	s.store.Clear()
	if got, err := keda.GetMetrics(deadline(t), ask(trigger("any", "variantName", "v"))); err != nil || got.GetMetricValues()[0].GetMetricValueFloat() != 4 {
		t.Errorf("when it leads no more: %v (%v), want 4", got, err)
	}
}

// listen opens a stream and returns a function that waits for its next message.
func listen(t *testing.T, keda wire.ExternalScalerClient, ref *wire.ScaledObjectRef) func() (bool, error) {
	t.Helper()
	stream, err := keda.StreamIsActive(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	return func() (bool, error) {
		got, err := stream.Recv()
		return got.GetResult(), err
	}
}

func TestActivationIsPushedWithinASecondOfTheDecision(t *testing.T) {
	for name, decide := range map[string]func(s *server, v external.Value){
		"by the manager that leads": func(s *server, v external.Value) { s.store.Fill([]external.Value{v}) },
		"by another":                func(s *server, v external.Value) { s.status.set([]external.Value{v}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			next := listen(t, s.dial(t), trigger("by-target"))
			// Nothing is known at first, so nothing is said: the first message is the decision.
			for _, desired := range []scaling.Replicas{0, 2, 0, 1} {
				begin := time.Now()
				decide(s, decided("v", desired, 0))
				for { // what is wanted and does not run is said again
					got, err := next()
					if err != nil {
						t.Fatal(err)
					}
					if got == (desired > 0) {
						break
					}
				}
				if took := time.Since(begin); took > time.Second {
					t.Errorf("%d replicas were decided, and pushed after %s", desired, took)
				}
			}
		})
	}
}

func TestAStreamSaysTheStateWhenItOpens(t *testing.T) {
	s := start(t)
	s.store.Fill([]external.Value{decided("v", 1, 1), decided("zero", 0, 0)})
	keda := s.dial(t)
	for variant, want := range map[string]bool{"v": true, "zero": false} {
		if got, err := listen(t, keda, trigger("any", "variantName", variant))(); err != nil || got != want {
			t.Errorf("%s: %t (%v), want %t", variant, got, err, want)
		}
	}
	specs, err := keda.StreamMetricSpec(deadline(t), trigger("by-target"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := specs.Recv()
	if err != nil || len(got.GetMetricSpecs()) != 1 || got.GetMetricSpecs()[0].GetTargetSizeFloat() != 1 {
		t.Errorf("specs %v (%v), want one with target 1", got, err)
	}
	if _, err := listen(t, keda, trigger("any", "namespace", "staging"))(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a stream about another namespace: %v", err)
	}
}

// TestTheMetricIsSentAgainEveryMinute: KEDA forgets it with any error of any trigger of the
// ScaledObject.
func TestTheMetricIsSentAgainEveryMinute(t *testing.T) {
	clk := testingclock.NewFakeClock(time.Now())
	s := start(t, func(o *externalscaler.Options) { o.Clock = clk })
	specs, err := s.dial(t).StreamMetricSpec(deadline(t), trigger("by-target"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := specs.Recv()
		if err != nil || len(got.GetMetricSpecs()) != 1 {
			t.Fatalf("specs %v (%v), want one", got, err)
		}
		clk.Step(time.Minute)
	}
}

func TestStreamsEndWithoutAnErrorWhenTheServerStops(t *testing.T) {
	s := start(t)
	s.store.Fill([]external.Value{decided("v", 1, 1)})
	keda := s.dial(t)
	next := listen(t, keda, trigger("by-target"))
	if _, err := next(); err != nil {
		t.Fatal(err)
	}
	specs, err := keda.StreamMetricSpec(deadline(t), trigger("by-target"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := specs.Recv(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s.stop()
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the server took %s to stop with idle streams", took)
	}
	if _, err := next(); !errors.Is(err, io.EOF) {
		t.Errorf("StreamIsActive ended with %v, want EOF: KEDA opens it again after 2 s only then", err)
	}
	if _, err := specs.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("StreamMetricSpec ended with %v, want EOF", err)
	}
}

func TestOnlyClientsOfTheAuthoritiesAreAnswered(t *testing.T) {
	ours, others := certificatetest.NewAuthority(t, "ours"), certificatetest.NewAuthority(t, "others")
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	ours.Write(t, ca)
	certFile, keyFile := certificatetest.WritePair(t, dir, ours.Issue(t, &x509.Certificate{}))
	s := start(t, func(o *externalscaler.Options) {
		o.CertFile, o.KeyFile, o.ClientAuthorities = certFile, keyFile, ca
	})
	s.store.Fill([]external.Value{decided("v", 3, 3)})
	as := func(a *certificatetest.Authority) *tls.Config {
		config := &tls.Config{RootCAs: ours.Pool(), MinVersion: tls.VersionTLS12}
		if a != nil {
			config.Certificates = []tls.Certificate{a.Issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "keda"}})}
		}
		return config
	}
	for name, who := range map[string]*certificatetest.Authority{"without a certificate": nil, "with one of others": others} {
		if got, err := s.dial(t, as(who)).IsActive(deadline(t), trigger("by-target")); err == nil {
			t.Errorf("a client %s is answered %v", name, got)
		}
	}
	keda := s.dial(t, as(ours))
	if _, err := keda.IsActive(deadline(t), trigger("by-target")); err != nil {
		t.Fatalf("a client of the authority: %v", err)
	}

	// The authority is replaced: the open connection is worth nothing any more.
	others.Write(t, ca)
	if _, err := keda.IsActive(deadline(t), trigger("by-target")); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a client of an authority that was taken away: %v, want Unauthenticated", err)
	}
	if _, err := listen(t, keda, trigger("by-target"))(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a stream of an authority that was taken away: %v, want Unauthenticated", err)
	}
	if _, err := s.dial(t, as(others)).IsActive(deadline(t), trigger("by-target")); err != nil {
		t.Errorf("a client of the new authority: %v", err)
	}
}

func TestAnOpenStreamEndsWhenItsClientIsNotLetInAnyMore(t *testing.T) {
	ours, others := certificatetest.NewAuthority(t, "ours"), certificatetest.NewAuthority(t, "others")
	ca := filepath.Join(t.TempDir(), "ca.crt")
	ours.Write(t, ca)
	clk := testingclock.NewFakeClock(time.Now())
	s := start(t, func(o *externalscaler.Options) { o.ClientAuthorities, o.Clock = ca, clk })
	s.store.Fill([]external.Value{decided("v", 1, 1)})
	next := listen(t, s.dial(t, &tls.Config{
		InsecureSkipVerify: true,
		Certificates:       []tls.Certificate{ours.Issue(t, &x509.Certificate{})},
	}), trigger("by-target"))
	if _, err := next(); err != nil {
		t.Fatal(err)
	}
	others.Write(t, ca)
	clk.Step(time.Minute)
	if got, err := next(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a minute after its authority was taken away: %t (%v), want Unauthenticated", got, err)
	}
}

func TestARotatedCertificateIsServedAndEndsNoStream(t *testing.T) {
	before, after := certificatetest.NewAuthority(t, "before"), certificatetest.NewAuthority(t, "after")
	dir := t.TempDir()
	certFile, keyFile := certificatetest.WritePair(t, dir, before.Issue(t, &x509.Certificate{}))
	s := start(t, func(o *externalscaler.Options) { o.CertFile, o.KeyFile = certFile, keyFile })
	s.store.Fill([]external.Value{decided("v", 0, 0)})
	trust := func(a *certificatetest.Authority) *tls.Config {
		return &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS12}
	}
	next := listen(t, s.dial(t, trust(before)), trigger("by-target"))
	if _, err := next(); err != nil {
		t.Fatal(err)
	}
	certificatetest.WritePair(t, dir, after.Issue(t, &x509.Certificate{}))
	for begin := time.Now(); ; {
		_, err := s.dial(t, trust(after)).IsActive(deadline(t), trigger("by-target"))
		if err == nil {
			break
		}
		if time.Since(begin) > within {
			t.Fatalf("the new certificate is not served: %v", err)
		}
	}
	s.store.Fill([]external.Value{decided("v", 1, 0)})
	if got, err := next(); err != nil || !got {
		t.Errorf("the stream that was open says %t (%v), want true", got, err)
	}
}

func TestAMessageIsBounded(t *testing.T) {
	s := start(t)
	s.store.Fill([]external.Value{decided("v", 1, 1)})
	keda := s.dial(t)
	if _, err := keda.IsActive(deadline(t), trigger("by-target", "notes", strings.Repeat("x", 32<<10))); err != nil {
		t.Errorf("32 KiB: %v", err)
	}
	if _, err := keda.IsActive(deadline(t), trigger("by-target", "notes", strings.Repeat("x", 128<<10))); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("128 KiB: %v, want ResourceExhausted", err)
	}
	if _, err := keda.IsActive(deadline(t), trigger("gone"+strings.Repeat("x", 32<<10))); len(err.Error()) > 1000 {
		t.Errorf("a name of 32 KiB makes an error of %d characters", len(err.Error()))
	}
}

func TestAServerThatCannotServeIsRefused(t *testing.T) {
	ok := externalscaler.Options{
		BindAddress: "127.0.0.1:0", Log: logr.Discard(), Decisions: external.Source{Store: &external.Store{}}, Targets: deployments{},
	}
	for name, change := range map[string]func(*externalscaler.Options){
		"no decisions":                   func(o *externalscaler.Options) { o.Decisions.Store = nil },
		"no targets":                     func(o *externalscaler.Options) { o.Targets = nil },
		"a certificate without a key":    func(o *externalscaler.Options) { o.CertFile = "tls.crt" },
		"authorities that are not there": func(o *externalscaler.Options) { o.ClientAuthorities = filepath.Join(t.TempDir(), "ca.crt") },
		"an address that is none":        func(o *externalscaler.Options) { o.BindAddress = "nowhere" },
	} {
		opts := ok
		change(&opts)
		if s, err := externalscaler.New(opts); err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
		}
	}
}
