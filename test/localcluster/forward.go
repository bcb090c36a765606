package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/forward"
)

// forwardConnections runs a forwarder until ctx ends.
func forwardConnections(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("localcluster forward", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	addressFile := flags.String("address-file", "", "file to write the address to once connections are taken")
	o := forward.Options{Out: os.Stdout}
	flags.Func("backend", "where connections go, `ADDRESS=READYURL`; may be repeated", func(text string) error {
		b, err := forward.ParseBackend(text)
		o.Backends = append(o.Backends, b)
		return err
	})
	if err := parse(flags, args); err != nil {
		return err
	}
	f, err := forward.New(o)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", *listen, err)
	}
	if *addressFile != "" {
		if err := os.WriteFile(*addressFile, []byte(listener.Addr().String()+"\n"), 0o600); err != nil {
			return errors.Join(fmt.Errorf("writing the address: %w", err), listener.Close())
		}
	}
	return f.Serve(ctx, listener)
}
