package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// Kinds that not every cluster has.
var (
	scaledObjectKind    = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
	leaderWorkerSetKind = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}
	serviceMonitorKind  = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
	podMonitorKind      = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}
	apiServiceKind      = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
)

const externalMetricsAPI = "v1beta1.external.metrics.k8s.io"

// managerLabels selects the pods of managers.
var managerLabels = client.MatchingLabels{"control-plane": "controller-manager", "app.kubernetes.io/name": "workload-variant-autoscaler"}

func serverVersion(ctx context.Context, config *rest.Config) (string, error) {
	c, err := k8sdiscovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	v, err := c.ServerVersionWithContext(ctx)
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}

// before returns the reads before an installation.
func (e *examination) before() []look {
	return []look{
		{doctor.ReadDefinition, e.readDefinition},
		{doctor.ReadAPIService, e.readAPIService},
		{doctor.ReadOwnRights, e.readOwnRights},
	}
}

// first returns the reads that depend on no other read.
func (e *examination) first() []look {
	return []look{
		{doctor.ReadDefinition, e.readDefinition},
		{doctor.ReadVariants, e.readVariants},
		{doctor.ReadLease, e.readLease},
		{doctor.ReadManagers, e.readManagers},
		{doctor.ReadManagerPods, e.readManagerPods},
		{doctor.ReadNamespaces, e.readNamespaces},
		{doctor.ReadConfig, e.readConfigMaps},
		{doctor.ReadWorkloads, e.readWorkloads},
		{doctor.ReadPods, e.readPods},
		{doctor.ReadHPAs, func(ctx context.Context) error {
			return e.orUnread(e.list(ctx, &autoscalingv2.HorizontalPodAutoscalerList{}, e.inScope()...), autoscalingv2.SchemeGroupVersion.WithKind(scaling.KindHPA))
		}},
		{doctor.ReadKEDA, func(ctx context.Context) error { return e.listOptional(ctx, scaledObjectKind) }},
		{doctor.ReadAPIService, e.readAPIService},
		{doctor.ReadMonitors, e.readMonitors},
		{doctor.ReadServices, e.readServices},
		{doctor.ReadPolicies, e.readPolicies},
	}
}

// then returns the reads that depend on the first.
func (e *examination) then() []look {
	return []look{
		{doctor.ReadAnswer, e.readAnswer},
		{doctor.ReadRights, e.readRights},
	}
}

// orUnread notes for the discovery that a kind could not be listed, if err says so.
func (e *examination) orUnread(err error, kind schema.GroupVersionKind) error {
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.held.unread[kind.GroupKind()] = true
	}
	return err
}

// listOptional lists a kind that not every cluster has.
func (e *examination) listOptional(ctx context.Context, kind schema.GroupVersionKind) error {
	err := e.list(ctx, untypedOf(kind), e.inScope()...)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.held.absent[kind.GroupKind()] = true
		return nil
	}
	return e.orUnread(err, kind)
}

func (e *examination) readDefinition(ctx context.Context) error {
	ours, theirs, err := definitions(ctx, e.client)
	switch {
	case apierrors.IsNotFound(err):
		e.Definition.Absent = true
		return nil
	case err != nil:
		return err
	}
	e.Definition.Older = olderDefinition(ours, theirs)
	return nil
}

func (e *examination) readVariants(ctx context.Context) error {
	err := e.list(ctx, &v1alpha1.VariantAutoscalingList{}, e.inScope()...)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil // the definition is missing, which is its own finding
	}
	return err
}

func (e *examination) readLease(ctx context.Context) error {
	e.Lease.Name = e.lease.String()
	var held coordinationv1.Lease
	if err := e.client.Get(ctx, e.lease, &held); err != nil {
		return client.IgnoreNotFound(err)
	}
	e.Lease.Present, e.Lease.Holder = true, ptr.Deref(held.Spec.HolderIdentity, "")
	e.Lease.Lasts = time.Duration(ptr.Deref(held.Spec.LeaseDurationSeconds, 0)) * time.Second
	if held.Spec.RenewTime != nil {
		e.Lease.Renewed = held.Spec.RenewTime.Time
	}
	if e.Lease.Holder == "" {
		return nil
	}
	var pod corev1.Pod
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.lease.Namespace, Name: holder(e.Lease.Holder)}, &pod)
	e.Lease.Pod = err == nil
	return client.IgnoreNotFound(err)
}

func (e *examination) readManagers(ctx context.Context) error {
	deployments, err := managerDeployments(ctx, e.client)
	if err != nil {
		return err
	}
	for i := range deployments {
		d := &deployments[i]
		s := scopeOf(d)
		e.managers = append(e.managers, *d)
		e.Managers = append(e.Managers, doctor.Manager{Name: s.manager, Namespace: s.namespace, Instance: s.instance, Serves: s.String(), External: servesExternal(d)})
	}
	return nil
}

