package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sdiscovery "k8s.io/client-go/discovery"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/loadgen"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scale"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// probeRights returns the rights that a probe of a scaler needs.
func probeRights(namespace, scaler string) []doctor.Right {
	var out []doctor.Right
	for _, verb := range []string{"create", "get", "delete"} {
		out = append(out, doctor.Right{Verb: verb, Group: "apps", Resource: "deployments", Namespace: namespace})
		if scaler == scaling.KindScaledObject {
			out = append(out, doctor.Right{Verb: verb, Group: scaledObjectKind.Group, Resource: "scaledobjects", Namespace: namespace})
		}
		if scaler == scaling.KindHPA || verb == "get" {
			out = append(out, doctor.Right{Verb: verb, Group: "autoscaling", Resource: "horizontalpodautoscalers", Namespace: namespace})
		}
	}
	return out
}

// allowed reports whether the user may create and delete the objects.
func (p *probing) allowed(ctx context.Context) bool {
	var denied []string
	for _, right := range probeRights(p.out.Variant.Namespace, p.scaler.Kind) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(right)}}
		if err := p.client.Create(ctx, review); err != nil {
			p.did(doctor.ProbeAllowed, doctor.ProbeSkipped, "the rights of the user: "+oneLine(err))
			return true // a missing right shows when it is used
		}
		if !review.Status.Allowed {
			denied = append(denied, fmt.Sprintf("%s %s.%s", right.Verb, right.Resource, right.Group))
		}
	}
	if len(denied) == 0 {
		p.passed(doctor.ProbeAllowed, fmt.Sprintf("the user may make and remove a Deployment and a %s", p.scaler.Kind))
		return true
	}
	resources := "horizontalpodautoscalers.autoscaling"
	if p.scaler.Kind == scaling.KindScaledObject {
		resources = "scaledobjects.keda.sh," + resources
	}
	p.add(doctor.Failing(doctor.ProbeAllowed, map[string]string{"SCALERS": resources, "USER": p.user(ctx)}, "the rights that are missing: "+strings.Join(denied, ", ")))
	return false
}

// user returns the name of the user, "" if it is unknown.
func (p *probing) user(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := p.client.Create(ctx, review); err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// served sends the HPA's query to the External Metrics API, and sets what the probe sends: the
// number of the probe where the manager answers with it, else the decision. KEDA queries by itself.
func (p *probing) served(ctx context.Context, made shaped) bool {
	if made.keda != nil {
		p.number(made, false)
		p.did(doctor.ProbeServed, doctor.ProbeSkipped, "a number of its own: KEDA is sent the decision, "+p.desired.Text()+", as its triggers read it")
		return true
	}
	tagged, err := p.reading(ctx, made, withTag(made.reads.Selector))
	if apierrors.IsForbidden(err) {
		p.number(made, p.ManagerServesMetrics())
		p.did(doctor.ProbeServed, doctor.ProbeSkipped, "the answer of External Metrics, which the user may not read")
		return true
	}
	if err == nil && tagged.items == 1 && tagged.sum == probeNumber {
		p.number(made, true)
		says := fmt.Sprintf("External Metrics answer %s with the number of the probe, %d", made.reads.Name, probeNumber)
		if made.byValue {
			says += ", which its HPA reads by AverageValue in place of Value: Ready pods, which it would multiply, are none"
		}
		p.passed(doctor.ProbeServed, says)
		return true
	}
	return p.servedDecision(ctx, made)
}

// servedDecision queries the decision itself, where the manager does not answer with the number of
// a probe.
func (p *probing) servedDecision(ctx context.Context, made shaped) bool {
	of := metav1.FormatLabelSelector(made.reads.Selector)
	plain, err := p.reading(ctx, made, made.reads.Selector)
	switch {
	case err != nil:
		p.failed(doctor.ProbeServed, oneLine(err))
	case plain.items == 0:
		p.failed(doctor.ProbeServed, fmt.Sprintf("no item of %s for the selector %s", made.reads.Name, of))
	case plain.items > 1 && !made.byValue:
		p.failed(doctor.ProbeServed, fmt.Sprintf("the selector %s has %d items of %s, which an HPA adds up to %g", of, plain.items, made.reads.Name, plain.sum))
	case made.byValue:
		p.did(doctor.ProbeServed, doctor.ProbeSkipped, fmt.Sprintf("what an HPA makes of %s, which is answered with %g: by the target type Value it multiplies Ready pods, of which the target of a probe has none", made.reads.Name, plain.sum))
	case made.reads.Name == decisionMetric && plain.sum != float64(p.desired) && !p.decides(ctx, plain.sum):
		p.failed(doctor.ProbeServed, fmt.Sprintf("the answer is %g, and %d is decided", plain.sum, p.desired))
	default:
		p.number(made, false)
		p.passed(doctor.ProbeServed, fmt.Sprintf("External Metrics answer %s with the decision, %g; who serves them sends no number of a probe", made.reads.Name, plain.sum))
		return true
	}
	return false
}

// decides reports whether the manager now decides on n: the answer of External Metrics may be
// younger than the first answer of the manager.
func (p *probing) decides(ctx context.Context, n float64) bool {
	x, err := p.explained(ctx)
	if err == nil && float64(x.Decision.Target()) == n {
		p.desired = x.Decision.Target()
		return true
	}
	return false
}

// answer is an answer of External Metrics.
type answer struct {
	items int
	sum   float64
}

// reading queries External Metrics by a selector.
func (p *probing) reading(ctx context.Context, made shaped, of *metav1.LabelSelector) (answer, error) {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return answer{}, err
	}
	c, err := k8sdiscovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return answer{}, err
	}
	result := c.RESTClient().Get().AbsPath("/apis/external.metrics.k8s.io/v1beta1/namespaces", p.out.Variant.Namespace, made.reads.Name).
		Param("labelSelector", selector.String()).Do(ctx)
	if err := result.Error(); err != nil { // with the server's message, which Raw omits
		return answer{}, fmt.Errorf("asking External Metrics for %s: %w", made.reads.Name, err)
	}
	text, err := result.Raw()
	if err != nil {
		return answer{}, fmt.Errorf("asking External Metrics for %s: %w", made.reads.Name, err)
	}
	var list v1beta1.ExternalMetricValueList
	if err := json.Unmarshal(text, &list); err != nil {
		return answer{}, fmt.Errorf("reading the answer of External Metrics: %w", err)
	}
	out := answer{items: len(list.Items)}
	for _, item := range list.Items {
		out.sum += item.Value.AsApproximateFloat64()
	}
	return out, nil
}

