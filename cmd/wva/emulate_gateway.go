package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/emulator"
)

// gatewayOptions are the flags of wva emulate gateway.
type gatewayOptions struct {
	emulateOptions
	model, upstream string
}

func newEmulateGatewayCommand() *cobra.Command {
	var o gatewayOptions
	cmd := &cobra.Command{
		Use:   "gateway --model ID --upstream URL",
		Short: "Emulate a gateway: it holds requests while no replica serves them, with an endpoint picker's metrics",
		Long: `Emulate a gateway in front of one model, without a cluster. It sends every request
on to one base URL, such as that of a Service, and holds it while no replica answers
/health there; its page has the queue of an endpoint picker with flow control.

  /v1/..., /metrics, /healthz`,
		Example: `  wva emulate gateway --model meta/llama-3.1-8b --upstream http://llama-8b:8000 --listen :9090`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runGateway(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "ID of the model that every request is for")
	f.StringVar(&o.upstream, "upstream", "", "base URL of what serves it, to which /v1/... is appended")
	o.addListening(f)
	return cmd
}

// runGateway serves until ctx ends. That also ends the requests in progress.
func runGateway(ctx context.Context, out io.Writer, o gatewayOptions) error {
	if o.model == "" {
		return fmt.Errorf("%w: --model is missing", errUsage)
	}
	upstream, err := url.Parse(o.upstream)
	if err != nil || upstream.Scheme != "http" && upstream.Scheme != "https" || upstream.Host == "" {
		return fmt.Errorf("%w: --upstream is %q, want a URL such as http://llama-8b:8000", errUsage, o.upstream)
	}
	listener, err := o.open(ctx, out)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           emulator.NewGateway(emulator.GatewayOptions{Model: o.model, Upstream: upstream}).Handler(),
		ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	return serveUntil(ctx, listener, server, 5*time.Second)
}
