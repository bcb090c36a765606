package discovery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// roleOf returns the role of a variant, and what is wrong with it, "" for nothing: the annotations
// of its object and the label of its pods must agree.
func roleOf(va *v1alpha1.VariantAutoscaling, t target) (scaling.Role, string) {
	said, by := "", ""
	for _, source := range []struct{ name, word string }{
		{"its annotation " + v1alpha1.AnnotationRole, va.Annotations[v1alpha1.AnnotationRole]},
		{"its annotation " + v1alpha1.RoleKey, va.Annotations[v1alpha1.RoleKey]},
		{"the label " + v1alpha1.RoleKey + " of its pods", t.role()},
	} {
		if source.word == "" {
			continue
		}
		role, err := scaling.ParseRole(source.word)
		if err != nil {
			return scaling.Role(source.word), fmt.Sprintf("%s is %v", source.name, err)
		}
		if first, _ := scaling.ParseRole(said); by != "" && first != role {
			return scaling.Role(said), fmt.Sprintf("%s is %q and %s is %q: make them the same", by, said, source.name, source.word)
		}
		if by == "" {
			said, by = source.word, source.name
		}
	}
	return scaling.Role(said), ""
}

// role returns the role of the pods in llm-d's words, "" for none: that of the template, else that
// of the live pod with the first name.
func (t target) role() string {
	if t.pod != nil || t.labels != nil || len(t.pods) == 0 {
		return t.labels[v1alpha1.RoleKey]
	}
	return slices.MinFunc(t.pods, func(a, b pod) int { return cmp.Compare(a.name, b.name) }).labels[v1alpha1.RoleKey]
}

// holdIncomplete holds every variant of a model whose roles do not say which variants serve which
// part of its requests: a role is unknown or contradicts itself, prefill or decode has no variant,
// or the roles belong to different models. vas and targets are those of the variants, in the same
// order.
func holdIncomplete(variants []scaling.Variant, vas []*v1alpha1.VariantAutoscaling, targets []target, in map[string]workloads) {
	r := rolesOf(variants, vas, targets, in)
	for model, members := range r.members {
		why := r.incomplete(model)
		for _, i := range members {
			if v := &variants[i]; why != "" && v.Undecidable == "" {
				v.Undecidable, v.Paused = fmt.Sprintf("%s: each variant of model %s stays at what runs", why, model.ID), true
			}
		}
	}
}

// roles says which variants serve which part of the requests of the fleet.
type roles struct {
	variants []scaling.Variant
	problems []string // with the role of each variant, "" for none
	targets  []target
	members  map[scaling.ModelKey][]int      // indexes of the variants of each model
	parts    map[string][]workloadName       // the workloads of prefill and decode, by namespace
	owner    map[string]map[workloadName]int // index of the variant that scales a workload, by namespace
	in       map[string]workloads
}

func rolesOf(variants []scaling.Variant, vas []*v1alpha1.VariantAutoscaling, targets []target, in map[string]workloads) roles {
	r := roles{
		variants: variants, problems: make([]string, len(variants)), targets: targets, in: in,
		members: map[scaling.ModelKey][]int{}, parts: map[string][]workloadName{}, owner: map[string]map[workloadName]int{},
	}
	for i, v := range variants {
		r.members[v.Model] = append(r.members[v.Model], i)
		_, r.problems[i] = roleOf(vas[i], targets[i])
		if r.owner[v.Key.Namespace] == nil {
			r.owner[v.Key.Namespace] = map[workloadName]int{}
		}
		r.owner[v.Key.Namespace][workloadOf(v.Target)] = i
	}
	for namespace, w := range in {
		for name, of := range w.known {
			if role := of.role(); role == scaling.RolePrefill || role == scaling.RoleDecode {
				r.parts[namespace] = append(r.parts[namespace], name)
			}
		}
		slices.SortFunc(r.parts[namespace], func(a, b workloadName) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind)) })
	}
	return r
}

