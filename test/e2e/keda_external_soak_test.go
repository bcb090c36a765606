//go:build e2e && soak

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scalerwire "github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate/certificatetest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// Each of so many models goes to zero and back so often.
const (
	pushed      = 8
	pushedTimes = 3
)

// Bounds of what is measured, from the decision on.
const (
	pushedWithin   = time.Second     // to the first replica, in the median
	pushedAtMost   = 4 * time.Second // and of 99 in 100: before KEDA would ask by itself, every 5 s
	answeredWithin = time.Second     // to the answer of the external scaler
	slack          = 2 * time.Second // of the HPA, which looks every hpaSync, on a busy machine
)

// TestReplicasFollowThroughTheExternalScaler has the real KEDA carry out the
// ScaledObjects of config/samples that read the external scaler.
func TestReplicasFollowThroughTheExternalScaler(t *testing.T) {
	const ns = "by-push"
	scaler := newScalerPort(t)
	withoutExternalMetrics(t, scaler.env()...)
	restartKEDA := startKEDA(t)
	scaler.showKEDA(t)

	moves, stays, rests := aside(ns, "moves"), aside(ns, "stays"), aside(ns, "rests")
	moves.Min, stays.Min, rests.Min = 2, 3, 0
	moves.Replicas, stays.Replicas, rests.Replicas = 2, 3, 0
	variants := []testbed.Variant{moves, stays, rests}
	retention := map[string]time.Duration{rests.ModelID: 5 * time.Second}
	var wake []testbed.Variant
	for n := range pushed {
		v := aside(ns, fmt.Sprintf("wakes-%d", n))
		v.Min = 0
		wake = append(wake, v)
		retention[v.ModelID] = 5 * time.Second
	}
	allowZero(t, retention, ns)
	scales := recordScales(t, ns)
	deploy(t, append(variants, wake...)...)
	pick(t, ns)
	for _, v := range []testbed.Variant{moves, stays} {
		scaler.scaledObject(t, "keda/scaledobject-external.yaml", ns, v.Name)
		condition(t, time.Minute, ns, v.Name, "ScalerFollowing", "True", "Following")
	}
	probeByDecision(t, ns, moves.Name, "served skipped")
	for _, v := range append(wake, rests) {
		scaler.scaledObject(t, "keda/scaledobject-external-zero.yaml", ns, v.Name)
	}

	t.Run("the first replica is pushed", func(t *testing.T) { measurePushes(t, scales, wake) })
	t.Run("every decision is answered at once and followed", func(t *testing.T) { measureAnswers(t, scaler, scales, moves) })
	t.Run("what fails for a while costs no replica", func(t *testing.T) {
		begun := time.Now()
		for i, fault := range []struct {
			name string
			do   func()
		}{
			{"KEDA is restarted", restartKEDA},
			{"the manager is restarted", func() { restartScraped(t, scaler.env()) }},
			{"the port has another certificate", func() { scaler.certify(t) }},
			{"another authority issues both certificates, and KEDA's is there first", func() {
				scaler.authority = certificatetest.NewAuthority(t, "the next")
				scaler.showKEDA(t)
				consistently(t, 2*hpaSync, func(context.Context) string { return lost(scales, begun) })
				scaler.certify(t)
				scaler.authority.Write(t, scaler.clientCA())
			}},
		} {
			t.Run(fault.name, func(t *testing.T) {
				fault.do()
				consistently(t, 30*time.Second, func(context.Context) string { return lost(scales, begun) })
				followsAgain(t, scales, moves, wake[i])
			})
		}
		for _, s := range scales.after(begun) {
			if s.name == stays.Name || s.name == rests.Name {
				t.Errorf("%s was told to have %d replicas at %s, and nothing else was decided", s.name, s.replicas, s.at.Format(time.TimeOnly))
			}
		}
	})
	t.Run("Prometheus goes on while the external scaler cannot be reached", func(t *testing.T) {
		restartKEDA() // whose streams show the certificate of before until then
		followsAgain(t, scales, moves, wake[len(wake)-1])
		restartScraped(t, nil)
		since := time.Now()
		bind(t, ns, moves.Name, 5)
		bind(t, ns, rests.Name, 1)
		up := scales.await(t, 2*time.Minute, moves.Name, 5, since)
		woken := scales.await(t, 2*time.Minute, rests.Name, 1, since)
		t.Logf("without it 2 to 5 after %s, 0 to 1 after %s", up.at.Sub(since).Round(time.Millisecond), woken.at.Sub(since).Round(time.Millisecond))
		bind(t, ns, moves.Name, 2)
		consistently(t, 4*hpaSync, func(context.Context) string { return scales.still(moves.Name, 5) })
		restartScraped(t, scaler.env())
		scales.await(t, 2*time.Minute, moves.Name, 2, up.at)
	})
}

