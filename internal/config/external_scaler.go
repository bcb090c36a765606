package config

// ExternalScaler says whether the manager serves decisions as an external scaler of KEDA, and to
// which clients.
type ExternalScaler struct {
	// BindAddress is the address to serve on, "" for off.
	BindAddress string
	// CertPath is a folder with tls.crt and tls.key, "" for a self-signed certificate.
	CertPath string
	// ClientCAPath is a PEM file of the authorities whose clients may ask.
	ClientCAPath string
	// AnyClient admits every client that reaches the address, in place of ClientCAPath.
	AnyClient bool
}

func (e *ExternalScaler) define(d *definition) {
	d.text(&e.BindAddress, "external-scaler-bind-address", "", "address to serve decisions on as an external scaler of KEDA, over gRPC and TLS; empty is off")
	d.text(&e.CertPath, "external-scaler-cert-path", "", "folder with tls.crt and tls.key for it; empty for a self-signed certificate")
	d.text(&e.ClientCAPath, "external-scaler-client-ca-path", "", "PEM file of the authorities whose clients may ask it")
	d.truth(&e.AnyClient, "external-scaler-any-client", false, "let every client ask it that reaches the address, with a certificate or without")
}

// validate refuses an address that admits no client, and one with both ClientCAPath and AnyClient.
func (e ExternalScaler) validate() error {
	switch {
	case e.BindAddress == "":
		return nil
	case e.ClientCAPath == "" && !e.AnyClient:
		return &FieldError{Key: "EXTERNAL_SCALER_CLIENT_CA_PATH", Want: "a PEM file of the authorities whose clients may ask, or EXTERNAL_SCALER_ANY_CLIENT true"}
	case e.ClientCAPath != "" && e.AnyClient:
		return &FieldError{Key: "EXTERNAL_SCALER_ANY_CLIENT", Value: "true", Want: "false beside EXTERNAL_SCALER_CLIENT_CA_PATH"}
	}
	return nil
}
