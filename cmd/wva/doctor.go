package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/loadgen"
)

// doctorFlags are the flags of "wva doctor".
type doctorFlags struct {
	managerFlags

	everywhere, pre bool
	files           []string
	only, skip      []string
	prometheus      string
	output          string

	active         bool // probe
	gateway, model string
}

func newDoctorCommand() *cobra.Command {
	var f doctorFlags
	command := &cobra.Command{
		Use:   "doctor [VA]",
		Short: "Say what keeps decisions from being made or carried out, and what mends it",
		Long: `Doctor follows the way of a decision: installation, objects, Prometheus, metrics
of the model, decision, scaler, target, network. It looks at the variants of a
namespace, at one of them, or at all (-A), and changes nothing, but for a probe.

It reads the cluster with the credentials of the kubeconfig, lists each kind once,
and asks the manager that leads for its decisions, as wva explain does. What the
manager says of Prometheus is shown; Prometheus itself is asked, without
credentials, only where a model has no metrics, for series under a prefix that is
not read. What may not be read, or has no answer in time, is finding WVA0102, and
the other checks go on.

Each finding has a stable code, a sentence, the evidence, a command that mends it
or leads there, and the address of its page in docs/reference/findings.md. A
finding that another one explains is left out.

With -f, manifests that are not applied yet are looked at as if they were, together
with what is in the cluster. With --pre only what would be in the way of an
installation is looked at.

With --probe a decision is sent the whole way, without moving a replica of the
variant: a scaler of the shape of the variant's is made beside it, for a target of
its own that never has a pod, and both are removed again, also on Ctrl-C and after
its time limit of 90 s. Where the manager serves External Metrics, it answers this
scaler with a number of the probe; an adapter and KEDA hand on the decision itself.
Where the manager sets the replicas by itself, a dry run does. The probe takes the
rights to create, get and delete Deployments and the scaler in the namespace. With
--gateway it also sends one short request to the model, and compares its TTFT with
the objective.

The exit status is 0 when nothing was found, 1 on a finding, 2 on bad usage.`,
		Example: `  wva doctor -n quick-start
  wva doctor llama-8b -n quick-start
  wva doctor -A -o json
  wva doctor --probe llama-8b -n quick-start
  wva doctor --probe llama-8b -n quick-start --gateway http://127.0.0.1:8000
  wva doctor --pre
  wva doctor -n quick-start -f variant.yaml -f hpa.yaml --skip WVA0501`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%w: doctor takes the name of one VariantAutoscaling at most, have %q", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				var err error
				if name, err = variantName("doctor", args[0]); err != nil {
					return err
				}
			}
			filter, err := f.filter(name)
			if err != nil {
				return err
			}
			return f.run(command, name, filter)
		},
	}
	flags := command.Flags()
	f.register(flags)
	flags.BoolVarP(&f.everywhere, "all-namespaces", "A", false, "look at the variants of every namespace")
	flags.BoolVar(&f.pre, "pre", false, "look only at what would be in the way of an installation")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "`file` with manifests that are not applied yet, - for standard input; may be repeated")
	flags.StringSliceVar(&f.only, "only", nil, "look for these findings only, as `CODES` such as WVA0601,WVA0602")
	flags.StringSliceVar(&f.skip, "skip", nil, "leave these findings out, as `CODES`")
	flags.StringVar(&f.prometheus, "prometheus", "", "base `URL` at which Prometheus is reached from here (default: that of the manager, through the API server)")
	flags.BoolVar(&f.active, "probe", false, "send a decision the whole way of the named VariantAutoscaling, to a target of the probe")
	flags.StringVar(&f.gateway, "gateway", "", "with --probe: base `URL` to which one request is sent, at /v1/completions")
	flags.StringVar(&f.model, "model", "", "with --gateway: `ID` of the model in the request (default: that of the variant)")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return command
}

// filter checks the flags and returns the filter for findings.
func (f doctorFlags) filter(name string) (doctor.Filter, error) {
	var out doctor.Filter
	switch {
	case f.output != "text" && f.output != "json":
		return out, fmt.Errorf("%w: --output %q: want text or json", errUsage, f.output)
	case f.everywhere && name != "":
		return out, fmt.Errorf("%w: doctor %s -A: want one VariantAutoscaling, or all namespaces", errUsage, name)
	case f.everywhere && f.namespace != "":
		return out, fmt.Errorf("%w: -n %s -A: want one namespace, or all", errUsage, f.namespace)
	case f.pre && (name != "" || len(f.files) > 0):
		return out, fmt.Errorf("%w: --pre looks at no VariantAutoscaling: want neither a name nor -f", errUsage)
	}
	if err := f.checkProbe(name); err != nil {
		return out, err
	}
	for _, flag := range []struct {
		name string
		from []string
		to   *[]doctor.Code
	}{{"only", f.only, &out.Only}, {"skip", f.skip, &out.Skip}} {
		for _, text := range flag.from {
			code := doctor.Code(strings.ToUpper(strings.TrimSpace(text)))
			if !doctor.Known(code) {
				return out, fmt.Errorf("%w: --%s %q: want codes of findings, such as WVA0601; all are in docs/reference/findings.md", errUsage, flag.name, text)
			}
			*flag.to = append(*flag.to, code)
		}
	}
	return out, nil
}

