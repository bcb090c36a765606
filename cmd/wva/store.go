package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// storeFlags are the flags of "wva store".
type storeFlags struct{ kubeconfig, namespace, output string }

func newStoreCommand() *cobra.Command {
	var f storeFlags
	command := &cobra.Command{
		Use:   "store",
		Short: "List what the manager has learned and keeps",
		Long: `Store lists the entries of the manager's store: of each model what is kept, and
when it last changed. They are in ConfigMaps of the manager's namespace, which it
reads when it begins to lead and writes at most once a minute.

An entry that was edited, or is of another version, is ignored; the list says why.
To forget a model, delete its key; to forget all, delete the ConfigMap; then start
the manager again.

The exit status is 0 when every entry applies, 1 when one is ignored or nothing
could be read.`,
		Example: `  wva store
  wva store -o json
  kubectl delete configmap wva-store-start-ups wva-store-fits -n workload-variant-autoscaler-system`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: store takes no argument, have %q", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			return f.run(command.Context(), console.Visible(command.OutOrStdout()))
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else the usual place)")
	flags.StringVar(&f.namespace, "system-namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), defaultSystemNamespace), "namespace of the manager, by default that of POD_NAMESPACE")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	return command
}

func (f storeFlags) run(ctx context.Context, out io.Writer) error {
	if f.output != "table" && f.output != "json" {
		return fmt.Errorf("%w: --output %q: want table or json", errUsage, f.output)
	}
	restConfig, _, err := readKubeconfig(f.kubeconfig)
	if err != nil {
		return err
	}
	c, err := newExplainClient(restConfig)
	if err != nil {
		return err
	}
	entries, err := store.Describe(ctx, c, f.namespace)
	if err != nil {
		return err
	}
	return f.print(out, entries, time.Now())
}

// print lists entries. It returns errFinding if one of them is ignored.
func (f storeFlags) print(out io.Writer, entries []store.Description, now time.Time) error {
	ignored := false
	table := console.Table{Columns: []console.Column{
		console.Left("CONFIGMAP"), console.Left("NAMESPACE"), console.Left("MODEL"), console.Right("BYTES"), console.Right("CHANGED"), console.Left("SAYS"),
	}}
	for _, e := range entries {
		row := []string{e.ConfigMap, "", e.Key, fmt.Sprint(e.Bytes), "", "ignored: " + e.Ignored}
		if e.Model != nil {
			row = []string{e.ConfigMap, e.Model.Namespace, e.Model.ID, fmt.Sprint(e.Bytes), max(0, now.Sub(e.At)).Round(time.Second).String() + " ago", e.Says}
		}
		ignored = ignored || e.Ignored != ""
		table.Rows = append(table.Rows, row)
	}
	var err error
	switch {
	case f.output == "json":
		if entries == nil {
			entries = []store.Description{} // an empty list, not null
		}
		err = writeJSON(out, entries)
	case len(entries) == 0:
		_, err = fmt.Fprintf(out, "nothing is stored in namespace %s: the manager has learned nothing yet, runs with WVA_STORE=false, or is in another namespace (--system-namespace)\n", f.namespace)
	default:
		_, err = io.WriteString(out, strings.Join(table.Lines(), "\n")+"\n")
	}
	if err == nil && ignored {
		err = errFinding
	}
	return err
}
