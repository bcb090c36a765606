package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// scope is the set of VariantAutoscalings that one manager serves.
type scope struct {
	manager             string // its Deployment, namespace/name
	namespace, instance string // "" for all, or where it is unknown
}

// serves reports whether the manager serves objects of a namespace and a controller instance.
func (s scope) serves(namespace, instance string) bool {
	return (s.namespace == "" || s.namespace == namespace) && (s.instance == "" || s.instance == instance)
}

// String describes what the manager serves.
func (s scope) String() string {
	of := []string{"every namespace"}
	if s.namespace != "" {
		of[0] = "namespace " + s.namespace
	}
	if s.instance != "" {
		of = append(of, "controller instance "+s.instance)
	}
	return s.manager + " serves " + strings.Join(of, ", ")
}

// managerScopes returns the scopes of the managers of every version that should run, from the
// Deployments of the published charts and manifests and of ours.
func managerScopes(ctx context.Context, c client.Client) ([]scope, error) {
	deployments, err := managerDeployments(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("listing the Deployments of managers: %w", err)
	}
	scopes := make([]scope, len(deployments))
	for i := range deployments {
		scopes[i] = scopeOf(&deployments[i])
	}
	return scopes, nil
}

// managerDeployments returns the Deployments of managers that should run. In our chart only the
// pods have the label control-plane.
func managerDeployments(ctx context.Context, c client.Reader) ([]appsv1.Deployment, error) {
	var list appsv1.DeploymentList
	if err := c.List(ctx, &list, client.MatchingLabels{"app.kubernetes.io/name": "workload-variant-autoscaler"}); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(d appsv1.Deployment) bool {
		return ptr.Deref(d.Spec.Replicas, 1) == 0 || d.Spec.Template.Labels["control-plane"] != "controller-manager"
	}), nil
}

// scopeOf returns the scope of a manager by the flags and variables of its Deployment. Flags win.
func scopeOf(d *appsv1.Deployment) scope {
	s := scope{manager: d.Namespace + "/" + d.Name}
	containers := d.Spec.Template.Spec.Containers
	i := max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "manager" }))
	if i >= len(containers) {
		return s
	}
	env := map[string]string{}
	for _, e := range containers[i].Env {
		switch from := e.ValueFrom; {
		case from == nil:
			env[e.Name] = e.Value
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			env[e.Name] = d.Namespace
		}
	}
	args := slices.Concat(containers[i].Command, containers[i].Args)
	s.namespace = setting(args, env, "watch-namespace", "WATCH_NAMESPACE")
	s.instance = setting(args, env, "controller-instance", "CONTROLLER_INSTANCE")
	return s
}

// setting returns the value of a flag, else of a variable. It returns "" where there is none, or
// where it refers to a variable whose value is not in the Deployment.
func setting(args []string, env map[string]string, flag, variable string) string {
	value := env[variable]
	for i, arg := range args {
		name, text, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != flag || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !ok && i+1 < len(args) {
			text = args[i+1]
		}
		value = text
	}
	if name, ok := strings.CutPrefix(value, "$("); ok {
		value = env[strings.TrimSuffix(name, ")")]
	}
	return value
}

// surveyServed returns the VariantAutoscalings that no manager serves, if any manager should run.
// The user decides which one should serve them.
func surveyServed(scopes []scope, vas []unstructured.Unstructured) []leftover {
	if len(scopes) == 0 {
		return nil
	}
	var out []leftover
	for i := range vas {
		va := &vas[i]
		instance := va.GetLabels()[v1alpha1.LabelControllerInstance]
		if slices.ContainsFunc(scopes, func(s scope) bool { return s.serves(va.GetNamespace(), instance) }) {
			continue
		}
		found, remedy := "no manager serves its namespace: ", "serve it (watchNamespace of the chart, of an earlier one wva.namespaceScoped), or delete it"
		if slices.ContainsFunc(scopes, func(s scope) bool { return s.namespace == "" || s.namespace == va.GetNamespace() }) {
			found = fmt.Sprintf("no manager serves its controller instance %q: ", instance)
			remedy = "correct the label " + v1alpha1.LabelControllerInstance + ", or install a manager of that instance"
		}
		out = append(out, leftover{finding: finding{
			State: stateByHand, Namespace: va.GetNamespace(), Kind: va.GetKind(), Name: va.GetName(),
			Found: found + scaling.FirstOf(scopes, 2, scope.String), Remedy: remedy,
		}})
	}
	return out
}
