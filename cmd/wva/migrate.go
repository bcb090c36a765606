package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
)

// defaultSystemNamespace is the namespace of the manager unless POD_NAMESPACE names another.
const defaultSystemNamespace = "workload-variant-autoscaler-system"

// migrateFlags are the flags of "wva migrate".
type migrateFlags struct {
	kubeconfig, systemNamespace string
	output                      string
	apply                       bool
}

func newMigrateCommand() *cobra.Command {
	var f migrateFlags
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Report what older versions left in the cluster, and remove it with --apply",
		Long: `Migrate looks through the cluster for what older versions left:

  - a definition of VariantAutoscaling that is not this version's,
  - load and other old fields in the stored status of VariantAutoscalings,
  - owner references that delete a VariantAutoscaling with its Deployment,
  - VariantAutoscalings in a namespace, or of a controller instance, that no manager serves,
  - labels that are no longer read,
  - ConfigMaps under names other than the first of their kind.

Nothing is changed without --apply. With it the definition is replaced, the
fields, references and labels are taken away, and ConfigMaps get the first name
of their kind; one whose first name exists already is not read and is deleted.
What Helm, Argo CD, Flux or an owner keeps is named, and left to be changed there.
Nothing of it is urgent: this version works with all of it. Run it with --apply
when no manager of an older version is left.

The exit status is 0 when there is nothing (left) to do, 1 when there is, 2 for
bad usage.`,
		Example: "  wva migrate\n  wva migrate --apply -o json",
		Args:    noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return f.run(command.Context(), console.Visible(command.OutOrStdout()))
		},
	}
	namespace, ok := os.LookupEnv("POD_NAMESPACE")
	if !ok || namespace == "" {
		namespace = defaultSystemNamespace
	}
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else the usual place)")
	flags.StringVar(&f.systemNamespace, "system-namespace", namespace, "namespace of the manager, by default that of POD_NAMESPACE")
	flags.BoolVar(&f.apply, "apply", false, "remove what is found")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	command.AddCommand(newMigrateKServeCommand())
	return command
}

// migration is the answer of "wva migrate -o json".
type migration struct {
	Applied  bool      `json:"applied"` // whether it was asked to remove what it finds
	Findings []finding `json:"findings"`
}

func (f migrateFlags) run(ctx context.Context, out io.Writer) error {
	if f.output != "table" && f.output != "json" {
		return fmt.Errorf("%w: --output %q: want table or json", errUsage, f.output)
	}
	c, err := f.connect()
	if err != nil {
		return err
	}
	left, err := survey(ctx, c, f.systemNamespace)
	if err != nil {
		return err
	}
	answer := migration{Applied: f.apply, Findings: []finding{}}
	open := false // whether something is left to do
	for _, l := range left {
		if f.apply && l.remove != nil {
			l.State = stateRemoved
			if err := l.remove(ctx); err != nil {
				l.State, l.Error = stateFailed, err.Error()
			}
		}
		open = open || l.State != stateRemoved
		answer.Findings = append(answer.Findings, l.finding)
	}
	if f.output == "json" {
		err = writeJSON(out, answer)
	} else {
		err = answer.print(out)
	}
	if err == nil && open {
		err = errFinding
	}
	return err
}

// connect returns a client for the cluster of the kubeconfig.
func (f migrateFlags) connect() (client.Client, error) {
	rest, _, err := readKubeconfig(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	// One pass of a few dozen requests; the server limits its rate.
	rest.QPS = -1
	// Without a logger, the library complains on stderr.
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return c, nil
}

// print writes the answer as text.
func (m migration) print(out io.Writer) error {
	if len(m.Findings) == 0 {
		_, err := fmt.Fprintln(out, "Older versions left nothing in this cluster.")
		return err
	}
	table := console.Table{Columns: []console.Column{
		console.Left("STATE"), console.Left("NAMESPACE"), console.Left("OBJECT"), console.Left("FOUND"), console.Left("REMEDY"),
	}}
	for _, f := range m.Findings {
		remedy := f.Remedy
		if f.Error != "" {
			remedy = f.Error
		}
		table.Rows = append(table.Rows, []string{string(f.State), f.Namespace, f.Kind + "/" + f.Name, f.Found, remedy})
	}
	if err := table.Write(out); err != nil {
		return err
	}
	if slices.ContainsFunc(m.Findings, func(f finding) bool { return f.State == stateFound }) {
		_, err := fmt.Fprintln(out, "\nNothing was changed. wva migrate --apply does what is under REMEDY.")
		return err
	}
	return nil
}
