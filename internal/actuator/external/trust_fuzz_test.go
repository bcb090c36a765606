package external

import (
	"slices"
	"testing"

	"github.com/go-logr/logr"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// believed is the state of a trust.
type believed struct {
	users, proxy *authorities
	headers      *proxyHeaders
}

func (t *trust) believed() believed {
	return believed{t.users.current.Load(), t.proxy.current.Load(), t.headers.Load()}
}

// FuzzTrust reads arbitrary data of the ConfigMap of the API server's proxy: either all of
// it applies, or none.
func FuzzTrust(f *testing.F) {
	pem, _, err := cert.GenerateSelfSignedCertKey("ca", nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: "127.0.0.1:1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(pem), string(pem), `["X-Remote-User"]`, `["front-proxy-client"]`)
	f.Add(string(pem), "no PEM", `[]`, `null`)
	f.Add("", "", `{"a":1}`, `[1]`)
	f.Add("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "", ``, `["a", null]`)
	f.Fuzz(func(t *testing.T, users, proxy, username, names string) {
		trusts := newTrust(client, logr.Discard())
		if err := trusts.set(map[string]string{"client-ca-file": string(pem), "requestheader-username-headers": `["X-User"]`}); err != nil {
			t.Fatal(err)
		}
		before := trusts.believed()
		err := trusts.set(map[string]string{
			"client-ca-file": users, "requestheader-client-ca-file": proxy, "requestheader-username-headers": username, "requestheader-allowed-names": names,
		})
		after := trusts.believed()
		if err != nil {
			if after != before {
				t.Fatalf("%v, and something else is believed", err)
			}
			return
		}
		if (users == "") != (after.users.pool == nil) || (proxy == "") != (after.proxy.pool == nil) {
			t.Fatalf("users %t, proxy %t are believed", after.users.pool != nil, after.proxy.pool != nil)
		}
		if slices.Contains(after.headers.username, "") && username == "" {
			t.Fatal("a header without a name is believed")
		}
	})
}
