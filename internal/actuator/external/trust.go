package external

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
)

// The API server publishes in this ConfigMap which certificate authorities it trusts
// (https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer).
const (
	trustNamespace = "kube-system"
	trustConfigMap = "extension-apiserver-authentication"
	trustRole      = "extension-apiserver-authentication-reader"
)

// trustRefresh is how often the ConfigMap is read again: as often as the API server's
// libraries read such files.
const trustRefresh = time.Minute

// trust is the set of trusted client certificates: those of users, which contain the user
// name, and that of the API server's proxy, which sends the user name in a header. One get
// per minute replaces two informers on one small object.
type trust struct {
	configMaps typedcorev1.ConfigMapInterface
	users      bundle
	proxy      bundle
	headers    atomic.Pointer[proxyHeaders]
	log        logr.Logger
}

// proxyHeaders are the request headers in which the proxy names the user, and
// the names under which it presents itself; no names means any.
type proxyHeaders struct {
	username, uid, group, extraPrefix, allowedNames []string
}

// newTrust returns a trust that accepts no certificate until it is refreshed.
func newTrust(client typedcorev1.CoreV1Interface, log logr.Logger) *trust {
	t := &trust{
		configMaps: client.ConfigMaps(trustNamespace),
		users:      bundle{name: "client-ca-file"},
		proxy:      bundle{name: "requestheader-client-ca-file"},
		log:        log,
	}
	t.headers.Store(&proxyHeaders{})
	return t
}

// run keeps the trust current until ctx ends. After a failed read the previous authorities
// stay.
func (t *trust) run(ctx context.Context, clk clock.WithTicker) {
	ticker := clk.NewTicker(trustRefresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := t.refresh(ctx); err != nil && ctx.Err() == nil {
				t.log.Error(err, "authentication of the API server's proxy was not refreshed")
			}
		}
	}
}

// refresh reads the ConfigMap. A cluster without it, or without one of its keys, has no
// such clients; tokens are still reviewed.
func (t *trust) refresh(ctx context.Context) error {
	cm, err := t.configMaps.Get(ctx, trustConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		cm = &corev1.ConfigMap{}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("reading ConfigMap %s/%s (bind the service account to the Role %s there): %w",
			trustNamespace, trustConfigMap, trustRole, err)
	case err != nil:
		return fmt.Errorf("reading ConfigMap %s/%s: %w", trustNamespace, trustConfigMap, err)
	}
	return t.set(cm.Data)
}

// set uses the authorities in the data of the ConfigMap. If any part cannot be read, all
// previous authorities stay.
func (t *trust) set(data map[string]string) error {
	headers, err := parseHeaders(data)
	if err != nil {
		return err
	}
	users, err := t.users.parse(data[t.users.name])
	if err != nil {
		return err
	}
	proxy, err := t.proxy.parse(data[t.proxy.name])
	if err != nil {
		return err
	}
	t.users.current.Store(users)
	t.proxy.current.Store(proxy)
	t.headers.Store(headers)
	return nil
}

// parseHeaders reads the lists, each a JSON array of strings or absent.
func parseHeaders(data map[string]string) (*proxyHeaders, error) {
	h := &proxyHeaders{}
	for key, into := range map[string]*[]string{
		"requestheader-username-headers":     &h.username,
		"requestheader-uid-headers":          &h.uid,
		"requestheader-group-headers":        &h.group,
		"requestheader-extra-headers-prefix": &h.extraPrefix,
		"requestheader-allowed-names":        &h.allowedNames,
	} {
		if data[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(data[key]), into); err != nil {
			return nil, fmt.Errorf("reading %s of ConfigMap %s/%s: %w", key, trustNamespace, trustConfigMap, err)
		}
	}
	return h, nil
}

// requestHeaders returns the trust in the proxy in the form that the
// authenticator takes; it follows every refresh.
func (t *trust) requestHeaders() *authenticatorfactory.RequestHeaderConfig {
	list := func(of func(*proxyHeaders) []string) headerrequest.StringSliceProvider {
		return headerrequest.StringSliceProviderFunc(func() []string { return of(t.headers.Load()) })
	}
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   &t.proxy,
		UsernameHeaders:     list(func(h *proxyHeaders) []string { return h.username }),
		UIDHeaders:          list(func(h *proxyHeaders) []string { return h.uid }),
		GroupHeaders:        list(func(h *proxyHeaders) []string { return h.group }),
		ExtraHeaderPrefixes: list(func(h *proxyHeaders) []string { return h.extraPrefix }),
		AllowedClientNames:  list(func(h *proxyHeaders) []string { return h.allowedNames }),
	}
}

// hasTrustedCertificate reports whether a request has a certificate of the API server's proxy or of
// a user that a trusted authority signed. Such a request needs no token review.
func (t *trust) hasTrustedCertificate(r *http.Request) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	for _, b := range []*bundle{&t.proxy, &t.users} {
		options, ok := b.VerifyOptions()
		if !ok {
			continue
		}
		options.Intermediates = x509.NewCertPool()
		for _, c := range r.TLS.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		if _, err := r.TLS.PeerCertificates[0].Verify(options); err == nil {
			return true
		}
	}
	return false
}

// bundle is a set of certificate authorities that may be replaced. The zero bundle trusts
// no certificate.
type bundle struct {
	name    string // the key in the ConfigMap
	current atomic.Pointer[authorities]
}

// authorities are PEM blocks and the pool made of them, nil for none.
type authorities struct {
	pem  string
	pool *x509.CertPool
}

var _ dynamiccertificates.CAContentProvider = (*bundle)(nil)

// parse returns the authorities in PEM blocks, without a pool for "". It returns the present
// authorities if the blocks have not changed.
func (b *bundle) parse(pem string) (*authorities, error) {
	if pem == "" {
		return &authorities{}, nil
	}
	if now := b.current.Load(); now != nil && now.pem == pem {
		return now, nil
	}
	pool, err := cert.NewPoolFromBytes([]byte(pem))
	if err != nil {
		return nil, fmt.Errorf("reading %s of ConfigMap %s/%s: %w", b.name, trustNamespace, trustConfigMap, err)
	}
	return &authorities{pem: pem, pool: pool}, nil
}

// Name returns the key of the ConfigMap that holds the authorities.
func (b *bundle) Name() string { return b.name }

// CurrentCABundleContent returns the PEM blocks, nil when there are none.
func (b *bundle) CurrentCABundleContent() []byte {
	if now := b.current.Load(); now != nil && now.pool != nil {
		return []byte(now.pem)
	}
	return nil
}

// VerifyOptions returns the options for verifying a client certificate, and false while there are
// no authorities.
func (b *bundle) VerifyOptions() (x509.VerifyOptions, bool) {
	now := b.current.Load()
	if now == nil || now.pool == nil {
		return x509.VerifyOptions{}, false
	}
	return x509.VerifyOptions{Roots: now.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
}

// AddListener does nothing: every caller reads the present authorities.
func (b *bundle) AddListener(dynamiccertificates.Listener) {}
