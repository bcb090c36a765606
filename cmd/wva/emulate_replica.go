package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/emulator"
)

// replicaOptions are the flags of wva emulate replica.
type replicaOptions struct {
	emulateOptions
	model, profile string
	startup        time.Duration
}

func newEmulateReplicaCommand() *cobra.Command {
	var o replicaOptions
	cmd := &cobra.Command{
		Use:   "replica --model ID --profile NAME",
		Short: "Emulate one serving replica: an engine with an OpenAI endpoint and vLLM's metrics",
		Long: `Emulate one serving replica in real time, as a pod of its own would be: without
GPUs and without a cluster. While it starts up its port is closed, as while an engine
loads its model; told to end, it finishes what it has. Each request has a
connection of its own, so that a Service spreads them over replicas.

  /v1/completions, /v1/chat/completions, /v1/models, /metrics, /health`,
		Example: `  wva emulate replica --model meta/llama-3.1-8b --profile llama-8b-l40s --listen :8000 --startup-delay 5s`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runReplica(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "ID of the model that it serves")
	f.StringVar(&o.profile, "profile", "", "name of the serving profile that it is as fast as")
	f.DurationVar(&o.startup, "startup-delay", 0, "time until it listens")
	o.addListening(f)
	o.addServing(f)
	return cmd
}

// runReplica serves until ctx ends, and then finishes the requests in progress.
func runReplica(ctx context.Context, out io.Writer, o replicaOptions) error {
	options, err := o.emulator()
	switch {
	case err != nil:
		return err
	case o.model == "":
		return fmt.Errorf("%w: --model is missing", errUsage)
	case o.startup < 0:
		return fmt.Errorf("%w: --startup-delay is %v, want 0 or more", errUsage, o.startup)
	}
	replica, err := emulator.NewReplica(options, o.model, o.profile)
	if err != nil {
		return fmt.Errorf("%w: --profile: %w", errUsage, err)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(o.startup):
	}
	listener, err := o.open(ctx, out)
	if err != nil {
		return err
	}
	// The replica finishes the requests in progress.
	computing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { replica.Run(computing) })
	defer running.Wait()
	defer stop()
	server := &http.Server{Handler: replica.Handler(), ReadHeaderTimeout: headerTimeout}
	server.SetKeepAlivesEnabled(false)
	return serveUntil(ctx, listener, server, o.grace)
}