// incomplete says why the roles of a model are not complete, "" where they are.
func (r roles) incomplete(model scaling.ModelKey) string {
	members := r.members[model]
	of := func(role scaling.Role) int {
		return r.first(members, func(v scaling.Variant) bool { return v.Role == role })
	}
	prefill, decode := of(scaling.RolePrefill), of(scaling.RoleDecode)
	for _, i := range members {
		v, t := r.variants[i], r.targets[i]
		switch {
		case r.problems[i] != "":
			return fmt.Sprintf("the role of variant %s is not known (%s)", v.Key.Name, r.problems[i])
		case v.Role == "" && t.missing != "" && !t.gone && max(prefill, decode) >= 0:
			return fmt.Sprintf("the role of variant %s is not known (%s)", v.Key.Name, t.missing)
		}
	}
	switch {
	case prefill < 0 && decode < 0:
		return ""
	case prefill < 0:
		return r.withoutPartner(decode, scaling.RolePrefill, "")
	case r.first(members, func(v scaling.Variant) bool { return v.Role != scaling.RolePrefill }) < 0:
		return r.withoutPartner(prefill, scaling.RoleDecode, "no variant of the model")
	}
	for _, i := range members {
		for _, j := range members {
			a, b := r.targets[i].labels, r.targets[j].labels
			if r.variants[i].Role == scaling.RolePrefill && apart(a, b) {
				return fmt.Sprintf("variant %s has the role prefill of %s, and variant %s serves %s", r.variants[i].Key.Name, serviceOf(a), r.variants[j].Key.Name, serviceOf(b))
			}
		}
	}
	return ""
}

// first returns the first of some indexes whose variant is wanted, -1 for none.
func (r roles) first(of []int, wanted func(scaling.Variant) bool) int {
	if n := slices.IndexFunc(of, func(i int) bool { return wanted(r.variants[i]) }); n >= 0 {
		return of[n]
	}
	return -1
}

// withoutPartner says where the other role of variant i is, whose model has no variant with it: on
// a workload that no variant scales, or on a variant of another model that lacks a role, too. Where
// neither exists, the message says none, and is "" if none is "".
func (r roles) withoutPartner(i int, other scaling.Role, none string) string {
	v := r.variants[i]
	has := none
	for _, name := range r.parts[v.Key.Namespace] {
		labels := r.in[v.Key.Namespace].known[name].labels
		if r.in[v.Key.Namespace].known[name].role() != other || apart(labels, r.targets[i].labels) {
			continue
		}
		owner, owned := r.owner[v.Key.Namespace][name]
		if !owned {
			has = fmt.Sprintf("%s %s, which no variant of the model scales,", name.kind, name.name)
			break
		}
		o := r.variants[owner]
		if o.Role == other && !r.whole(o.Model) {
			has = fmt.Sprintf("variant %s of model %s", o.Key.Name, o.Model.ID)
			break
		}
	}
	if has == "" {
		return ""
	}
	return fmt.Sprintf("variant %s has the role %s, and %s the role %s", v.Key.Name, v.Role, has, other)
}

// whole reports whether the variants of a model have both roles: one has prefill, and one another
// role.
func (r roles) whole(model scaling.ModelKey) bool {
	members := r.members[model]
	return r.first(members, func(v scaling.Variant) bool { return v.Role == scaling.RolePrefill }) >= 0 &&
		r.first(members, func(v scaling.Variant) bool { return v.Role != scaling.RolePrefill }) >= 0
}

// role returns the role of the pods of a workload, "" for none or an unknown one.
func (w workload) role() scaling.Role {
	role, err := scaling.ParseRole(w.labels[v1alpha1.RoleKey])
	if err != nil {
		return ""
	}
	return role
}

// workloadOf returns the name under which the workload of a target is known. A LeaderWorkerSet is
// known as the StatefulSet of its leaders.
func workloadOf(ref scaling.TargetRef) workloadName {
	if isGroupSet(ref) {
		return workloadName{kindStatefulSet, ref.Name}
	}
	return workloadName{ref.Kind, ref.Name}
}

// apart reports whether the labels of two pods name different models.
func apart(a, b map[string]string) bool {
	x, y := serviceOf(a), serviceOf(b)
	return x != "" && y != "" && x != y
}

// serviceOf returns what labels say the pods of both roles have in common: the model of llm-d, or
// the service of KServe; "" where they name neither.
func serviceOf(labels map[string]string) string {
	if model := labels["llm-d.ai/model"]; model != "" {
		return "model " + model + " by the label llm-d.ai/model"
	}
	if service := labels["app.kubernetes.io/name"]; service != "" && labels["app.kubernetes.io/part-of"] == "llminferenceservice" {
		return "LLMInferenceService " + service
	}
	return ""
}