// servesExternal reports whether a Deployment of managers serves External Metrics.
func servesExternal(d *appsv1.Deployment) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		env := map[string]string{}
		for _, v := range c.Env {
			env[v.Name] = v.Value
		}
		if setting(slices.Concat(c.Command, c.Args), env, "external-metrics-bind-address", "EXTERNAL_METRICS_BIND_ADDRESS") != "" {
			return true
		}
	}
	return false
}

func (e *examination) readManagerPods(ctx context.Context) error {
	var list corev1.PodList
	if err := e.client.List(ctx, &list, client.InNamespace(e.System), managerLabels); err != nil {
		return err
	}
	e.Pods = list.Items
	return nil
}

func (e *examination) readNamespaces(ctx context.Context) error {
	var list corev1.NamespaceList
	if err := e.client.List(ctx, &list); err != nil {
		return err
	}
	all := make(map[string]corev1.Namespace, len(list.Items))
	for _, ns := range list.Items {
		all[ns.Name] = ns
	}
	e.Namespaces = all
	return nil
}

// readConfigMaps lists the ConfigMaps of the manager's namespace, and in the other namespaces those
// whose name the manager reads.
func (e *examination) readConfigMaps(ctx context.Context) error {
	if err := e.list(ctx, &corev1.ConfigMapList{}, client.InNamespace(e.System)); err != nil {
		return err
	}
	if e.namespace == e.System {
		return nil
	}
	for _, kind := range config.Kinds() {
		for _, name := range config.PublishedNames()[kind] {
			var list corev1.ConfigMapList
			if err := e.client.List(ctx, &list, append(e.inScope(), client.MatchingFields{"metadata.name": name})...); err != nil {
				return err
			}
			list.Items = slices.DeleteFunc(list.Items, func(m corev1.ConfigMap) bool { return m.Namespace == e.System })
			e.mu.Lock()
			err := e.held.put(&list)
			e.mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readConfig reads ConfigMaps as the manager does.
func (e *examination) readConfig(maps []corev1.ConfigMap) error {
	var own []string
	for _, m := range maps {
		if m.Namespace == e.System {
			own = append(own, m.Name)
		}
	}
	names := config.PublishedNames().WithPrefixed(own)
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: e.System, Names: names, AllowInsecurePrometheus: true})
	if err != nil {
		return err
	}
	var sources []config.Source
	for _, m := range maps {
		kind, ok := names.KindOf(m.Name)
		if !ok {
			continue
		}
		sources = append(sources, config.Source{Namespace: m.Namespace, Name: m.Name, Data: m.Data})
		if kind == config.KindServiceClasses {
			e.Config.ClassModels = append(e.Config.ClassModels, modelsOf(m.Data)...)
		}
	}
	for _, f := range store.Apply(sources).Findings {
		if f.Severity == config.Refused {
			e.Config.Refused = append(e.Config.Refused, f)
		}
	}
	slices.Sort(e.Config.ClassModels)
	e.Config.ClassModels = slices.Compact(e.Config.ClassModels)
	e.Config.Policy = store.Snapshot().Policy
	e.prometheusAt = cmp.Or(e.prometheus, e.prometheusURL(maps, names))
	if of, ok := serviceOf(e.prometheusAt); ok {
		e.Prometheus.Namespace = of.Namespace
	}
	e.prefixes = store.Snapshot().Settings().Prometheus.MetricPrefixes
	return nil
}

// modelsOf returns the models that service classes name.
func modelsOf(classes map[string]string) []string {
	var out []string
	for _, text := range classes {
		var class struct {
			Data []struct {
				Model string `json:"model"`
			} `json:"data"`
		}
		if yaml.Unmarshal([]byte(text), &class) != nil {
			continue // there is a finding for it
		}
		for _, row := range class.Data {
			if row.Model != "" && row.Model != config.DefaultModel {
				out = append(out, row.Model)
			}
		}
	}
	return out
}

// prometheusURL returns the address of Prometheus in the manager's configuration, "" if none is
// found.
func (e *examination) prometheusURL(maps []corev1.ConfigMap, names config.Names) string {
	own := slices.DeleteFunc(slices.Clone(e.managers), func(d appsv1.Deployment) bool { return d.Namespace != e.System })
	return cmp.Or(prometheusIn(own), prometheusOf(maps, names, e.System))
}

func (e *examination) readWorkloads(ctx context.Context) error {
	in := e.inScope()
	return errors.Join(
		e.list(ctx, &appsv1.DeploymentList{}, in...),
		e.list(ctx, &appsv1.StatefulSetList{}, in...),
		e.list(ctx, metadataOf(appsv1.SchemeGroupVersion.WithKind("ReplicaSet")), in...),
		e.listOptional(ctx, leaderWorkerSetKind),
	)
}

func (e *examination) readPods(ctx context.Context) error {
	var list corev1.PodList
	if err := e.list(ctx, &list, e.inScope()...); err != nil {
		return err
	}
	e.ServingPods = list.Items
	return nil
}

func (e *examination) readServices(ctx context.Context) error {
	var list corev1.ServiceList
	if err := e.client.List(ctx, &list, e.inScope()...); err != nil {
		return err
	}
	e.Services = list.Items
	return nil
}

// readPolicies lists the network policies of the examined namespaces and of the manager's.
func (e *examination) readPolicies(ctx context.Context) error {
	var here, system networkingv1.NetworkPolicyList
	if err := e.client.List(ctx, &here, e.inScope()...); err != nil {
		return err
	}
	if !e.everywhere && e.namespace != e.System {
		if err := e.client.List(ctx, &system, client.InNamespace(e.System)); err != nil {
			return err
		}
	}
	e.Policies = slices.Concat(here.Items, system.Items)
	return nil
}

func (e *examination) readAPIService(ctx context.Context) error {
	api := &unstructured.Unstructured{}
	api.SetGroupVersionKind(apiServiceKind)
	if err := e.client.Get(ctx, client.ObjectKey{Name: externalMetricsAPI}, api); err != nil {
		return client.IgnoreNotFound(err)
	}
	namespace, _, _ := unstructured.NestedString(api.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(api.Object, "spec", "service", "name")
	e.API = doctor.APIService{Present: true, Service: namespace + "/" + name}
	conditions, _, _ := unstructured.NestedSlice(api.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Available" {
			e.API.Available = m["status"] == "True"
			e.API.Message = fmt.Sprintf("%v: %v", m["reason"], m["message"])
		}
	}
	return nil
}

// readMonitors lists the monitors of every namespace where that is allowed, as some select other
// namespaces.
func (e *examination) readMonitors(ctx context.Context) error {
	for _, kind := range []schema.GroupVersionKind{serviceMonitorKind, podMonitorKind} {
		list := untypedOf(kind)
		err := e.client.List(ctx, list)
		if apierrors.IsForbidden(err) && !e.everywhere {
			err = e.client.List(ctx, list, client.InNamespace(e.namespace))
		}
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		}
		for i := range list.Items {
			m, err := monitorOf(&list.Items[i])
			if err != nil {
				return err
			}
			e.mu.Lock()
			e.Monitors = append(e.Monitors, m)
			e.mu.Unlock()
		}
	}
	return nil
}

