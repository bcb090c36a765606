package config

import (
	"crypto/tls"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The backends that metrics are read from.
const (
	BackendPrometheus = string(scaling.BackendPrometheus) // a store with the Prometheus HTTP API
	BackendPods       = string(scaling.BackendPods)       // the pages of the serving pods themselves
	BackendEPP        = string(scaling.BackendEPP)        // the pages of the gateway's endpoint pickers
)

// Backends returns the names of the backends, the default first.
func Backends() []string { return []string{BackendPrometheus, BackendPods, BackendEPP} }

// Collector says where metrics come from, how long they are kept and from which age on they count
// as stale.
type Collector struct {
	Backend string // one of Backends
	Cache   Cache
	Scrape  Scrape
}

// Scrape configures the backends that read the metrics pages themselves.
type Scrape struct {
	// Interval is the time between two reads of a page, 1s to 1m.
	Interval time.Duration
	// PickerSelector is the label selector of the endpoint pickers' pods.
	PickerSelector string
	// PickerPort is the port of their metrics page, 1 to 65535; 0 for the port that the pod
	// declares.
	PickerPort int
	// PickerToken, or the file PickerTokenPath, is the bearer token for their page, "" for none.
	// Every pod that the selector matches receives it.
	PickerToken, PickerTokenPath string
	// How pages under https are verified: CACertPath is a file of authorities ("" for those of the
	// system), ClientCertPath is the client certificate that the manager presents, and ServerName
	// is the name in the page's certificate ("" for the pod's address).
	CACertPath, ClientCertPath, ClientKeyPath, ServerName string
	InsecureSkipVerify                                    bool
}

// The range of the scrape interval: below it, reading the pages costs more than it is worth; above
// it, a page is never Fresh.
const shortestScrape, longestScrape = time.Second, time.Minute

func (c *Collector) define(d *definition) {
	d.text(&c.Backend, "collector-backend", BackendPrometheus, "where metrics are read: "+strings.Join(Backends(), ", "))
	c.Cache.define(d)
	c.Scrape.define(d)
}

func (c *Collector) validate() error {
	if !slices.Contains(Backends(), c.Backend) {
		return &FieldError{Key: "COLLECTOR_BACKEND", Value: c.Backend, Want: oneOf(Backends())}
	}
	if err := c.Cache.validate(); err != nil {
		return err
	}
	return c.Scrape.validate(c.Backend)
}

func (s *Scrape) define(d *definition) {
	d.duration(&s.Interval, "scrape-interval", 5*time.Second, "time between two looks at a page (backends pods and epp), 1s to 1m")
	d.text(&s.PickerSelector, "epp-selector", "inferencepool", "label selector of the endpoint pickers' pods, which the backends pods and epp scrape, and any backend while a model has no replica; empty for none")
	d.count(&s.PickerPort, "epp-port", 0, "port of the endpoint pickers' metrics page; 0 for the pod's annotation prometheus.io/port or its port named metrics")
	d.secret(&s.PickerToken, "epp-bearer-token", "bearer token for the endpoint pickers' page; prefer a token file")
	d.text(&s.PickerTokenPath, "epp-token-path", "", "file with the bearer token for it, read again when it changes; every pod of the selector is sent it")
	d.text(&s.CACertPath, "scrape-ca-cert-path", "", "file with the CA certificates that pages under https are verified by (backends pods and epp); empty for the system's")
	d.text(&s.ClientCertPath, "scrape-client-cert-path", "", "file with the client certificate shown to pages")
	d.text(&s.ClientKeyPath, "scrape-client-key-path", "", "file with the key of that certificate")
	d.text(&s.ServerName, "scrape-server-name", "", "name that the certificates of pages must carry; empty for the pod's address")
	d.truth(&s.InsecureSkipVerify, "scrape-tls-insecure-skip-verify", false, "do not verify the certificates of pages: any process that answers at a pod's address is believed, and at a picker's address it is sent the token")
}

func (s *Scrape) validate(backend string) error {
	if err := within("SCRAPE_INTERVAL", s.Interval, shortestScrape, longestScrape); err != nil {
		return err
	}
	if backend == BackendEPP && s.PickerSelector == "" {
		return &FieldError{Key: "EPP_SELECTOR", Want: "a label selector with COLLECTOR_BACKEND=" + BackendEPP}
	}
	if _, err := labels.Parse(s.PickerSelector); err != nil {
		return &FieldError{Key: "EPP_SELECTOR", Value: s.PickerSelector, Want: "a label selector, such as app=epp"}
	}
	if err := between("EPP_PORT", s.PickerPort, 0, 65535); err != nil {
		return err
	}
	if backend == BackendPrometheus || s.InsecureSkipVerify {
		return nil // nothing is scraped, or every answer is believed
	}
	return s.validateFiles()
}

// validateFiles refuses files that are missing, or that hold no valid certificate or key.
func (s *Scrape) validateFiles() error {
	for _, file := range []struct{ key, path string }{
		{"SCRAPE_CA_CERT_PATH", s.CACertPath},
		{"SCRAPE_CLIENT_CERT_PATH", s.ClientCertPath},
		{"SCRAPE_CLIENT_KEY_PATH", s.ClientKeyPath},
	} {
		if file.path == "" {
			continue
		}
		if _, err := os.ReadFile(file.path); err != nil {
			return &FieldError{Key: file.key, Value: file.path, Want: "a file that can be read"}
		}
	}
	if err := checkAuthorities("SCRAPE_CA_CERT_PATH", s.CACertPath); err != nil {
		return err
	}
	switch {
	case s.ClientCertPath == "" && s.ClientKeyPath == "":
		return nil
	case s.ClientKeyPath == "":
		return &FieldError{Key: "SCRAPE_CLIENT_KEY_PATH", Want: "a file, with SCRAPE_CLIENT_CERT_PATH"}
	case s.ClientCertPath == "":
		return &FieldError{Key: "SCRAPE_CLIENT_CERT_PATH", Want: "a file, with SCRAPE_CLIENT_KEY_PATH"}
	}
	if _, err := tls.LoadX509KeyPair(s.ClientCertPath, s.ClientKeyPath); err != nil {
		return &FieldError{Key: "SCRAPE_CLIENT_CERT_PATH", Value: s.ClientCertPath, Want: "a PEM certificate of the key in " + s.ClientKeyPath}
	}
	return nil
}
