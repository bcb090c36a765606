package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forward opens a port on loopback that leads through the API server to the port of a pod, until
// ctx ends. It returns its address.
func forward(ctx context.Context, config *rest.Config, to leader) (address string, err error) {
	dialer, err := forwardingDialer(config, to)
	if err != nil {
		return "", fmt.Errorf("forwarding a port to %s: %w", to, err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	var said bytes.Buffer // read only after the forwarding has ended
	f, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", to.Port)}, ready, io.Discard, &said)
	if err != nil {
		return "", fmt.Errorf("forwarding a port to %s: %w", to, err)
	}
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return "", fmt.Errorf("forwarding a port to %s: %w%s", to, err, strings.TrimSpace(said.String()))
	case <-time.After(patience):
		return "", fmt.Errorf("forwarding a port to %s: no answer of the API server within %s", to, patience)
	}
	ports, err := f.GetPorts()
	if err != nil {
		return "", fmt.Errorf("forwarding a port to %s: %w", to, err)
	}
	return fmt.Sprintf("https://127.0.0.1:%d", ports[0].Local), nil
}

// forwardingDialer returns a dialer that speaks SPDY over a WebSocket, as kubectl does. For an API
// server before Kubernetes 1.30, which does not support that, it speaks SPDY itself.
func forwardingDialer(config *rest.Config, to leader) (httpstream.Dialer, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	url := server.JoinPath("api/v1/namespaces", to.Namespace, "pods", to.Pod, "portforward")
	roundTripper, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: roundTripper}, http.MethodPost, url)
	tunneled, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(tunneled, plain, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// trustForwarded returns the TLS for the manager behind a forwarded port. The API server leads to
// that pod and no other. The certificate is for the names of a Service and need not name 127.0.0.1.
// With --manager-ca its chain is verified nevertheless.
func (f managerFlags) trustForwarded() (*tls.Config, error) {
	//nolint:gosec // the way to the pod is that of the API server, which is verified; see above
	trust := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if f.caFile == "" {
		return trust, nil
	}
	roots, err := f.roots(&rest.Config{})
	if err != nil {
		return nil, err
	}
	trust.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, roots) }
	return trust, nil
}

// verifyChain verifies that one of roots signed a peer's certificate, for any names.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}