// settable tries, as a dry run, to set the replicas of a target that the manager scales itself.
func (p *probing) settable(ctx context.Context) {
	target := p.of.Resolved.Target
	if target.Name == "" {
		target = scaling.TargetRef(p.of.Object.Target())
	}
	kind := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind)
	mapping, err := p.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		p.failed(doctor.ProbeSettable, oneLine(err))
		return
	}
	resource := mapping.Resource.GroupResource().String()
	fail := func(evidence string) {
		p.add(doctor.Failing(doctor.ProbeSettable, map[string]string{"RESOURCE": resource, "ACCOUNT": strings.Replace(p.Account, "/", ":", 1)}, evidence))
	}
	if !p.decided() {
		return
	}
	scales := scale.New(scalesOf{client.NewDryRunClient(p.client)})
	s, err := scales.Scale(ctx, p.out.Variant.Namespace, target)
	if err == nil {
		s.Spec.Replicas++
		err = scales.SetScale(ctx, target, s)
	}
	unauthorized := false // by missing rights, not by admission
	if err != nil {
		_, unauthorized = rbac.Missing(err)
	}
	switch {
	case unauthorized:
		p.did(doctor.ProbeSettable, doctor.ProbeSkipped, "a dry run on the scale of "+target.String()+", for which the user has no right")
	case err != nil:
		fail(oneLine(err))
		return
	default:
		p.passed(doctor.ProbeSettable, fmt.Sprintf("a dry run sets the scale of %s", target))
	}
	if p.Account == "" {
		p.did(doctor.ProbeSettable, doctor.ProbeSkipped, "the right of the manager to set it: its account is not known")
		return
	}
	namespace, name, _ := strings.Cut(p.Account, "/")
	for _, verb := range []string{"get", "update"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + namespace + ":" + name,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: attributes(doctor.Right{
				Verb: verb, Group: mapping.Resource.Group, Resource: mapping.Resource.Resource + "/scale", Namespace: p.out.Variant.Namespace,
			}),
		}}
		if err := p.client.Create(ctx, review); err != nil {
			p.did(doctor.ProbeSettable, doctor.ProbeSkipped, "the right of the manager to set it: "+oneLine(err))
			return
		}
		if !review.Status.Allowed {
			fail(fmt.Sprintf("the account of the manager, %s, may not %s %s/scale", p.Account, verb, resource))
			return
		}
	}
	p.passed(doctor.ProbeSettable, "the account of the manager may set it")
}

const (
	// requestWithin bounds the request of a probe.
	requestWithin = 60 * time.Second
	// The lengths of the request, in tokens.
	requestInput, requestOutput = 16, 8
)

// request sends one request to the model through a gateway and measures its TTFT. It sends none to
// a model without a replica, because the request would start one.
func (p *probing) request(ctx context.Context, gateway string) {
	p.begun = time.Now()
	model := p.model
	if model == "" {
		model = p.of.Object.Spec.ModelID
	}
	if p.of.Resolved.Replicas.Observed && p.of.Resolved.Replicas.Current == 0 {
		p.did(doctor.ProbeRequested, doctor.ProbeSkipped, "a real request: the variant has no replica, and a request might start one")
		return
	}
	one := iter.Seq2[workload.Request, error](func(yield func(workload.Request, error) bool) {
		yield(workload.Request{InputTokens: requestInput, OutputTokens: requestOutput}, nil)
	})
	seen, err := loadgen.Run(ctx, one, loadgen.Options{URL: gateway, Model: model, Timeout: requestWithin, Seed: uint64(time.Now().UnixNano())})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.failed(doctor.ProbeRequested, oneLine(err))
	case seen.Completed == 0:
		var why []string
		for kind, example := range seen.Examples {
			why = append(why, fmt.Sprintf("%s: %.300s", kind, example))
		}
		slices.Sort(why)
		p.failed(doctor.ProbeRequested, append([]string{fmt.Sprintf("model %s at %s", model, gateway)}, why...)...)
	default:
		p.out.TTFT = seen.TTFT.Mean
		says := fmt.Sprintf("a request to %s was answered, with a TTFT of %.0f ms", model, p.out.TTFT)
		if x, ok := p.Answer.Known[p.out.Variant]; ok && x.Objective.TTFT > 0 {
			p.out.Objective = x.Objective.TTFT
			says += fmt.Sprintf(" (objective: %.0f ms)", p.out.Objective)
		}
		p.passed(doctor.ProbeRequested, says)
	}
}