// monitorOf reads a monitor of the Prometheus Operator.
func monitorOf(u *unstructured.Unstructured) (doctor.Monitor, error) {
	out := doctor.Monitor{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	out.Any, _, _ = unstructured.NestedBool(u.Object, "spec", "namespaceSelector", "any")
	out.In, _, _ = unstructured.NestedStringSlice(u.Object, "spec", "namespaceSelector", "matchNames")
	var spec struct {
		Spec struct {
			Selector metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	text, err := u.MarshalJSON()
	if err == nil {
		err = yaml.Unmarshal(text, &spec)
	}
	if err == nil {
		out.Selector, err = metav1.LabelSelectorAsSelector(&spec.Spec.Selector)
	}
	if err != nil {
		return out, fmt.Errorf("reading %s %s/%s: %w", out.Kind, out.Namespace, out.Name, err)
	}
	if out.Selector == nil {
		out.Selector = labels.Everything()
	}
	return out, nil
}

// readAnswer reads the decisions of the leading manager. That there is no leader is no failed read:
// the lease says why.
func (e *examination) readAnswer(ctx context.Context) error {
	asked := rest.CopyConfig(e.config)
	offset := dated(asked)
	path := web.DecisionsPath
	if !e.everywhere {
		path += "/" + e.namespace
	}
	var all []explain.Explanation
	err := e.ask(ctx, asked, e.client, path, &all)
	e.Answer.From = cmp.Or(e.manager, "the manager that holds the lease")
	e.Clocks.Manager = *offset
	if err != nil {
		e.Answer.Why = oneLine(err)
		// A manager without decisions, and a lease without a leader, are findings of their own.
		if strings.Contains(e.Answer.Why, ": 503 ") || e.manager == "" && !e.Lease.Pod {
			return nil
		}
		return err
	}
	e.Answer.Reached, e.Answer.Known = true, make(map[scaling.VariantKey]explain.Explanation, len(all))
	for _, x := range all {
		e.Answer.Known[x.Variant.Key] = x
	}
	return nil
}
