package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// explainFlags are the flags of "wva explain".
type explainFlags struct {
	managerFlags

	output string
	why    bool
}

func newExplainCommand() *cobra.Command {
	var f explainFlags
	command := &cobra.Command{
		Use:   "explain VA",
		Short: "Say why a VariantAutoscaling has the replicas that it has",
		Long: `Explain prints the steps of the last decision for a VariantAutoscaling, what
blocks growth or reduction, and the age of what was known. Then it answers why there
is not one replica fewer, why another variant does not serve instead, and at which
arrival rate or time the decision would change: it gets the cycle from the manager,
and decides it again with other readings and limits (docs/user-guide/scaling-and-sizing.md).
--why=false leaves that out.

It asks the manager that leads, at the address given by --manager or WVA_MANAGER
(its authenticated metrics port), with the credentials of the kubeconfig. Without
an address it finds the leader by the holder of its lease and forwards a port to
its pod. Where the manager cannot be reached, it prints what the object's status
and events hold, and says so.

The exit status is 0 when the decision was explained by the manager, 1 when only
status and events could be shown, or nothing.`,
		Example: `  wva explain llama-8b -n quick-start
  wva explain va/llama-8b -n quick-start -o json
  wva explain llama-8b -n quick-start --manager https://127.0.0.1:8443`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: explain takes the name of one VariantAutoscaling, have %q", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			name, err := variantName("explain", args[0])
			if err != nil {
				return err
			}
			return f.run(command.Context(), console.Visible(command.OutOrStdout()), console.Visible(command.ErrOrStderr()), name)
		},
	}
	flags := command.Flags()
	f.register(flags)
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	flags.BoolVar(&f.why, "why", true, "also say why not fewer replicas or another variant, and what would change the decision")
	return command
}

func (f explainFlags) run(ctx context.Context, out, warnings io.Writer, name string) error {
	if f.output != "table" && f.output != "json" {
		return fmt.Errorf("%w: --output %q: want table or json", errUsage, f.output)
	}
	restConfig, c, err := f.connect()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: f.namespace, Name: name}
	e, text, err := f.explained(ctx, restConfig, c, key)
	if err == nil {
		return f.print(ctx, out, e, text)
	}
	held, statusErr := readStatus(ctx, c, key)
	if apierrors.IsNotFound(statusErr) {
		return absent(ctx, c, key)
	}
	fmt.Fprintf(warnings, "wva: %v\n", err)
	if statusErr != nil {
		return statusErr
	}
	fmt.Fprintln(warnings, "wva: what follows is from the object's status and events, and may be old")
	if f.output == "json" {
		err = writeJSON(out, held)
	} else {
		err = held.print(out)
	}
	return cmp.Or(err, errFinding)
}

// newExplainClient returns a client for the objects of the cluster itself.
func newExplainClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return c, nil
}

// explained returns the explanation of the leading manager. With --why it also returns the text of
// the cycle, from which the answers are computed.
func (f explainFlags) explained(ctx context.Context, config *rest.Config, c client.Reader, key client.ObjectKey) (explained, []byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	manager, err := f.reach(ctx, config, c)
	if err != nil {
		return explained{}, nil, err
	}
	defer manager.close()
	var e explained
	path := web.DecisionsPath + "/" + key.Namespace + "/" + key.Name
	if err := manager.get(ctx, path, &e.Explanation); err != nil {
		return explained{}, nil, err
	}
	if !f.why {
		return e, nil, nil
	}
	var text json.RawMessage
	if err := manager.get(ctx, path+"/cycle", &text); err != nil {
		e.Unanswered = err.Error()
	}
	return e, text, nil
}

// print writes the explanation, and then the answers from the text of the cycle. They take some
// seconds in a large fleet that shares accelerators.
func (f explainFlags) print(ctx context.Context, out io.Writer, e explained, text []byte) error {
	now := time.Now()
	if f.output == "json" {
		e.answerFrom(ctx, text)
		return writeJSON(out, e)
	}
	if _, err := io.WriteString(out, explain.Report(e.Explanation, now)); err != nil {
		return err
	}
	e.answerFrom(ctx, text)
	_, err := io.WriteString(out, e.whyReport(now))
	return err
}
