package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// requestWithin limits one request: a healthy server answers in milliseconds.
const requestWithin = 5 * time.Second

// client speaks to the API server as its administrator, and to the other components over plain HTTP
// or with the cluster's certificates.
type client struct {
	http  *http.Client
	base  string
	token string
}

func newClient(l layout, base string) (*client, error) {
	ca, err := os.ReadFile(l.path("pki", "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("reading the cluster's CA: no certificate in %s", l.path("pki", "ca.crt"))
	}
	token, err := os.ReadFile(l.path("pki", "admin.token"))
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	return &client{http: &http.Client{Transport: transport, Timeout: requestWithin}, base: base, token: string(token)}, nil
}

// statusError is an answer other than success.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.code, e.body) }

// ok requests url and returns nil if the answer is a success.
func (c *client) ok(ctx context.Context, url string) error {
	_, err := c.do(ctx, http.MethodGet, url, nil)
	return err
}

func (c *client) list(ctx context.Context, path string, into any) error {
	body, err := c.do(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("listing %s: %w", path, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the list of %s: %w", path, err)
	}
	return nil
}

// create posts object. It succeeds, too, where an object of that name exists.
func (c *client) create(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding an object for %s: %w", path, err)
	}
	_, err = c.do(ctx, http.MethodPost, c.base+path, body)
	if status := (*statusError)(nil); errors.As(err, &status) && status.code == http.StatusConflict {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating in %s: %w", path, err)
	}
	return nil
}

func (c *client) do(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building a request: %w", err)
	}
	if strings.HasPrefix(url, c.base+"/") {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return nil, &statusError{response.StatusCode, strings.TrimSpace(string(answer))}
	}
	return answer, nil
}

// writeKubeconfig writes the administrator's kubeconfig for the API server at base.
func writeKubeconfig(l layout, base string) error {
	ca, err := os.ReadFile(l.path("pki", "ca.crt"))
	if err != nil {
		return fmt.Errorf("reading the cluster's CA: %w", err)
	}
	token, err := os.ReadFile(l.path("pki", "admin.token"))
	if err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: localcluster
clusters:
- name: localcluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user:
    token: %s
contexts:
- name: localcluster
  context:
    cluster: localcluster
    user: admin
`, base, base64.StdEncoding.EncodeToString(ca), token)
	if err := replace(l.path("kubeconfig"), []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}
