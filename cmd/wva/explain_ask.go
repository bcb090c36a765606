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

// patience is how long the manager has for an answer.
const patience = 10 * time.Second

// largestExplanation bounds what is read of an answer, in bytes.
const largestExplanation = 32 << 20

// managerFlags say which manager is asked, and of which namespace.
type managerFlags struct {
	kubeconfig, namespace string
	manager, caFile       string
	lease                 client.ObjectKey
}

func (f *managerFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else the usual place)")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace (default: that of the kubeconfig's context)")
	flags.StringVar(&f.manager, "manager", os.Getenv("WVA_MANAGER"), "base URL of the manager's metrics port (default: WVA_MANAGER)")
	flags.StringVar(&f.caFile, "manager-ca", "", "file with the CA of the manager's certificate (default: the cluster's CA)")
	flags.StringVar(&f.lease.Namespace, "system-namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), defaultSystemNamespace), "namespace of the manager, where its lease is, by default that of POD_NAMESPACE")
	flags.StringVar(&f.lease.Name, "leader-election-id", leaderElectionID, "name of the lease of the manager that leads")
}

// connect reads the kubeconfig, and from it the namespace where no flag names one.
func (f *managerFlags) connect() (*rest.Config, client.Client, error) {
	restConfig, namespace, err := readKubeconfig(f.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	f.namespace = cmp.Or(f.namespace, namespace)
	c, err := newExplainClient(restConfig)
	return restConfig, c, err
}

// ask gets the decisions below a path from the manager that leads.
func (f managerFlags) ask(ctx context.Context, config *rest.Config, c client.Reader, path string, into any) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asks, err := f.reach(ctx, config, c)
	if err != nil {
		return err
	}
	return asks(path, into)
}

// reach returns what gets the decisions below paths from the manager that leads, until ctx ends.
func (f managerFlags) reach(ctx context.Context, config *rest.Config, c client.Reader) (func(path string, into any) error, error) {
	at := func(address string, trust *tls.Config) func(string, any) error {
		return func(path string, into any) error { return get(ctx, config, address, trust, path, into) }
	}
	if f.manager != "" {
		roots, err := f.roots(config)
		if err != nil {
			return nil, err
		}
		return at(f.manager, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), nil
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
	return at(address, trust), nil
}

// get asks the manager at an address, with the credentials of config.
func get(ctx context.Context, config *rest.Config, address string, trust *tls.Config, path string, into any) error {
	credentials, err := config.TransportConfig()
	if err != nil {
		return fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	authenticated, err := transport.HTTPWrappersForConfig(credentials, &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust})
	if err != nil {
		return fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%w: --manager %q: %w", errUsage, address, err)
	}
	if base.Scheme != "https" && !loopback(base.Hostname()) {
		return fmt.Errorf("%w: --manager %s: want https://, since the token of the kubeconfig is sent there; plain http is for a forwarded port of 127.0.0.1 only", errUsage, base.Redacted())
	}
	from := strings.TrimSuffix(address, "/") + "/debug/decisions" + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking the manager: %w", err)
	}
	resp, err := (&http.Client{
		Timeout: patience, Transport: authenticated,
		// The credentials are added to each request, whomever a redirect names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do(req)
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
		return fmt.Errorf("asking the manager: %s: %.300s", resp.Status, strings.TrimSpace(string(body)))
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

// roots returns the CAs that the manager's certificate may be signed by.
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