// measurePushes has requests wake models that are at zero, and measures from the
// decision to the first replica.
func measurePushes(t *testing.T, scales *scaleLog, variants []testbed.Variant) {
	var mu sync.Mutex
	var fromDecision, fromRequest []time.Duration // guarded by mu
	t.Run("cycles", func(t *testing.T) {
		for _, v := range variants {
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				for range pushedTimes {
					eventually(t, 4*time.Minute, func(context.Context) string { return scales.still(v.Name, 0) })
					eventually(t, time.Minute, func(context.Context) string { return decisions(t, v.Namespace).still(v.Name, 0) })
					eventually(t, 10*time.Second, func(ctx context.Context) string { return emptied(ctx, v.Namespace, v.ModelID) })
					sent := time.Now()
					if got := ask(t.Context(), v.Namespace, v.ModelID); got.err != nil {
						t.Fatal(got.err)
					}
					up := scales.await(t, time.Second, v.Name, 1, sent)
					why, ok := decisions(t, v.Namespace).told(v.Name, 1, sent)
					if !ok {
						t.Fatalf("%s has a replica, and the log of the manager has no decision", v.Name)
					}
					mu.Lock()
					fromDecision, fromRequest = append(fromDecision, up.at.Sub(why.at)), append(fromRequest, up.at.Sub(sent))
					mu.Unlock()
				}
			})
		}
	})
	if len(fromDecision) != pushed*pushedTimes {
		t.Fatalf("%d of %d activations were completed", len(fromDecision), pushed*pushedTimes)
	}
	t.Logf("%d activations: from the decision to the first replica p50 %s, p99 %s; from the request p50 %s, p99 %s", len(fromDecision),
		quantile(fromDecision, 0.5), quantile(fromDecision, 0.99), quantile(fromRequest, 0.5), quantile(fromRequest, 0.99))
	if usual, slow := quantile(fromDecision, 0.5), quantile(fromDecision, 0.99); usual > pushedWithin || slow > pushedAtMost {
		t.Errorf("first replicas were told of %s after the decision, and at most %s; want %s and %s", usual, slow, pushedWithin, pushedAtMost)
	}
}

// measureAnswers changes the decision on a variant, and measures when the external scaler
// answers so and when the HPA follows.
func measureAnswers(t *testing.T, scaler *scalerPort, scales *scaleLog, v testbed.Variant) {
	answered := scaler.recordAnswers(t, v.Namespace, v.Name)
	var answers, grown, reduced []time.Duration
	before := int32(2)
	for _, n := range []int32{3, 6, 4, 7, 1, 5, 2, 4, 3, 8, 2} {
		since := time.Now()
		bind(t, v.Namespace, v.Name, n)
		answer, scale := answered.await(t, time.Minute, v.Name, n, since), scales.await(t, time.Minute, v.Name, n, since)
		decided, ok := decisions(t, v.Namespace).told(v.Name, n, since)
		if !ok {
			t.Fatalf("%s is to have %d replicas, and the log of the manager has no decision", v.Name, n)
		}
		answers = append(answers, answer.at.Sub(decided.at))
		followed := scale.at.Sub(decided.at)
		if n > before {
			grown = append(grown, followed)
		} else {
			reduced = append(reduced, followed)
		}
		before = n
	}
	t.Logf("%d decisions: answered p50 %s, at most %s; followed up p50 %s, at most %s; down p50 %s, at most %s", len(answers),
		quantile(answers, 0.5), slices.Max(answers).Round(time.Millisecond), quantile(grown, 0.5), slices.Max(grown).Round(time.Millisecond),
		quantile(reduced, 0.5), slices.Max(reduced).Round(time.Millisecond))
	if slow := slices.Max(answers); slow > answeredWithin {
		t.Errorf("the external scaler answered %s after a decision, want at most %s", slow, answeredWithin)
	}
	if slow := slices.Max(grown); slow > hpaSync+slack {
		t.Errorf("the HPA grew %s after a decision, want at most %s", slow, hpaSync+slack)
	}
	// The larger of both triggers is in force, and Prometheus has the decision later.
	if slow := slices.Max(reduced); slow > testbed.ScrapeInterval+hpaSync+slack {
		t.Errorf("the HPA reduced %s after a decision, want at most %s", slow, testbed.ScrapeInterval+hpaSync+slack)
	}
}

// lost says which Deployment was told to have fewer replicas than were decided, since a
// time, or returns "".
func lost(scales *scaleLog, since time.Time) string {
	decided := map[string]int32{"moves": 2, "stays": 3}
	for _, s := range scales.after(since) {
		if s.replicas < decided[s.name] {
			return fmt.Sprintf("%s was told to have %d replicas at %s", s.name, s.replicas, s.at.Format(time.TimeOnly))
		}
	}
	return ""
}

