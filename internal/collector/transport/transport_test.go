package transport

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAnAnswerHasAtMost64KiBOfHeaders(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := map[string]int{"/some": 32 << 10, "/many": 128 << 10}[r.URL.Path]
		w.Header().Set("X-Long", strings.Repeat("x", size))
	}))
	defer server.Close()
	trip, err := New(Files{}, func(*tls.Config) *http.Transport { return &http.Transport{} })
	if err != nil {
		t.Fatal(err)
	}
	defer trip.CloseIdleConnections()
	for path, refused := range map[string]bool{"/some": false, "/many": true} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := trip.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err != nil) != refused {
			t.Errorf("GET %s: error %v, want one: %v", path, err, refused)
		}
	}
}
