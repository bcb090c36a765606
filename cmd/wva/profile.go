package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
)

// profileFlags are the flags of "wva profile".
type profileFlags struct {
	managerFlags

	everywhere    bool
	record, cycle string
	output, svg   string
}

func newProfileCommand() *cobra.Command {
	var f profileFlags
	command := &cobra.Command{
		Use:   "profile [VA]",
		Short: "Show how fast the replicas of a VariantAutoscaling are, as learned while they serve",
		Long: `Profile shows what is known of the speed of a variant's replicas: the
coefficients of the time of a step and of a TTFT with the intervals that hold them
with a probability of 0.9, what was measured beside what they come to, what is
still missing, and the profile that the user stated. Without VA it lists all
variants of the namespace.

It asks the manager that leads, as "wva explain" does, or reads a file of cycles
that a manager recorded (--record-file) and takes the last of them.

For programs and other commands (-o), for one VA, with the mean lengths that its
requests have now:
  json      all of it; of several variants a list
  yaml      modelProfile, as the spec of a VariantAutoscaling takes it
  queue     the flags that describe the replica to wva queue
  plan      an entry of the models of wva plan
  simulate  a profile file of wva simulate

The exit status is 0 with an answer, 1 where there is none: there is no such VA, or
for -o yaml, queue, plan and simulate nothing is known of its speed; 2 for bad usage.`,
		Example: `  wva profile -n quick-start
  wva profile llama-8b -n quick-start --svg llama-8b.svg
  wva profile llama-8b -n quick-start -o yaml
  wva profile llama-8b --record cycles.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%w: profile takes the name of one VariantAutoscaling, or none for all, have %q", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				var err error
				if name, err = variantName("profile", args[0]); err != nil {
					return err
				}
			}
			if err := f.check(name, command.Flags().Changed); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return f.run(command.Context(), command.OutOrStdout(), command.InOrStdin(), name)
		},
	}
	flags := command.Flags()
	f.register(flags)
	flags.BoolVarP(&f.everywhere, "all-namespaces", "A", false, "list the variants of all namespaces")
	flags.StringVar(&f.record, "record", "", "`file` of recorded cycles to read instead of asking the manager, - for standard input")
	flags.StringVar(&f.cycle, "cycle", "", "with --record: the `cycle` to take, as logs and explanations name it (default: the last)")
	flags.StringVarP(&f.output, "output", "o", "table", "table, json, yaml, queue, plan or simulate")
	flags.StringVar(&f.svg, "svg", "", "write the picture to a `file`, as SVG")
	return command
}

// check returns an error for a wrong combination of flags.
func (f *profileFlags) check(name string, changed func(string) bool) error {
	_, exported := profileForms()[f.output]
	switch {
	case f.output != "table" && f.output != "json" && !exported:
		return fmt.Errorf("--output %q: want table, json, yaml, queue, plan or simulate", f.output)
	case exported && name == "":
		return fmt.Errorf("--output %s is of one VariantAutoscaling: want its name", f.output)
	case changed("svg") && f.svg == "":
		return errors.New("--svg is empty: want a file")
	case f.svg != "" && name == "":
		return errors.New("--svg is of one VariantAutoscaling: want its name")
	case f.everywhere && name+f.namespace != "":
		return errors.New("--all-namespaces lists all: want neither a name nor --namespace with it")
	case f.cycle != "" && f.record == "":
		return errors.New("--cycle needs --record")
	}
	return nil
}

func (f *profileFlags) run(ctx context.Context, out io.Writer, in io.Reader, name string) error {
	get := f.fromManager
	if f.record != "" {
		get = func(_ context.Context, name string) ([]profiled, time.Time, error) { return f.fromRecord(in, name) }
	}
	all, now, err := get(ctx, name)
	if err != nil {
		return err
	}
	if name == "" {
		return f.list(console.Visible(out), all, now)
	}
	one := all[slices.IndexFunc(all, func(p profiled) bool { return p.Variant.Name == name })]
	if f.svg != "" {
		picture, err := one.picture()
		if err != nil {
			return err
		}
		if err := writeSVG(f.svg, picture); err != nil {
			return err
		}
	}
	if f.output == "json" {
		return writeJSON(out, one)
	}
	if form, exported := profileForms()[f.output]; exported {
		text, err := one.export(form)
		if err != nil {
			return err
		}
		_, err = io.WriteString(console.Visible(out), text)
		return err
	}
	return one.print(out, now)
}

// list writes one line for each variant.
func (f *profileFlags) list(out io.Writer, all []profiled, now time.Time) error {
	if f.output == "json" {
		return writeJSON(out, append([]profiled{}, all...))
	}
	if len(all) == 0 {
		where := "namespace " + f.namespace
		if f.namespace == "" {
			where = "any namespace"
		}
		_, err := fmt.Fprintf(out, "there is no VariantAutoscaling that was decided on in %s\n", where)
		return err
	}
	return profileTable(all, now).Write(out)
}
