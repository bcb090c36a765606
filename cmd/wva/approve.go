package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// approveFlags are the flags of "wva approve".
type approveFlags struct {
	managerFlags

	replicas int
}

func newApproveCommand() *cobra.Command {
	var f approveFlags
	command := &cobra.Command{
		Use:   "approve VA",
		Short: "Approve the reduction that a VariantAutoscaling waits for",
		Long: `Approve approves the reduction of replicas that waits, of a VariantAutoscaling or
an annotated scaler with the annotation wva.llmd.ai/approve: shrink. It sets the
annotation wva.llmd.ai/approved on the object, with the rights of the kubeconfig:
they must allow to patch the object.

The approval names the reduction, by the cycle in which it began to wait, and the
number of replicas. It holds for that reduction, down to that number. It does not
hold any more once the decision is another: no reduction, growth, or a later one.

Of a VariantAutoscaling the status says what waits; of an annotated scaler the
manager is asked, as by "wva explain".

The exit status is 0 when the approval is set, 1 when nothing waits or the object
cannot be read or patched.`,
		Example: `  wva approve llama-8b -n quick-start
  wva approve llama-8b -n quick-start --replicas 3
  wva approve hpa/llama-8b -n quick-start`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: approve takes the name of one VariantAutoscaling, have %q", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			of, err := approvable(args[0])
			if err != nil {
				return err
			}
			if command.Flags().Changed("replicas") && f.replicas < 0 {
				return fmt.Errorf("%w: --replicas %d: want 0 or more", errUsage, f.replicas)
			}
			return f.run(command.Context(), console.Visible(command.OutOrStdout()), of)
		},
	}
	flags := command.Flags()
	f.register(flags)
	flags.IntVar(&f.replicas, "replicas", -1, "approve down to so many replicas only (default: as many as the reduction asks for)")
	return command
}

// The kinds of objects that carry an approval.
var (
	kindVA = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	kindSO = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: scaling.KindScaledObject}
	kindHP = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: scaling.KindHPA}
)

// named identifies an object by its kind and name.
type named struct {
	kind schema.GroupVersionKind
	name string
}

// approvable returns the object that an argument means: NAME or va/NAME for a
// VariantAutoscaling, hpa/NAME or so/NAME for an annotated scaler.
func approvable(arg string) (named, error) {
	kind, name, typed := strings.Cut(arg, "/")
	if !typed {
		kind, name = "va", arg
	}
	kinds := map[string]schema.GroupVersionKind{
		"va": kindVA, "variantautoscaling": kindVA, "variantautoscalings": kindVA,
		"hpa": kindHP, "horizontalpodautoscaler": kindHP, "horizontalpodautoscalers": kindHP,
		"so": kindSO, "scaledobject": kindSO, "scaledobjects": kindSO,
	}
	of, ok := kinds[strings.ToLower(kind)]
	if !ok || name == "" || strings.Contains(name, "/") {
		return named{}, fmt.Errorf("%w: approve %q: want the name of a VariantAutoscaling, NAME or va/NAME, or of an annotated scaler, hpa/NAME or so/NAME", errUsage, arg)
	}
	return named{of, name}, nil
}

func (f approveFlags) run(ctx context.Context, out io.Writer, of named) error {
	restConfig, c, err := f.connect()
	if err != nil {
		return err
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(of.kind)
	object.Namespace, object.Name = f.namespace, of.name
	waits, err := f.waiting(ctx, restConfig, c, object)
	if err != nil {
		return err
	}
	to := waits.To
	if f.replicas >= 0 {
		to = scaling.Replicas(f.replicas)
		if to < waits.To || to >= waits.From {
			return fmt.Errorf("%w: --replicas %d: the reduction that waits is from %d to %d; want %[4]d or more, and fewer than %[3]d", errUsage, to, waits.From, waits.To)
		}
	}
	grant := scaling.Grant{Cycle: waits.Cycle, To: to}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationApproved: grant.String()}}})
	if err != nil {
		return fmt.Errorf("making the patch: %w", err)
	}
	if err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("setting the annotation %s of %s %s/%s: %w", v1alpha1.AnnotationApproved, of.kind.Kind, f.namespace, of.name, err)
	}
	_, err = fmt.Fprintf(out, "%s/%s: approved from %d to %s, of the decision of cycle %s\n", f.namespace, of.name, waits.From, to.Text(), waits.Cycle)
	return err
}

// waiting returns the reduction of an object that waits for approval, or an error if there is none.
func (f approveFlags) waiting(ctx context.Context, restConfig *rest.Config, c client.Client, object *metav1.PartialObjectMetadata) (scaling.Reduction, error) {
	kind, key := object.GroupVersionKind(), client.ObjectKeyFromObject(object)
	err := c.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err) && kind == kindVA:
		return scaling.Reduction{}, absent(ctx, c, key)
	case err != nil:
		return scaling.Reduction{}, fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	object.SetGroupVersionKind(kind) // a typed client may leave it out
	asks, ok := object.Annotations[v1alpha1.AnnotationApprove]
	if required, _ := scaling.ParseApproval(asks); !ok || !required.Required {
		return scaling.Reduction{}, fmt.Errorf("%s %s: its reductions need no approval: it has no annotation %s: shrink", kind.Kind, key, v1alpha1.AnnotationApprove)
	}
	if kind == kindVA {
		if r, ok, err := f.ofStatus(ctx, c, key); ok || err != nil {
			return r, err
		}
	}
	var e explain.Explanation
	if err := f.ask(ctx, restConfig, c, web.DecisionsPath+"/"+key.Namespace+"/"+key.Name, &e); err != nil {
		return scaling.Reduction{}, err
	}
	if r := e.Decision.Reduction; r.Waits() {
		return r, nil
	}
	return scaling.Reduction{}, nothingWaits(kind.Kind, key, e.Decision.Reduction.Approved)
}

// ofStatus returns the waiting reduction in the status of a VariantAutoscaling. It returns false
// where the installed definition is of a version without facts.
func (approveFlags) ofStatus(ctx context.Context, c client.Client, key client.ObjectKey) (scaling.Reduction, bool, error) {
	var va v1alpha1.VariantAutoscaling
	if err := c.Get(ctx, key, &va); err != nil {
		return scaling.Reduction{}, false, fmt.Errorf("reading VariantAutoscaling %s: %w", key, err)
	}
	condition := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionChangesAllowed))
	if condition == nil || condition.Reason != string(v1alpha1.ReasonAwaitingApproval) {
		return scaling.Reduction{}, false, nothingWaits(v1alpha1.Kind, key, condition != nil && condition.Reason == string(v1alpha1.ReasonApproved))
	}
	r, ok := scaling.ReductionIn(va.Status.Facts[condition.Type])
	return r, ok, nil
}

// nothingWaits returns the error that no reduction waits.
func nothingWaits(kind string, key client.ObjectKey, approved bool) error {
	if approved {
		return fmt.Errorf("%s %s: its reduction is approved already and under way", kind, key)
	}
	return fmt.Errorf("%s %s: no reduction waits for approval", kind, key)
}
