package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// patience is how long the manager has for an answer.
const patience = 10 * time.Second

// largestExplanation bounds what is read of an answer, in bytes.
const largestExplanation = 32 << 20

// ask gets the explanation of a variant from the manager that leads.
func (f explainFlags) ask(ctx context.Context, config *rest.Config, c client.Reader, key client.ObjectKey) (explain.Explanation, error) {
	if f.manager != "" {
		roots, err := f.roots(config)
		if err != nil {
			return explain.Explanation{}, err
		}
		return get(ctx, config, f.manager, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, key)
	}
	to, err := findLeader(ctx, c, f.lease, time.Now())
	if err != nil {
		return explain.Explanation{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	address, err := forward(ctx, config, to)
	if err != nil {
		return explain.Explanation{}, err
	}
	trust, err := f.trustForwarded()
	if err != nil {
		return explain.Explanation{}, err
	}
	return get(ctx, config, address, trust, key)
}

// get asks the manager at an address, with the credentials of config.
func get(ctx context.Context, config *rest.Config, address string, trust *tls.Config, key client.ObjectKey) (explain.Explanation, error) {
	var e explain.Explanation
	credentials, err := config.TransportConfig()
	if err != nil {
		return e, fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	authenticated, err := transport.HTTPWrappersForConfig(credentials, &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust})
	if err != nil {
		return e, fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return e, fmt.Errorf("%w: --manager %q: %w", errUsage, address, err)
	}
	if base.Scheme != "https" && !loopback(base.Hostname()) {
		return e, fmt.Errorf("%w: --manager %s: want https://, since the token of the kubeconfig is sent there; plain http is for a forwarded port of 127.0.0.1 only", errUsage, base.Redacted())
	}
	from := strings.TrimSuffix(address, "/") + "/debug/decisions/" + key.Namespace + "/" + key.Name
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return e, fmt.Errorf("asking the manager: %w", err)
	}
	resp, err := (&http.Client{
		Timeout: patience, Transport: authenticated,
		// The credentials are added to each request, whomever a redirect names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do(req)
	if err != nil {
		return e, fmt.Errorf("asking the manager: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, largestExplanation))
	if err != nil {
		return e, fmt.Errorf("asking the manager: %w", err)
	}
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 {
		return e, fmt.Errorf("asking the manager: %s: it leads to %.300q, which is not sent the token; give the manager's own address", resp.Status, to)
	}
	if resp.StatusCode != http.StatusOK {
		return e, fmt.Errorf("asking the manager: %s: %.300s", resp.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("reading the manager's answer: %w", err)
	}
	return e, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// roots returns the CAs that the manager's certificate may be signed by.
func (f explainFlags) roots(config *rest.Config) (*x509.CertPool, error) {
	pem := config.CAData
	file := f.caFile
	if file == "" && len(pem) == 0 {
		file = config.CAFile
	}
	if file != "" {
		var err error
		if pem, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("reading the manager's CA: %w", err)
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(pem)
	return roots, nil
}
