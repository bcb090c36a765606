package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

const externalAPI = "/apis/external.metrics.k8s.io/v1beta1"

// external is a server of one External metric, as an aggregated API server would
// be behind the Service external-metrics in the namespace default.
type external struct {
	wanted atomic.Int64
	port   int
}

// serveExternal serves until the end of the test, with a certificate of the
// cluster's CA for the name that the API server asks for.
func serveExternal(t *testing.T, state *State) *external {
	t.Helper()
	e := &external{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+externalAPI, func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []object{{
			"name": "wanted_replicas", "namespaced": true, "kind": "ExternalMetricValueList", "verbs": []string{"get"},
		}}})
	})
	mux.HandleFunc("GET "+externalAPI+"/namespaces/{namespace}/wanted_replicas", func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, object{"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": object{}, "items": []object{{
			"metricName": "wanted_replicas", "metricLabels": object{}, "timestamp": time.Now().UTC().Format(time.RFC3339),
			"value": strconv.FormatInt(e.wanted.Load(), 10),
		}}})
	})
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{issue(t, state, "external-metrics.default.svc")}}
	server.StartTLS()
	t.Cleanup(server.Close)
	e.port = server.Listener.Addr().(*net.TCPAddr).Port
	return e
}

func answer(t *testing.T, w http.ResponseWriter, body object) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		t.Log("answering the API server:", err)
	}
}

// issue signs a serving certificate with the CA that the state names, as a user of
// the cluster would.
func issue(t *testing.T, state *State, name string) tls.Certificate {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(state.CACert, state.CAKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
