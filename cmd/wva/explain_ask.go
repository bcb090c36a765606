package main

import (
	"cmp"
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

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is the longest time to wait for an answer of the manager.
const patience = 10 * time.Second

// largestExplanation bounds the bytes read of an answer.
const largestExplanation = 32 << 20

// managerFlags say which manager to ask, and about which namespace.
type managerFlags struct {
	kubeconfig, namespace string
	manager, caFile       string
	lease                 client.ObjectKey
}

func (f *managerFlags) register(flags *pflag.FlagSet) {
	f.registerManager(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace (default: that of the kubeconfig's context)")
}

// registerManager registers all flags except the namespace.
func (f *managerFlags) registerManager(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else the usual place)")
	flags.StringVar(&f.manager, "manager", os.Getenv("WVA_MANAGER"), "base URL of the manager's metrics port (default: WVA_MANAGER)")
	flags.StringVar(&f.caFile, "manager-ca", "", "file with the CA of the manager's certificate (default: the cluster's CA)")
	flags.StringVar(&f.lease.Namespace, "system-namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), defaultSystemNamespace), "namespace of the manager, where its lease is, by default that of POD_NAMESPACE")
	flags.StringVar(&f.lease.Name, "leader-election-id", leaderElectionID, "name of the lease of the manager that leads")
}

// connect reads the kubeconfig. It takes the namespace from there if no flag names one.
func (f *managerFlags) connect() (*rest.Config, client.Client, error) {
	restConfig, namespace, err := readKubeconfig(f.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	f.namespace = cmp.Or(f.namespace, namespace)
	c, err := newExplainClient(restConfig)
	return restConfig, c, err
}

// ask reads the answer of the leading manager to a path.
func (f managerFlags) ask(ctx context.Context, config *rest.Config, c client.Reader, path string, into any) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m, err := f.reach(ctx, config, c)
	if err != nil {
		return err
	}
	defer m.close()
	return m.get(ctx, path, into)
}

// reach connects to the leading manager until ctx ends. Close it after use.
func (f managerFlags) reach(ctx context.Context, config *rest.Config, c client.Reader) (*reached, error) {
	if f.manager != "" {
		roots, err := f.roots(config)
		if err != nil {
			return nil, err
		}
		return reachAt(config, f.manager, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	}
	to, err := findLeader(ctx, c, f.lease, time.Now())
	if err != nil {
		return nil, err
	}
	address, err := forward(ctx, config, to)
	if err != nil {
		return nil, err
	}
	trust, err := f.trustForwarded()
	if err != nil {
		return nil, err
	}
	m, err := reachAt(config, address, trust)
	if err == nil {
		m.name = to.String()
	}
	return m, err
}

// reached is a manager at an address. Requests carry the credentials of a kubeconfig. It is safe
// for concurrent use.
type reached struct {
	name    string // for messages
	address string // without a slash at the end
	client  *http.Client
	close   func() // closes the idle connections
}

// reachAt returns the manager at an address. It makes no request.
func reachAt(config *rest.Config, address string, trust *tls.Config) (*reached, error) {
	credentials, err := config.TransportConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: --manager %q: %w", errUsage, address, err)
	}
	if base.Scheme != "https" && !loopback(base.Hostname()) {
		return nil, fmt.Errorf("%w: --manager %s: want https://, since the token of the kubeconfig is sent there; plain http is for a forwarded port of 127.0.0.1 only", errUsage, base.Redacted())
	}
	connections := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust}
	authenticated, err := transport.HTTPWrappersForConfig(credentials, connections)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	return &reached{
		name: base.Redacted(), address: strings.TrimSuffix(address, "/"), close: connections.CloseIdleConnections,
		client: &http.Client{
			Timeout: patience, Transport: authenticated,
			// A redirect to any server would receive the credentials.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// refusal is an answer of the manager with an unexpected status.
type refusal struct {
	code           int    // the HTTP status
	status, reason string // the status in words, and the beginning of the answer
}

// Error returns both.
func (r *refusal) Error() string {
	return fmt.Sprintf("asking the manager: %s: %s", r.status, r.reason)
}

// StatusCode returns the status of the answer.
func (r *refusal) StatusCode() int { return r.code }

// messageIn returns the beginning of an answer that is an error: its text, or the member error of
// its JSON.
func messageIn(body []byte) string {
	var of struct {
		Error string `json:"error"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &of) == nil && of.Error != "" {
		text = of.Error
	}
	return fmt.Sprintf("%.300s", text)
}

// get reads a path. The error is a *refusal for another status than 200.
func (m *reached) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.address+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking the manager: %w", err)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return fmt.Errorf("asking the manager: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, largestExplanation))
	if err != nil {
		return fmt.Errorf("asking the manager: %w", err)
	}
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 {
		return fmt.Errorf("asking the manager: %s: it leads to %.300q, which is not sent the token; give the manager's own address", resp.Status, to)
	}
	if resp.StatusCode != http.StatusOK {
		return &refusal{resp.StatusCode, resp.Status, messageIn(body)}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the manager's answer: %w", err)
	}
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// roots returns the CAs that may have signed the manager's certificate.
func (f managerFlags) roots(config *rest.Config) (*x509.CertPool, error) {
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