// checkProbe checks the flags of a probe of the named variant.
func (f doctorFlags) checkProbe(name string) error {
	switch {
	case f.active && name == "":
		return fmt.Errorf("%w: --probe: want the name of one VariantAutoscaling, --probe NAME", errUsage)
	case f.active && len(f.files) > 0:
		return fmt.Errorf("%w: --probe -f: a probe is of what is in the cluster, not of manifests", errUsage)
	case !f.active && f.gateway != "":
		return fmt.Errorf("%w: --gateway is for --probe", errUsage)
	case f.gateway == "" && f.model != "":
		return fmt.Errorf("%w: --model is for --gateway", errUsage)
	}
	if f.gateway != "" {
		if err := (loadgen.Options{URL: f.gateway, Model: "any"}).Validate(); err != nil {
			return fmt.Errorf("%w: --gateway %q: %w", errUsage, f.gateway, err)
		}
	}
	return nil
}

func (f doctorFlags) run(command *cobra.Command, name string, filter doctor.Filter) error {
	ctx, stop := context.WithTimeout(command.Context(), doctorWithin)
	defer stop()
	given, err := readUnapplied(f.files, command.InOrStdin())
	if err != nil {
		return err
	}
	progress := console.Visible(command.ErrOrStderr())
	examined, err := f.examine(ctx, given, progress)
	if err != nil {
		return err
	}
	if command.Context().Err() != nil {
		return command.Context().Err()
	}
	if name != "" {
		if err := examined.onlyVariant(ctx, name); err != nil {
			return err
		}
	}
	if f.active {
		if err := examined.probe(command.Context(), progress); err != nil {
			return err
		}
	}
	report := doctor.Diagnose(examined.Case, filter)
	if f.output == "json" {
		err = writeJSON(command.OutOrStdout(), report)
	} else {
		paint := console.Detect(command.OutOrStdout(), lookupEnv).Paint()
		err = printDiagnosis(console.Visible(command.OutOrStdout()), paint, report, examined.where())
	}
	if err == nil && report.Found > 0 {
		return errFinding
	}
	return err
}

// doctorWithin bounds a whole run, and readWithin each of its reads.
const doctorWithin, readWithin = 20 * time.Second, 8 * time.Second

// onlyVariant leaves one variant in the case. Its error suggests the name that may have been meant.
func (e *examination) onlyVariant(ctx context.Context, name string) error {
	for _, v := range e.Variants {
		if v.Object.Name == name && v.Object.Namespace == e.namespace {
			e.Variants = []doctor.Variant{v}
			return nil
		}
	}
	if m, missed := e.Missed[doctor.ReadVariants]; missed {
		return fmt.Errorf("looking for VariantAutoscaling %s in namespace %s: %s", name, e.namespace, m.Why)
	}
	if e.client == nil {
		return fmt.Errorf("there is no VariantAutoscaling %s in the manifests", name)
	}
	return absent(ctx, e.client, client.ObjectKey{Namespace: e.namespace, Name: name})
}

// where describes the scope of the examination.
func (e *examination) where() string {
	switch {
	case e.Pre:
		return "before an installation"
	case e.everywhere:
		return "all namespaces"
	}
	return "namespace " + e.namespace
}

// printDiagnosis writes a report as text, one block per stage.
func printDiagnosis(out io.Writer, paint console.Paint, report doctor.Report, where string) error {
	var b strings.Builder
	for _, stage := range report.Stages {
		if len(stage.Seen) == 0 && len(stage.Findings) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n%s\n", paint.Strong(stage.Stage), strings.Repeat("-", len(stage.Stage)))
		for _, seen := range stage.Seen {
			fmt.Fprintf(&b, "%s %s\n", paint.Good("√"), seen)
		}
		for _, f := range stage.Findings {
			printFinding(&b, paint, f)
		}
		b.WriteString("\n")
	}
	switch report.Found {
	case 0:
		fmt.Fprintf(&b, "%s: nothing found. Variants looked at: %d.\n", where, report.Variants)
	default:
		fmt.Fprintf(&b, "%s: %s. Variants looked at: %d.\n", where, findingsText(report.Found), report.Variants)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func findingsText(n int) string {
	if n == 1 {
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", n)
}

// printFinding writes one finding.
func printFinding(b *strings.Builder, paint console.Paint, f doctor.Finding) {
	about := ""
	if f.Object != "" {
		about = f.Object + ": "
	}
	fmt.Fprintf(b, "%s %s %s%s\n", paint.Bad("×"), paint.Strong(string(f.Code)), about, f.Sentence)
	for _, evidence := range f.Evidence {
		fmt.Fprintf(b, "    %s\n", evidence)
	}
	if n := len(f.Others); n > 0 {
		fmt.Fprintf(b, "    the same of %s\n", strings.Join(f.Others[:min(n, 10)], ", ")+more(n-10))
	}
	if f.Advice != "" {
		fmt.Fprintf(b, "    %s\n", f.Advice)
	}
	if f.Mend != "" {
		fmt.Fprintf(b, "    $ %s\n", f.Mend)
	}
	fmt.Fprintf(b, "    %s\n", paint.Faint(f.Page))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
