package external_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

const (
	group       = "/apis/external.metrics.k8s.io"
	version     = group + "/v1beta1"
	replicasURL = version + "/namespaces/prod/wva_desired_replicas"
)

// apiServer answers the reviews: the token "good" is user "hpa", who may list
// in namespace prod only; "proxied" may too.
type apiServer struct {
	*httptest.Server
	trust     atomic.Pointer[map[string]string] // data of the ConfigMap, nil for none
	forbidden atomic.Bool                       // the ConfigMap may not be read
	tokens    atomic.Int64                      // token reviews
}

func newAPIServer(t *testing.T, trust map[string]string) *apiServer {
	t.Helper()
	s := &apiServer{}
	if trust != nil {
		s.trust.Store(&trust)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		s.tokens.Add(1)
		var review authenticationv1.TokenReview
		decode(t, r.Body, &review)
		if review.Spec.Token == "good" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "hpa"}}
		}
		reply(t, w, http.StatusCreated, review)
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		decode(t, r.Body, &review)
		what := review.Spec.ResourceAttributes
		known := review.Spec.User == "hpa" || review.Spec.User == "proxied"
		review.Status.Allowed = known && (what == nil || what.Verb == "list" &&
			what.Group == "external.metrics.k8s.io" && what.Namespace == "prod")
		reply(t, w, http.StatusCreated, review)
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case s.forbidden.Load():
			reply(t, w, http.StatusForbidden, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			})
		case s.trust.Load() == nil:
			reply(t, w, http.StatusNotFound, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			})
		default:
			reply(t, w, http.StatusOK, corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: *s.trust.Load(),
			})
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func decode(t *testing.T, from io.Reader, into any) {
	t.Helper()
	if err := json.NewDecoder(from).Decode(into); err != nil {
		t.Errorf("decoding: %v", err)
	}
}

func reply(t *testing.T, w http.ResponseWriter, code int, object any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		t.Errorf("encoding: %v", err)
	}
}

// config reaches the API server in JSON, which is what it speaks.
func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// serve runs a Server and returns its URL. It checks that the Server ends with its context.
func serve(t *testing.T, opts external.Options) string {
	t.Helper()
	opts.BindAddress = "127.0.0.1:0"
	if opts.Provider == nil {
		opts.Provider = external.NewProvider(external.ProviderOptions{Store: newStore()})
	}
	s, err := external.New(opts)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
			t.Error("the server still listens after Run")
		}
	})
	return "https://" + s.Addr().String()
}

// caller is an HTTP client with a token or a client certificate.
type caller struct {
	token   string
	cert    *tls.Certificate
	headers map[string]string
}

// get returns status and body.
func (c caller) get(t *testing.T, url string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if c.cert != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*c.cert}
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for k, v := range c.headers {
		req.Header.Set(k, v)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return resp.StatusCode, string(body)
}

func TestServerDelegatesAccess(t *testing.T) {
	url := serve(t, external.Options{RESTConfig: newAPIServer(t, nil).config()})
	tests := []struct {
		name, token, path string
		want              int
	}{
		{"without token", "", replicasURL, http.StatusUnauthorized},
		{"unknown token", "bad", replicasURL, http.StatusUnauthorized},
		{"discovery without token", "", version, http.StatusUnauthorized},
		{"denied namespace", "good", version + "/namespaces/test/wva_desired_replicas", http.StatusForbidden},
		{"allowed", "good", replicasURL, http.StatusOK},
		{"unknown metric", "good", version + "/namespaces/prod/wva_none", http.StatusNotFound},
		{"unknown path", "good", "/openapi/v2", http.StatusNotFound},
		{"invalid selector", "good", replicasURL + "?labelSelector=%3D%3D", http.StatusBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, body := (caller{token: tt.token}).get(t, url+tt.path); got != tt.want {
				t.Errorf("status: got %d, want %d: %s", got, tt.want, body)
			}
		})
	}
}