// followsAgain has one variant grow from two replicas and shrink, and a request wake
// another from zero: pushed, or found at KEDA's next look.
func followsAgain(t *testing.T, scales *scaleLog, moves, wakes testbed.Variant) {
	t.Helper()
	const look = 5 * time.Second // pollingInterval of the sample
	eventually(t, 4*time.Minute, func(context.Context) string { return scales.still(wakes.Name, 0) })
	eventually(t, 10*time.Second, func(ctx context.Context) string { return emptied(ctx, wakes.Namespace, wakes.ModelID) })
	sent := time.Now()
	if got := ask(t.Context(), wakes.Namespace, wakes.ModelID); got.err != nil {
		t.Fatal(got.err)
	}
	woken := scales.await(t, time.Second, wakes.Name, 1, sent).at.Sub(sent)
	since := time.Now()
	bind(t, moves.Namespace, moves.Name, 4)
	up := scales.await(t, time.Minute, moves.Name, 4, since)
	bind(t, moves.Namespace, moves.Name, 2)
	down := scales.await(t, time.Minute, moves.Name, 2, up.at)
	t.Logf("then 0 to 1 %s after the request, 2 to 4 after %s, and back after %s", woken.Round(time.Millisecond),
		up.at.Sub(since).Round(time.Millisecond), down.at.Sub(up.at).Round(time.Millisecond))
	if most := time.Second + look + slack; woken > most {
		t.Errorf("a first replica was told of %s after the request, want at most %s", woken, most)
	}
}

// restartScraped restarts the manager, with variables of its environment.
func restartScraped(t *testing.T, env []string) {
	t.Helper()
	restart(t, testbed.ManagerOptions{Interval: interval, NoExternalMetrics: true, Env: env})
	scrapeManagerAgain(t, "manager", "manager-again")
}

// decisions returns what the manager decided on the variants of a namespace so far, as its
// log says.
func decisions(t *testing.T, namespace string) *scaleLog {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shared.bed.Dir, "log", "manager.log"))
	if err != nil {
		t.Fatal(err)
	}
	l := &scaleLog{}
	for line := range bytes.Lines(text) {
		var said struct {
			Time                    time.Time
			Msg, Namespace, Variant string
			To                      int32
		}
		if err := json.Unmarshal(line, &said); err == nil && said.Msg == "decided" && said.Namespace == namespace { // the last may be half a line
			l.note(scaled{said.Time, said.Variant, said.To})
		}
	}
	return l
}

// scalerPort is the port of the manager's external scaler, with its certificates and
// those of KEDA.
type scalerPort struct {
	dir, address string
	authority    *certificatetest.Authority
}

func newScalerPort(t *testing.T) *scalerPort {
	t.Helper()
	p := &scalerPort{dir: t.TempDir(), address: loopback(ports(t, 1)[0]), authority: certificatetest.NewAuthority(t, "the first")}
	p.certify(t)
	p.authority.Write(t, p.clientCA())
	return p
}

func (p *scalerPort) clientCA() string { return filepath.Join(p.dir, "clients.crt") }

// certify gives the port a new certificate.
func (p *scalerPort) certify(t *testing.T) {
	t.Helper()
	certificatetest.WritePair(t, p.dir, p.authority.Issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "the port"}}))
}

// env is what switches the external scaler on.
func (p *scalerPort) env() []string {
	return []string{
		"EXTERNAL_SCALER_BIND_ADDRESS=" + p.address, "EXTERNAL_SCALER_CERT_PATH=" + p.dir, "EXTERNAL_SCALER_CLIENT_CA_PATH=" + p.clientCA(),
	}
}

// scaledObject applies a sample that reads the port.
func (p *scalerPort) scaledObject(t *testing.T, file, namespace, name string) {
	t.Helper()
	scaledObject(t, file, namespace, name, shared.bed.State.Prometheus,
		"workload-variant-autoscaler-external-scaler.workload-variant-autoscaler-system.svc:9443", p.address)
}

// showKEDA makes the Secret that the ClusterTriggerAuthentication of the samples names,
// with a new certificate.
func (p *scalerPort) showKEDA(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	certificatetest.WritePair(t, dir, p.authority.Issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "keda"}}))
	p.authority.Write(t, filepath.Join(dir, "ca.crt"))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: kedaNamespace, Name: "workload-variant-autoscaler-external-scaler-client"},
		Type:       corev1.SecretTypeTLS, Data: map[string][]byte{},
	}
	for _, file := range []string{"ca.crt", "tls.crt", "tls.key"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		secret.Data[file] = data
	}
	apply(t, secret)
}

// recordAnswers asks the port for a variant as KEDA does, until the test ends.
func (p *scalerPort) recordAnswers(t *testing.T, namespace, name string) *scaleLog {
	t.Helper()
	secure := &tls.Config{
		RootCAs: p.authority.Pool(), MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{p.authority.Issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "test"}})},
	}
	connection, err := grpc.NewClient(p.address, grpc.WithTransportCredentials(credentials.NewTLS(secure)))
	if err != nil {
		t.Fatal(err)
	}
	scaler := scalerwire.NewExternalScalerClient(connection)
	request := &scalerwire.GetMetricsRequest{
		MetricName:      "wva_desired_replicas",
		ScaledObjectRef: &scalerwire.ScaledObjectRef{Namespace: namespace, Name: name, ScalerMetadata: map[string]string{"variantName": name}},
	}
	l := &scaleLog{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			switch got, err := scaler.GetMetrics(ctx, request); {
			case err == nil:
				l.note(scaled{time.Now(), name, int32(got.GetMetricValues()[0].GetMetricValueFloat())})
			case ctx.Err() == nil:
				t.Errorf("asking the external scaler: %v", err)
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
		connection.Close()
	})
	return l
}
