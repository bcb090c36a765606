package prometheus

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/transport"
)

// newTransport returns a transport for a valid configuration.
func newTransport(config Config) (*transport.Transport, error) {
	proxy := http.ProxyFromEnvironment
	to, err := config.proxy()
	if err != nil {
		return nil, err
	}
	if to != nil {
		proxy = http.ProxyURL(to)
	}
	return transport.New(config.files(), func(secure *tls.Config) *http.Transport {
		return &http.Transport{
			Proxy:                 proxy,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       secure,
			TLSHandshakeTimeout:   10 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   16, // as many as queries are likely to be under way
			IdleConnTimeout:       2 * time.Minute,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true,     // see the comment of the package
			ReadBufferSize:        32 << 10, // an answer for 10,000 pods takes 1.5 MB
		}
	})
}

// files returns the certificate settings of c.
func (c Config) files() transport.Files {
	return transport.Files{
		CACert: c.CACertPath, ClientCert: c.ClientCertPath, ClientKey: c.ClientKeyPath,
		ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify,
	}
}