func TestServerAnswersAnAutoscaler(t *testing.T) {
	url := serve(t, external.Options{RESTConfig: newAPIServer(t, nil).config()})
	code, body := (caller{token: "good"}).get(t, url+replicasURL+
		"?labelSelector=target_name%3Dllama-a100-decode%2Ctarget_kind%3DDeployment")
	if code != http.StatusOK {
		t.Fatalf("status: got %d: %s", code, body)
	}
	var got v1beta1.ExternalMetricValueList
	decode(t, strings.NewReader(body), &got)
	if got.Kind != "ExternalMetricValueList" || got.APIVersion != "external.metrics.k8s.io/v1beta1" {
		t.Errorf("type: got %s %s", got.APIVersion, got.Kind)
	}
	if len(got.Items) != 1 {
		t.Fatalf("got %d items, want 1: %s", len(got.Items), body)
	}
	item := got.Items[0]
	want := map[string]string{
		"variant_name": "llama-a100", "target_name": "llama-a100-decode", "target_kind": "Deployment",
		"namespace": "prod", "exported_namespace": "prod", "accelerator_type": "A100",
	}
	if diff := cmp.Diff(want, item.MetricLabels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if item.MetricName != metrics.DesiredReplicas || item.Value.Value() != 4 || !item.Timestamp.Time.Equal(start) {
		t.Errorf("item: got %s = %s at %s", item.MetricName, item.Value.String(), item.Timestamp)
	}
}

func TestServerIsDiscovered(t *testing.T) {
	url := serve(t, external.Options{RESTConfig: newAPIServer(t, nil).config()})
	get := func(path string, into any) {
		code, body := (caller{token: "good"}).get(t, url+path)
		if code != http.StatusOK {
			t.Fatalf("GET %s: got %d: %s", path, code, body)
		}
		decode(t, strings.NewReader(body), into)
	}
	var resources metav1.APIResourceList
	get(version, &resources)
	got := map[string]string{}
	for _, r := range resources.APIResources {
		if !r.Namespaced {
			t.Errorf("%s is not namespaced", r.Name)
		}
		got[r.Name] = r.Kind
	}
	want := map[string]string{
		metrics.DesiredReplicas: "ExternalMetricValueList",
		metrics.DesiredRatio:    "ExternalMetricValueList",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	var described metav1.APIGroup
	get(group, &described)
	if described.PreferredVersion.GroupVersion != "external.metrics.k8s.io/v1beta1" {
		t.Errorf("group: got preferred version %q", described.PreferredVersion.GroupVersion)
	}
	var groups metav1.APIGroupList
	get("/apis", &groups)
	if len(groups.Groups) != 1 || groups.Groups[0].Name != "external.metrics.k8s.io" {
		t.Errorf("groups: got %+v", groups.Groups)
	}
}

// TestAggregatedDiscoveryIsRefused: the aggregation layer asks for a format that is not
// served, and falls back to the other one after the refusal.
func TestAggregatedDiscoveryIsRefused(t *testing.T) {
	url := serve(t, external.Options{RESTConfig: newAPIServer(t, nil).config()})
	c := caller{token: "good", headers: map[string]string{
		"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
	}}
	if code, body := c.get(t, url+"/apis"); code != http.StatusNotAcceptable {
		t.Errorf("status: got %d, want %d: %s", code, http.StatusNotAcceptable, body)
	}
}

func TestServerBelievesTheProxyAlone(t *testing.T) {
	proxyCA, userCA, otherCA := newAuthority(t, "proxy"), newAuthority(t, "users"), newAuthority(t, "other")
	url := serve(t, external.Options{RESTConfig: newAPIServer(t, map[string]string{
		"client-ca-file":                     userCA.pem,
		"requestheader-client-ca-file":       proxyCA.pem,
		"requestheader-allowed-names":        `["front-proxy-client"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}).config()})
	as := map[string]string{"X-Remote-User": "proxied"}
	tests := []struct {
		name    string
		cert    *tls.Certificate
		headers map[string]string
		want    int
	}{
		{"proxy", proxyCA.issue(t, "front-proxy-client"), as, http.StatusOK},
		{"proxy without a user", proxyCA.issue(t, "front-proxy-client"), nil, http.StatusUnauthorized},
		{"proxy under another name", proxyCA.issue(t, "someone"), as, http.StatusUnauthorized},
		{"signed by another", otherCA.issue(t, "front-proxy-client"), as, http.StatusUnauthorized},
		{"no certificate", nil, as, http.StatusUnauthorized},
		{"user", userCA.issue(t, "hpa"), nil, http.StatusOK},
		{"user who is denied", userCA.issue(t, "mallory"), as, http.StatusForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := caller{cert: tt.cert, headers: tt.headers}
			if got, body := c.get(t, url+replicasURL); got != tt.want {
				t.Errorf("status: got %d, want %d: %s", got, tt.want, body)
			}
		})
	}
}

// TestAnAddressWithTokensThatAreNoneIsNotReviewed: requests of the API server's proxy,
// which has a certificate, are still served from the same address.
func TestAnAddressWithTokensThatAreNoneIsNotReviewed(t *testing.T) {
	proxyCA, otherCA := newAuthority(t, "proxy"), newAuthority(t, "other")
	api := newAPIServer(t, map[string]string{
		"requestheader-client-ca-file": proxyCA.pem, "requestheader-allowed-names": `["front-proxy-client"]`, "requestheader-username-headers": `["X-Remote-User"]`,
	})
	clk := clocktesting.NewFakeClock(start)
	url := serve(t, external.Options{RESTConfig: api.config(), Clock: clk})
	got := map[int]int{}
	for i := range 60 {
		c := caller{token: fmt.Sprintf("guess-%d", i)}
		if i%2 == 1 {
			c.cert = otherCA.issue(t, "front-proxy-client")
		}
		status, _ := c.get(t, url+replicasURL)
		got[status]++
	}
	if diff := cmp.Diff(map[int]int{http.StatusUnauthorized: 20, http.StatusTooManyRequests: 40}, got); diff != "" {
		t.Errorf("answers to 60 tokens that are none, by status (-want +got):\n%s", diff)
	}
	if n := api.tokens.Load(); n != 20 {
		t.Errorf("the API server was asked for %d token reviews, want 20", n)
	}
	proxy := caller{cert: proxyCA.issue(t, "front-proxy-client"), headers: map[string]string{"X-Remote-User": "proxied"}}
	if status, body := proxy.get(t, url+replicasURL); status != http.StatusOK {
		t.Errorf("the API server's proxy is answered %d, want 200: %s", status, body)
	}
	clk.Step(time.Second)
	if status, _ := (caller{token: "good"}).get(t, url+replicasURL); status != http.StatusOK {
		t.Errorf("a second later a token that is one is answered %d, want 200", status)
	}
}

func TestTrustIsReadAgain(t *testing.T) {
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	api := newAPIServer(t, map[string]string{"client-ca-file": before.pem})
	clk := clocktesting.NewFakeClock(start)
	url := serve(t, external.Options{RESTConfig: api.config(), Clock: clk})
	hpa := caller{cert: after.issue(t, "hpa")}
	if got, body := hpa.get(t, url+replicasURL); got != http.StatusUnauthorized {
		t.Fatalf("before the change: got status %d: %s", got, body)
	}
	data := map[string]string{"client-ca-file": after.pem}
	api.trust.Store(&data)
	deadline := time.Now().Add(30 * time.Second)
	for {
		clk.Step(time.Minute)
		if got, _ := hpa.get(t, url+replicasURL); got == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the new authority is not believed")
		}
	}
	// A ConfigMap that cannot be read or parsed leaves the previous authorities.
	broken := map[string]string{"client-ca-file": "no PEM"}
	api.trust.Store(&broken)
	for range 3 {
		clk.Step(time.Minute)
		if got, body := hpa.get(t, url+replicasURL); got != http.StatusOK {
			t.Errorf("after a broken change: got status %d: %s", got, body)
		}
	}
}

func TestRunNamesTheMissingPermission(t *testing.T) {
	api := newAPIServer(t, nil)
	api.forbidden.Store(true)
	s, err := external.New(external.Options{
		BindAddress: "127.0.0.1:0",
		RESTConfig:  api.config(),
		Provider:    external.NewProvider(external.ProviderOptions{Store: newStore()}),
	})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "extension-apiserver-authentication-reader") {
		t.Errorf("Run: got %v, want an error that names the Role", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close after Run: %v", err)
	}
}

func TestCertificateIsReadAgain(t *testing.T) {
	ca, dir := newAuthority(t, "serving"), t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	ca.write(t, "first", certFile, keyFile)
	url := serve(t, external.Options{
		RESTConfig: newAPIServer(t, nil).config(),
		CertFile:   certFile, KeyFile: keyFile,
	})
	if got := servingName(t, url); got != "first" {
		t.Fatalf("certificate: got %q, want first", got)
	}
	ca.write(t, "second", certFile, keyFile)
	deadline := time.Now().Add(30 * time.Second)
	for servingName(t, url) != "second" {
		if time.Now().After(deadline) {
			t.Fatal("the new certificate was not read")
		}
	}
}

// servingName returns the name in the certificate that a server presents.
func servingName(t *testing.T, url string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatalf("dialling: %v", err)
	}
	name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	if err := conn.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	return name
}

func TestOptionsAreChecked(t *testing.T) {
	p := external.NewProvider(external.ProviderOptions{Store: newStore()})
	tests := []struct {
		name string
		opts external.Options
	}{
		{"no provider", external.Options{BindAddress: "127.0.0.1:0", RESTConfig: &rest.Config{}}},
		{"no API server", external.Options{BindAddress: "127.0.0.1:0", Provider: p}},
		{"no port", external.Options{BindAddress: "127.0.0.1", RESTConfig: &rest.Config{}, Provider: p}},
		{"certificate without key", external.Options{BindAddress: "127.0.0.1:0", RESTConfig: &rest.Config{}, Provider: p, CertFile: "a"}},
		{"certificate missing", external.Options{BindAddress: "127.0.0.1:0", RESTConfig: &rest.Config{}, Provider: p, CertFile: "a", KeyFile: "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := external.New(tt.opts); err == nil {
				t.Errorf("no error; closing: %v", s.Close())
			}
		})
	}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	der, a.key = a.sign(t, template)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatalf("parsing: %v", err)
	}
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

// sign returns a certificate with its key; signed by itself while a is new.
func (a *authority) sign(t *testing.T, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("key: %v", err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatalf("signing: %v", err)
	}
	return der, key
}

// issue returns a certificate for name, good for both ends of a connection.
func (a *authority) issue(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	der, key := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// write puts a certificate for name and its key into files.
func (a *authority) write(t *testing.T, name, certFile, keyFile string) {
	t.Helper()
	pair := a.issue(t, name)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatalf("key: %v", err)
	}
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatalf("writing: %v", err)
		}
	}
}
