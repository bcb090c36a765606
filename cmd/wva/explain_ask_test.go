package main

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

func TestTheTokenIsSentToTheManagerAlone(t *testing.T) {
	var seen []string
	note := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte("{}"))
	})
	plain, secure := httptest.NewServer(note), httptest.NewTLSServer(note)
	defer plain.Close()
	defer secure.Close()
	leading := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusTemporaryRedirect))
	defer leading.Close()
	for _, tt := range []struct {
		name, address string
		sent          bool
		err           string // the beginning, "" for none
	}{
		{"https", secure.URL, true, ""},
		{"a forwarded port", plain.URL, true, ""},
		{"http elsewhere", "http://manager.example:8080", false, "usage: --manager http://manager.example:8080: want https://"},
		{"no scheme", "manager.example:8443", false, "usage: --manager "},
		{"a redirect", leading.URL, false, "asking the manager: 307 Temporary Redirect: it leads to "},
	} {
		seen = nil
		var e explain.Explanation
		m, err := reachAt(&rest.Config{BearerToken: "secret"}, tt.address, &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			err = m.get(t.Context(), "/debug/decisions/ns/v", &e)
			m.close()
		}
		if sent := len(seen) > 0 && seen[0] == "Bearer secret"; sent != tt.sent {
			t.Errorf("%s: the token is sent: %t (%q), want %t", tt.name, sent, seen, tt.sent)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%s: the error is %v, want %q", tt.name, err, tt.err)
		}
	}
}
