package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/emulator"
)

// emulateOptions are the flags of wva emulate.
type emulateOptions struct {
	kubeconfig  string
	namespace   string
	listen      string
	addressFile string
	profiles    string
	vllmVersion string
	seed        uint64
	grace       time.Duration
}

func newEmulateCommand() *cobra.Command {
	var o emulateOptions
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Emulate a serving fleet: replicas of LLM engines behind the annotated pods of a cluster",
		Long: `Emulate a serving fleet in real time, without GPUs.

A pod that carries both annotations
  ` + emulator.ProfileAnnotation + `: <profile>
  ` + emulator.ModelAnnotation + `: <model ID>
and is Ready becomes one serving replica. Clients reach them through one
OpenAI-compatible gateway, which holds requests while a model has no replica;
Prometheus reads vLLM's metrics of each pod and the gateway's own. A pod with the
label ` + emulator.RoleLabel + `: prefill computes prompts, which the other pods of its
model then decode.

  /NAMESPACE/MODEL/v1/completions, .../v1/chat/completions, .../v1/models
  /pods/NAMESPACE/POD/metrics, /gateway/NAMESPACE/metrics
  /sd (Prometheus HTTP service discovery), /healthz`,
		Example: `  wva emulate --listen 127.0.0.1:8200
  wva emulate replica --model meta/llama-3.1-8b --profile llama-8b-l40s --listen :8000
  curl http://127.0.0.1:8200/demo/meta/llama-3.1-8b/v1/completions -d '{"prompt":"hello","max_tokens":20,"stream":true}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runEmulate(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig; by default $KUBECONFIG, ~/.kube/config or the pod's own account")
	f.StringVar(&o.namespace, "namespace", "", "namespace whose pods are emulated; by default all")
	o.addListening(f)
	o.addServing(f)
	cmd.AddCommand(newEmulateReplicaCommand(), newEmulateGatewayCommand())
	return cmd
}

// addListening adds the flags of commands that listen.
func (o *emulateOptions) addListening(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	f.StringVar(&o.addressFile, "address-file", "", "file to write the base URL to once listening")
}

// addServing adds the flags of commands that have replicas.
func (o *emulateOptions) addServing(f *pflag.FlagSet) {
	f.StringVar(&o.profiles, "profiles", "", "JSON file with an array of serving profiles, added to the built-in ones or replacing them by name")
	f.StringVar(&o.vllmVersion, "vllm-version", emulator.DefaultVersion.String(), "vLLM release whose metrics page is imitated, 0.10 to 0.32")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the filler text")
	f.DurationVar(&o.grace, "drain-grace", 30*time.Second, "how long a replica whose pod terminates goes on with the requests it has")
}

// runEmulate serves until ctx ends.
func runEmulate(ctx context.Context, out, errOut io.Writer, o emulateOptions) error {
	options, err := o.emulator()
	if err != nil {
		return err
	}
	options.Log = slog.New(slog.NewTextHandler(errOut, nil))
	fleet, err := emulator.New(options)
	if err != nil {
		return err
	}
	config, err := emulateClientConfig(o.kubeconfig)
	if err != nil {
		return fmt.Errorf("loading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	listener, err := o.open(ctx, out)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { fleet.Run(ctx); return nil })
	group.Go(func() error { return emulator.NewCluster(client, o.namespace).Run(ctx, fleet) })
	group.Go(func() error {
		// Held requests would never end by themselves.
		server := &http.Server{
			Handler: fleet.Handler(), ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx },
		}
		return serveUntil(ctx, listener, server, 5*time.Second)
	})
	return group.Wait()
}

// emulator returns the checked options of a serving fleet.
func (o *emulateOptions) emulator() (emulator.Options, error) {
	version, err := emulator.ParseVersion(o.vllmVersion)
	if err != nil {
		return emulator.Options{}, fmt.Errorf("%w: --vllm-version: %w", errUsage, err)
	}
	if o.grace < 0 {
		return emulator.Options{}, fmt.Errorf("%w: --drain-grace is %v, want 0 or more", errUsage, o.grace)
	}
	profiles, err := emulator.BuiltInProfiles()
	if err != nil {
		return emulator.Options{}, err
	}
	if o.profiles != "" {
		data, err := os.ReadFile(o.profiles)
		if err != nil {
			return emulator.Options{}, fmt.Errorf("%w: --profiles: %w", errUsage, err)
		}
		if profiles, err = profiles.With(data); err != nil {
			return emulator.Options{}, fmt.Errorf("%w: --profiles %s: %w", errUsage, o.profiles, err)
		}
	}
	return emulator.Options{Profiles: profiles, Version: version, Seed: o.seed, Grace: o.grace}, nil
}

// open listens and announces the address.
func (o *emulateOptions) open(ctx context.Context, out io.Writer) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", o.listen, err)
	}
	if err := announce(out, o.addressFile, "http://"+listener.Addr().String()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func emulateClientConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}

// announce writes the base URL to out and, if named, to a file, which appears only once it is
// complete.
func announce(out io.Writer, file, url string) error {
	if _, err := fmt.Fprintf(out, "emulating on %s\n", url); err != nil {
		return fmt.Errorf("printing the address: %w", err)
	}
	if file == "" {
		return nil
	}
	temporary := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".new")
	if err := os.WriteFile(temporary, []byte(url+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	return nil
}

// headerTimeout bounds how long a client may take to send the headers of a request.
const headerTimeout = 10 * time.Second

// serveUntil serves HTTP until ctx ends, and then lets requests in progress finish for at most
// grace.
func serveUntil(ctx context.Context, listener net.Listener, server *http.Server, grace time.Duration) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		stopped <- server.Shutdown(last)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("ending the server: %w", err)
	}
	return nil
}
