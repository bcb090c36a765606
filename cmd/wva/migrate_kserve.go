package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
)

// kserveFlags are the flags of "wva migrate kserve".
type kserveFlags struct {
	kubeconfig string
	files      []string
	at         kserveAddress
}

func newMigrateKServeCommand() *cobra.Command {
	var f kserveFlags
	command := &cobra.Command{
		Use:   "kserve",
		Short: "Print how LLMInferenceServices come from spec.scaling.wva to triggers that ask the manager",
		Long: `Kserve reads LLMInferenceServices whose spec.scaling.wva asks for this autoscaler.
KServe makes VariantAutoscalings of it up to 0.20, which later releases delete when
they start, and spec.scaling.wva is to be removed. For each service it prints what
an upgrade of KServe would do to it, and the commands of a way on which no step
takes a replica: to a trigger under spec.scaling.keda that asks the manager's
external scaler, and VariantAutoscalings of your own.

It changes nothing. The exit status is 0 where no service has spec.scaling.wva, 1
where one has, 2 for bad usage.`,
		Example: "  wva migrate kserve\n  wva migrate kserve -f services.yaml -f deployments.yaml",
		Args:    noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return f.run(command.Context(), command.InOrStdin(), console.Visible(command.OutOrStdout()))
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else the usual place)")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "`file` with LLMInferenceServices and, for their replicas, the Deployments or LeaderWorkerSets, in place of the cluster; - is standard input")
	flags.StringVar(&f.at.scaler, "scaler-address", "workload-variant-autoscaler-external-scaler.workload-variant-autoscaler-system.svc:9443", "`host:port` of the external scaler")
	flags.StringVar(&f.at.authentication, "scaler-authentication", "workload-variant-autoscaler-external-scaler", "`name` of the ClusterTriggerAuthentication for it")
	return command
}

func (f kserveFlags) run(ctx context.Context, stdin io.Reader, out io.Writer) error {
	services, err := f.read(ctx, stdin)
	if err != nil {
		return err
	}
	if len(services) == 0 {
		_, err := fmt.Fprintln(out, "No LLMInferenceService has spec.scaling.wva.")
		return err
	}
	for i, s := range services {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := s.print(out, f.at); err != nil {
			return err
		}
	}
	return errFinding
}

// read returns the services, by namespace and name.
func (f kserveFlags) read(ctx context.Context, stdin io.Reader) ([]kserveService, error) {
	objects, err := f.objects(ctx, stdin)
	if err != nil {
		return nil, err
	}
	var services []kserveService
	replicas := map[string]int64{}
	for i := range objects {
		if targetReplicas(replicas, &objects[i]); objects[i].GetKind() != kserveKind {
			continue
		}
		if s, ok := readKServe(&objects[i]); ok {
			services = append(services, s)
		}
	}
	for _, s := range services {
		s.knows(replicas)
	}
	slices.SortFunc(services, func(a, b kserveService) int { return strings.Compare(a.String(), b.String()) })
	return services, nil
}

// objects returns the objects of the files, else of the cluster.
func (f kserveFlags) objects(ctx context.Context, stdin io.Reader) ([]unstructured.Unstructured, error) {
	if len(f.files) == 0 {
		c, err := migrateFlags{kubeconfig: f.kubeconfig}.connect()
		if err != nil {
			return nil, err
		}
		return kserveObjects(ctx, c)
	}
	var all []unstructured.Unstructured
	for _, file := range f.files {
		err := eachDocument(file, stdin, func(at string, document []byte) error {
			objects, err := objectsOf(document)
			if err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			all = append(all, objects...)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the services: %w", err)
		}
	}
	return all, nil
}

// objectsOf returns the objects of a YAML document, and the items of a List.
func objectsOf(document []byte) ([]unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON(document)
	if err != nil || bytes.Equal(data, []byte("null")) { // null: comments only
		return nil, err
	}
	o := unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	all := []unstructured.Unstructured{o}
	if o.IsList() {
		list, err := o.ToList()
		if err != nil {
			return nil, err
		}
		all = list.Items
	}
	for i := range all {
		if err := checkNames(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkNames refuses names that no API server accepts: they are part of the printed commands.
func checkNames(o *unstructured.Unstructured) error {
	for _, field := range []struct{ path, name string }{{"metadata.namespace", o.GetNamespace()}, {"metadata.name", o.GetName()}} {
		if wrong := validation.IsDNS1123Subdomain(field.name); field.name != "" && len(wrong) > 0 {
			return fmt.Errorf("%s: %s %q is not accepted: %s", o.GetKind(), field.path, field.name, wrong[0])
		}
	}
	return nil
}

// kserveObjects returns the services of a cluster, and the targets of those that use WVA. It
// returns none where the kind is not installed.
func kserveObjects(ctx context.Context, c client.Client) ([]unstructured.Unstructured, error) {
	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: kserveGroup, Kind: kserveKind})
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for %s: %w", kserveKind, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kserveKind + "List"))
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", kserveKind, err)
	}
	all := slices.Clone(list.Items)
	for i := range list.Items {
		s, _ := readKServe(&list.Items[i])
		for _, w := range s.workloads {
			target := &unstructured.Unstructured{}
			target.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: w.kind})
			if w.kind != "Deployment" {
				target.SetGroupVersionKind(schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: w.kind})
			}
			switch err := c.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: w.target}, target); {
			case err == nil:
				all = append(all, *target)
			case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
				return nil, fmt.Errorf("reading %s %s/%s: %w", w.kind, s.namespace, w.target, err)
			}
		}
	}
	return all, nil
}

