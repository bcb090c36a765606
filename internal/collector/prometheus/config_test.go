package prometheus_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		config prometheus.Config
		want   string // "" when accepted
	}{
		{"https", prometheus.Config{URL: "https://p:9090"}, ""},
		{"http", prometheus.Config{URL: "http://p:9090"}, "HTTPS is required - URL must use https:// scheme: http://p:9090"},
		{"http on request", prometheus.Config{URL: "http://p:9090", AllowInsecure: true}, ""},
		{"http with a password", prometheus.Config{URL: "http://u:secret@p"}, "HTTPS is required - URL must use https:// scheme: http://u:xxxxx@p"},
		{"no scheme", prometheus.Config{URL: "p:9090"}, "HTTPS is required - URL must use https:// scheme: p:9090"},
		{"another scheme", prometheus.Config{URL: "ftp://p", AllowInsecure: true}, "the scheme of the Prometheus URL must be https or http: ftp://p"},
		{"nothing", prometheus.Config{}, "the Prometheus URL is empty"},
		{"no host", prometheus.Config{URL: "https://"}, "the Prometheus URL has no host: https://"},
		{"no URL", prometheus.Config{URL: "https://u:secret@p\x7f"}, "parsing the Prometheus URL: net/url: invalid control character in URL"},
		{"missing CA", prometheus.Config{URL: "https://p", CACertPath: "/no/ca"}, "CA certificate file not found: /no/ca"},
		{"missing certificate", prometheus.Config{URL: "https://p", ClientCertPath: "/no/crt", ClientKeyPath: "/no/key"}, "client certificate file not found: /no/crt"},
		{"missing key", prometheus.Config{URL: "https://p", ClientCertPath: empty, ClientKeyPath: "/no/key"}, "client key file not found: /no/key"},
		{"missing files that are not read", prometheus.Config{URL: "https://p", CACertPath: "/no/ca", InsecureSkipVerify: true}, ""},
		{"half a certificate", prometheus.Config{URL: "https://p", ClientCertPath: empty}, "a client certificate needs both its certificate and its key file"},
		{"an empty CA", prometheus.Config{URL: "https://p", CACertPath: empty}, "CA certificate file holds no certificate: " + empty},
		{"negative timeout", prometheus.Config{URL: "https://p", Timeout: -1}, "the Prometheus timeout must not be negative: -1ns"},
		{"too many retries", prometheus.Config{URL: "https://p", Retries: new(11)}, "the number of retries of a Prometheus query must be 0 to 10: 11"},
		{"negative retries", prometheus.Config{URL: "https://p", Retries: new(-1)}, "the number of retries of a Prometheus query must be 0 to 10: -1"},
		{"negative limit", prometheus.Config{URL: "https://p", MaxBytes: -1}, "the limit of a Prometheus answer must not be negative: -1 bytes"},
		{"a proxy", prometheus.Config{URL: "https://p", ProxyURL: "socks5://proxy:1080"}, ""},
		{"a proxy of another kind", prometheus.Config{URL: "https://p", ProxyURL: "ftp://u:secret@proxy"}, "the URL of the proxy to Prometheus must have a scheme of http, https, socks5, socks5h and a host: ftp://u:xxxxx@proxy"},
		{"a proxy without a host", prometheus.Config{URL: "https://p", ProxyURL: "proxy:80"}, "the URL of the proxy to Prometheus must have a scheme of http, https, socks5, socks5h and a host: proxy:80"},
		{"no URL of a proxy", prometheus.Config{URL: "https://p", ProxyURL: "http://u:secret@p\x7f"}, "parsing the URL of the proxy to Prometheus: net/url: invalid control character in URL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := prometheus.New(tc.config)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case tc.want != "" && (err == nil || err.Error() != tc.want):
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "from-file\n")
	for _, tc := range []struct {
		name   string
		change func(*prometheus.Config)
		want   string
	}{
		{"none", func(*prometheus.Config) {}, ""},
		{"token", func(c *prometheus.Config) { c.BearerToken = "abc" }, "Bearer abc"},
		{"token with its prefix", func(c *prometheus.Config) { c.BearerToken = "Bearer abc\n" }, "Bearer abc"},
		{"token file", func(c *prometheus.Config) { c.TokenPath = file }, "Bearer from-file"},
		{"token before its file", func(c *prometheus.Config) { c.BearerToken, c.TokenPath = "abc", file }, "Bearer abc"},
		{"basic", func(c *prometheus.Config) { c.Username, c.Password = "u", "p" }, "Basic dTpw"},
		{"token before basic", func(c *prometheus.Config) { c.BearerToken, c.Username = "abc", "u" }, "Bearer abc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got, tenant string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got, tenant = r.Header.Get("Authorization"), r.Header.Get("X-Scope-OrgID")
				answer(http.StatusOK, vector())(w, r)
			})
			source := open(t, server.URL, tc.change, func(c *prometheus.Config) { c.Headers = map[string]string{"x-scope-orgid": "t1"} })
			if _, err := source.Ask(t.Context(), running); err != nil {
				t.Fatal(err)
			}
			if got != tc.want || tenant != "t1" {
				t.Errorf("got %q for tenant %q, want %q for t1", got, tenant, tc.want)
			}
		})
	}
}

func TestTokenFileIsReadAgain(t *testing.T) {
	var got string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		answer(http.StatusOK, vector())(w, r)
	})
	file := filepath.Join(t.TempDir(), "token")
	source := open(t, server.URL, func(c *prometheus.Config) { c.TokenPath = file })
	if _, err := source.Ask(t.Context(), running); err == nil || !strings.Contains(err.Error(), "reading bearer token: open "+file) {
		t.Errorf("without the file: got %v", err)
	}
	for _, token := range []string{"one", "two"} {
		write(t, file, token)
		if _, err := source.Ask(t.Context(), running); err != nil || got != "Bearer "+token {
			t.Errorf("got %q, %v, want %s", got, err, token)
		}
	}
}

func TestTokenThatRotatesMeanwhileIsTriedAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	for _, tc := range []struct {
		name  string
		after string // what the file holds once the first token was refused
		calls string
		fails bool
	}{
		{"rotated", "new", "Bearer old, Bearer new", false},
		{"still the same", "old", "Bearer old", true},
		{"rotated, but refused too", "other", "Bearer old, Bearer other", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			write(t, file, "old")
			var calls []string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls = append(calls, r.Header.Get("Authorization"))
				write(t, file, tc.after)
				if r.Header.Get("Authorization") != "Bearer new" {
					http.Error(w, "expired", http.StatusUnauthorized)
					return
				}
				answer(http.StatusOK, vector())(w, r)
			})
			source := open(t, server.URL, func(c *prometheus.Config) { c.TokenPath = file })
			_, err := source.Ask(t.Context(), running)
			if got := strings.Join(calls, ", "); got != tc.calls || (err != nil) != tc.fails {
				t.Errorf("got %s and %v, want %s", got, err, tc.calls)
			}
		})
	}
}

func TestProxyOfTheConfigurationIsUsed(t *testing.T) {
	var asked string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Host
		answer(http.StatusOK, vector())(w, r)
	})
	source := open(t, "http://prometheus.example:9090", func(c *prometheus.Config) { c.ProxyURL = proxy.URL })
	if _, err := source.Ask(t.Context(), running); err != nil || asked != "prometheus.example:9090" {
		t.Errorf("got %v, the proxy was asked for %q", err, asked)
	}
}

// write puts text into a file.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
