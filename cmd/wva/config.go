package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func newConfigCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration before it is applied",
		Args:  cobra.ArbitraryArgs, // so that an unknown command comes to RunE
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(command, args[0])
			}
			return command.Help()
		},
	}
	command.AddCommand(newConfigCheckCommand())
	return command
}

// configCheckFlags are the flags of "wva config check".
type configCheckFlags struct {
	files                        []string
	output                       string
	namespace, systemNamespace   string
	settingsName, saturationName string
	allowInsecurePrometheus      bool
}

func newConfigCheckCommand() *cobra.Command {
	var f configCheckFlags
	command := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check ConfigMaps and VariantAutoscalings in files, without a cluster",
		Long: `Check reads manifests and says what the manager would find in its ConfigMaps,
and what the API server would say of VariantAutoscalings: fields, ranges, and the
rules of the definition. It looks at what belongs together too: a class that a
VariantAutoscaling refers to, the unit cost of its accelerator, and where there is
any VariantAutoscaling the models that entries are for. Other objects are passed
over.

A ConfigMap in another than the system namespace is taken for the overrides of
that namespace.

The exit status is 1 when something is refused, 0 when nothing is, doubts
included, and 2 for bad usage.`,
		Example: `  wva config check config.yaml variants.yaml
  helm template charts/workload-variant-autoscaler -n workload-variant-autoscaler-system | wva config check - -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, args []string) error {
			f.files = append(f.files, args...)
			return f.run(command)
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, "`file` with manifests, as FILE; may be repeated")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of VariantAutoscalings that name none")
	flags.StringVar(&f.systemNamespace, "system-namespace", "workload-variant-autoscaler-system", "namespace of the manager, and of ConfigMaps that name none")
	flags.StringVar(&f.settingsName, "config-map-name", "", "name of the ConfigMap with the settings, as CONFIG_MAP_NAME of the manager")
	flags.StringVar(&f.saturationName, "saturation-config-map-name", "", "name of the ConfigMap with the thresholds, as SATURATION_CONFIG_MAP_NAME of the manager")
	flags.BoolVar(&f.allowInsecurePrometheus, "allow-insecure-prometheus", false, "accept a Prometheus URL without https, as the manager with this flag")
	return command
}

func (f configCheckFlags) validate() error {
	switch {
	case len(f.files) == 0:
		return errors.New("no file: want the manifests to check, such as wva config check FILE, - for standard input")
	case f.output != "table" && f.output != "json":
		return fmt.Errorf("--output %q: want table or json", f.output)
	}
	return nil
}

func (f configCheckFlags) run(command *cobra.Command) error {
	if err := f.validate(); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	read, err := readManifests(f.files, command.InOrStdin())
	if err != nil {
		return err
	}
	objects, err := newSchema()
	if err != nil {
		return err
	}
	report, err := f.check(command.Context(), read, objects)
	if err != nil {
		return err
	}
	if f.output == "json" {
		err = writeJSON(command.OutOrStdout(), report)
	} else {
		err = report.print(command.OutOrStdout())
	}
	if err == nil && report.refused() > 0 {
		return errFinding
	}
	return err
}

// checkReport is the answer of "wva config check".
type checkReport struct {
	ConfigMaps          int            `json:"configMaps"`          // checked
	VariantAutoscalings int            `json:"variantAutoscalings"` // checked
	Others              int            `json:"others"`              // skipped
	Findings            []checkFinding `json:"findings"`
}

// checkFinding is one fault or doubt that the user must know about.
type checkFinding struct {
	Severity  config.Severity `json:"severity"`
	File      string          `json:"file,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name,omitempty"`
	Field     string          `json:"field,omitempty"` // key and field, or path
	Message   string          `json:"message"`
}

func (r checkReport) refused() int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == config.Refused {
			n++
		}
	}
	return n
}

// print writes the report as text.
func (r checkReport) print(w io.Writer) error {
	table := console.Table{Columns: []console.Column{
		console.Left("SEVERITY"), console.Left("OBJECT"), console.Left("FIELD"), console.Left("FINDING"),
	}}
	for _, f := range r.Findings {
		object := f.File
		if f.Kind != "" {
			object = fmt.Sprintf("%s %s/%s", f.Kind, f.Namespace, f.Name)
		}
		table.Rows = append(table.Rows, []string{string(f.Severity), object, f.Field, f.Message})
	}
	var err error
	if len(table.Rows) > 0 {
		err = table.Write(w)
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Checked: ConfigMaps %d, VariantAutoscalings %d; passed over: %d. Refused: %d, doubtful: %d.\n",
		r.ConfigMaps, r.VariantAutoscalings, r.Others, r.refused(), len(r.Findings)-r.refused())
	return err
}

// check checks the manifests.
func (f configCheckFlags) check(ctx context.Context, read manifests, objects objectSchema) (checkReport, error) {
	names := config.PublishedNames().With(config.KindSettings, f.settingsName).With(config.KindSaturation, f.saturationName).WithPrefixed(f.systemNames(read))
	store, err := config.NewStore(config.StoreOptions{
		SystemNamespace: f.systemNamespace, Names: names, AllowInsecurePrometheus: f.allowInsecurePrometheus,
	})
	if err != nil {
		return checkReport{}, err
	}
	report := checkReport{Findings: read.findings, Others: read.others}
	maps := f.configMaps(&report, read, names)
	known := map[config.Finding]bool{}
	for _, found := range store.Apply(maps).Findings {
		known[found] = true
		report.Findings = append(report.Findings, ofConfigMap(found))
	}
	check := variantCheck{schema: objects, snapshot: store.Snapshot(), given: given(maps, names), namespace: f.namespace, known: known}
	for _, m := range read.variants {
		report.VariantAutoscalings++
		report.Findings = append(report.Findings, check.findings(ctx, m)...)
	}
	if len(read.variants) > 0 { // without any, nothing tells what is served
		for _, found := range store.Snapshot().Unserved(f.served(read.variants)) {
			report.Findings = append(report.Findings, ofConfigMap(found))
		}
	}
	return report, nil
}

// served returns the models that objects name, even if other fields are wrong.
func (f configCheckFlags) served(objects []manifest) []scaling.ModelKey {
	out := make([]scaling.ModelKey, 0, len(objects))
	for _, m := range objects {
		metadata, _ := m.object["metadata"].(map[string]any)
		spec, _ := m.object["spec"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		id, _ := spec["modelID"].(string)
		out = append(out, scaling.ModelKey{Namespace: cmp.Or(namespace, f.namespace), ID: id})
	}
	return out
}

// systemNames returns the names of the ConfigMaps of the system namespace. Those of a release are
// among them.
func (f configCheckFlags) systemNames(read manifests) []string {
	var names []string
	for _, m := range read.configMaps {
		if cmp.Or(m.Namespace, f.systemNamespace) == f.systemNamespace {
			names = append(names, m.Name)
		}
	}
	return names
}

// configMaps returns the ConfigMaps that a manager would read, and reports those with a similar
// name.
func (f configCheckFlags) configMaps(report *checkReport, read manifests, names config.Names) []config.Source {
	var out []config.Source
	for _, m := range read.configMaps {
		if m.Namespace == "" {
			m.Namespace = f.systemNamespace
		}
		if _, ok := names.KindOf(m.Name); ok {
			report.ConfigMaps++
			same := func(other config.Source) bool { return other.Namespace == m.Namespace && other.Name == m.Name }
			if slices.ContainsFunc(out, same) {
				out = slices.DeleteFunc(out, same)
				report.Findings = append(report.Findings, checkFinding{
					Severity: config.Doubtful, Kind: "ConfigMap", Namespace: m.Namespace, Name: m.Name,
					Message: "is there more than once: the last one is what remains, and is checked",
				})
			}
			out = append(out, m)
			continue
		}
		report.Others++
		if near := names.Nearest(m.Name); near != "" {
			report.Findings = append(report.Findings, checkFinding{
				Severity: config.Doubtful, Kind: "ConfigMap", Namespace: m.Namespace, Name: m.Name,
				Message: "is not a name that the manager reads by itself: want " + near +
					", or CONFIG_MAP_NAME or SATURATION_CONFIG_MAP_NAME with this name",
			})
		}
	}
	return out
}

func ofConfigMap(f config.Finding) checkFinding {
	return checkFinding{
		Severity: f.Severity, Kind: "ConfigMap", Namespace: f.Namespace, Name: f.ConfigMap, Field: f.Place(), Message: f.Message(),
	}
}

// given returns the kinds of the ConfigMaps that exist.
func given(maps []config.Source, names config.Names) map[config.Kind]bool {
	out := map[config.Kind]bool{}
	for _, m := range maps {
		if kind, ok := names.KindOf(m.Name); ok {
			out[kind] = true
		}
	}
	return out
}