// print writes the effects of an upgrade on a service, and the migration.
func (s kserveService) print(out io.Writer, at kserveAddress) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: spec.scaling.wva, carried out by a %s\n", s, s.scalerKind())
	table := console.Table{Columns: []console.Column{
		console.Left("# WORKLOAD"), console.Left("TARGET"), console.Left("SCALER"), console.Left("VARIANT OF KSERVE"), console.Right("REPLICAS"), console.Right("BOUNDS"),
	}}
	now := s.counts(func(_ int, w kserveWorkload) int64 { return *w.replicas })
	for i, w := range s.workloads {
		table.Rows = append(table.Rows, []string{"# " + w.role, w.kind + "/" + w.target, w.scaler, w.variant, now[i], fmt.Sprintf("%d..%d", w.floor(), w.max)})
	}
	if err := table.Write(&b); err != nil {
		return err
	}
	b.WriteString("#\n")
	for _, text := range s.warnings() {
		fmt.Fprintf(&b, "# ! %s\n", text)
	}
	b.WriteString("#\n")
	steps := console.Table{Columns: []console.Column{console.Left("# STEP")}}
	for _, w := range s.workloads {
		steps.Columns = append(steps.Columns, console.Right("LEAST "+strings.ToUpper(w.role)))
	}
	steps.Columns = append(steps.Columns, console.Left("WHAT"))
	for n, step := range s.steps() {
		row := []string{fmt.Sprintf("# %d", n+1)}
		row = append(row, s.counts(func(i int, w kserveWorkload) int64 { return step.after[i].least(*w.replicas) })...)
		steps.Rows = append(steps.Rows, append(row, step.what))
	}
	if err := steps.Write(&b); err != nil {
		return err
	}
	if err := s.commands(&b, at); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// warnings returns what an upgrade of KServe would do.
func (s kserveService) warnings() []string {
	said := []string{
		"KServe after 0.20 deletes every VariantAutoscaling with the label app.kubernetes.io/part-of=llminferenceservice when it starts: do steps 1 and 2 first.",
		"spec.scaling.wva is to be removed from KServe; spec.scaling.keda stays.",
	}
	for _, w := range s.workloads {
		const longest = 63 // of a name; KServe ends longer ones in a hash
		if len(w.scaler) > longest {
			said = append(said, w.role+": KServe shortens the names of what it makes. Correct those of the target and of the scaler below.")
		}
		switch {
		case w.replicas == nil:
			said = append(said, fmt.Sprintf("%s: how many replicas run is not known. Put the number in place of %s: kubectl -n %s get %s %s", w.role, unknownReplicas, s.namespace, strings.ToLower(w.kind), w.target))
		case s.unheld(w) < *w.replicas:
			said = append(said, fmt.Sprintf("%s: without step 1 KEDA may leave %d of %d replicas in step 3, because it takes a series that is missing for 0.", w.role, s.unheld(w), *w.replicas))
		}
	}
	if s.hpa {
		said = append(said, "KServe's HPA has a target of type Value, which multiplies what runs with the metric: step 4 ends that.")
	}
	if len(s.workloads) > 1 {
		said = append(said, "Main (decode) and prefill change together: keep both scaled, or the manager holds both at what runs.")
	}
	return said
}

// commands writes the commands of each step.
func (s kserveService) commands(b *strings.Builder, at kserveAddress) error {
	patch := func(scaling func(kserveWorkload) map[string]any) error {
		text, err := json.Marshal(s.patch(scaling))
		if err != nil {
			return fmt.Errorf("writing the patch of %s: %w", s, err)
		}
		number := strings.ReplaceAll(string(text), `"`+unknownReplicas+`"`, unknownReplicas)
		fmt.Fprintf(b, "kubectl -n %s patch llminferenceservice %s --type merge -p '%s'\n", s.namespace, s.name, number)
		return nil
	}
	document := func(o map[string]any) error {
		text, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("writing an object for %s: %w", s, err)
		}
		b.Write(text)
		return nil
	}
	b.WriteString("\n# Step 1\n")
	if err := patch(s.holding); err != nil {
		return err
	}
	b.WriteString("\n# Step 2\nkubectl apply -f - <<'EOF'\n")
	for i, va := range s.variants() {
		if i > 0 {
			b.WriteString("---\n")
		}
		if err := document(va); err != nil {
			return err
		}
	}
	b.WriteString("EOF\n\n# Step 3: upgrade KServe to a release that has spec.scaling.keda.triggers\n\n")
	b.WriteString("# Step 4: what becomes of spec.scaling is also what belongs into your manifest\n")
	fmt.Fprintf(b, "kubectl -n %s patch llminferenceservice %s --type merge --patch-file /dev/stdin <<'EOF'\n", s.namespace, s.name)
	if err := document(s.patch(func(w kserveWorkload) map[string]any { return s.direct(w, at) })); err != nil {
		return err
	}
	b.WriteString("EOF\n\n# Step 5\n")
	for _, w := range s.workloads {
		scaler := strings.TrimSuffix(strings.TrimSuffix(w.scaler, "-hpa"), "-keda") + "-keda"
		fmt.Fprintf(b, "kubectl -n %s wait --for=condition=Ready scaledobject/%s --timeout=2m\n", s.namespace, scaler)
	}
	return patch(s.releasing)
}
