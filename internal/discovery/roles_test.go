package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// member is a Deployment with one pod, and mostly the variant that scales it.
type member struct {
	name   string // of both
	model  string // "" for no variant
	role   string // label of the pods
	says   string // annotation of the variant
	labels map[string]string
	gone   bool // the Deployment
}

// fleetOf reads a namespace with some members.
func fleetOf(t *testing.T, members ...member) map[string]scaling.Variant {
	t.Helper()
	set := objects{&fakeCache{}, fakeScales{}}
	for _, m := range members {
		if m.model != "" {
			set.add(variant(m.name, func(va *v1alpha1.VariantAutoscaling) {
				va.Spec.ModelID = m.model
				va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: kindDeployment, Name: m.name}
				if m.says != "" {
					va.Annotations = map[string]string{v1alpha1.AnnotationRole: m.says}
				}
			}))
		}
		if m.gone {
			continue
		}
		d := &appsv1.Deployment{}
		d.Namespace, d.Name, d.UID = "ns", m.name, uidOf(m.name)
		d.Spec.Replicas = new(int32(1))
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "vllm"}}
		d.Spec.Template.Labels = map[string]string{v1alpha1.RoleKey: m.role}
		maps.Copy(d.Spec.Template.Labels, m.labels)
		set.add(d)
		set.deployed(d)
	}
	fleet := New(set, set.scales)
	fleet.By = scalers.New(set, clocktesting.NewFakePassiveClock(at(0)))
	got, err := fleet.Fleet(t.Context(), at(120))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]scaling.Variant{}
	for _, v := range got.Variants {
		out[v.Key.Name] = v
	}
	return out
}

func kserve(service string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": service, "app.kubernetes.io/part-of": "llminferenceservice"}
}

func llmd(model string) map[string]string { return map[string]string{"llm-d.ai/model": model} }

// TestModelsWhoseRolesDoNotServeARequestTogetherAreHeld: named, and all of their variants, which are
// the others than those in decided.
func TestModelsWhoseRolesDoNotServeARequestTogetherAreHeld(t *testing.T) {
	both := []member{{name: "p", model: "m", role: "prefill"}, {name: "d", model: "m", role: "decode"}}
	for _, tc := range []struct {
		name    string
		members []member
		decided string // names of the variants that are not held
		want    string // what is said of the others
	}{
		{"whole requests", []member{{name: "a", model: "m"}, {name: "b", model: "m", role: "both"}, {name: "c", model: "m", role: "prefill-decode"}}, "a b c", ""},
		{"both roles", both, "d p", ""},
		{"prefill beside whole requests", []member{{name: "p", model: "m", role: "prefill"}, {name: "w", model: "m", role: "both"}}, "p w", ""},
		{"decode alone serves whole requests", []member{{name: "d", model: "m", role: "decode"}}, "d", ""},
		{"a role of annotations", []member{{name: "p", model: "m", says: "prefill"}, {name: "d", model: "m", says: "decode"}}, "d p", ""},
		{"annotation and label agree", []member{{name: "p", model: "m", role: "prefill", says: "prefill"}, {name: "d", model: "m", role: "prefill-decode", says: "both"}}, "d p", ""},
		{"two models with both roles", slices.Concat(both, []member{{name: "q", model: "n", role: "prefill"}, {name: "e", model: "n", role: "decode"}}), "d e p q", ""},
		{"decode alone beside a whole model", slices.Concat(both, []member{{name: "e", model: "n", role: "decode"}}), "d e p", ""},
		{
			"prefill alone",
			[]member{{name: "p", model: "m", role: "prefill"}, {name: "o", model: "n"}},
			"o",
			"variant p has the role prefill, and no variant of the model the role decode: each variant of model m stays at what runs",
		},
		{
			"prefill whose decode has no variant",
			[]member{{name: "p", model: "m", role: "prefill"}, {name: "d", role: "decode"}},
			"",
			"variant p has the role prefill, and Deployment d, which no variant of the model scales, the role decode",
		},
		{
			"decode whose prefill has no variant",
			[]member{{name: "d", model: "m", role: "decode"}, {name: "p", role: "prefill"}},
			"",
			"variant d has the role decode, and Deployment p, which no variant of the model scales, the role prefill",
		},
		{
			"decode and the prefill of another service without a variant",
			[]member{{name: "d", model: "m", role: "decode", labels: kserve("a")}, {name: "p", role: "prefill", labels: kserve("b")}},
			"d", "",
		},
		{
			"decode and prefill that name the same application",
			[]member{
				{name: "d", model: "m", role: "decode", labels: map[string]string{"app.kubernetes.io/name": "chat-decode"}},
				{name: "p", model: "m", role: "prefill", labels: map[string]string{"app.kubernetes.io/name": "chat-prefill"}},
			},
			"d p", "",
		},
		{
			"roles of one service under two models",
			[]member{{name: "p", model: "m", role: "prefill", labels: kserve("a")}, {name: "d", model: "n", role: "decode", labels: kserve("a")}},
			"",
			"variant p of model m",
		},
		{
			"roles of two services under one model",
			[]member{{name: "p", model: "m", role: "prefill", labels: kserve("a")}, {name: "d", model: "m", role: "decode", labels: kserve("b")}},
			"",
			"variant p has the role prefill of LLMInferenceService a, and variant d serves LLMInferenceService b",
		},
		{
			"roles of two models of llm-d under one model",
			[]member{{name: "p", model: "m", role: "prefill", labels: llmd("a")}, {name: "d", model: "m", role: "decode", labels: llmd("b")}},
			"",
			"variant p has the role prefill of model a by the label llm-d.ai/model, and variant d serves model b",
		},
		{
			"a label that contradicts the annotation",
			[]member{{name: "p", model: "m", role: "decode", says: "prefill"}, {name: "d", model: "m", role: "decode"}},
			"",
			`the role of variant p is not known (its annotation wva.llmd.ai/role is "prefill" and the label llm-d.ai/role of its pods is "decode": make them the same)`,
		},
		{
			"both is no part",
			[]member{{name: "p", model: "m", role: "prefill", says: "both"}},
			"",
			`its annotation wva.llmd.ai/role is "both" and the label llm-d.ai/role of its pods is "prefill"`,
		},
		{
			"an unknown role",
			[]member{{name: "p", model: "m", role: "prefil"}, {name: "d", model: "m", role: "decode"}},
			"",
			`the role of variant p is not known (the label llm-d.ai/role of its pods is "prefil": want both, prefill or decode)`,
		},
		{"an unknown role of an annotation", []member{{name: "p", model: "m", says: "first"}}, "", `its annotation wva.llmd.ai/role is "first": want both, prefill or decode`},
		{
			"an encoder of its own",
			[]member{{name: "e", model: "m", role: "encode"}, {name: "d", model: "m", role: "decode"}},
			"",
			`"encode", and pods that encode images for others are not decided on`,
		},
		{"the prefill that is gone serves nothing", []member{{name: "p", model: "m", gone: true}, {name: "d", model: "m", role: "decode"}}, "d p", ""},
		{"the role of a target that is gone", []member{{name: "p", model: "m", gone: true, says: "prefill"}, {name: "d", model: "m", role: "decode"}}, "d p", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var decided []string
			for name, v := range fleetOf(t, tc.members...) {
				if v.Undecidable == "" {
					decided = append(decided, name)
				} else if !v.Paused || tc.want == "" || !strings.Contains(v.Undecidable, tc.want) && !strings.Contains(v.Undecidable, "variant d of model n") {
					t.Errorf("variant %s is held by %q, want %q", name, v.Undecidable, tc.want)
				}
			}
			slices.Sort(decided)
			if got := strings.Join(decided, " "); got != tc.decided {
				t.Errorf("decided are %q, want %q", got, tc.decided)
			}
		})
	}
}

// TestTheRoleOfATargetThatCannotBeReadIsNotGuessed: what runs stays until it is known.
func TestTheRoleOfATargetThatCannotBeReadIsNotGuessed(t *testing.T) {
	for _, other := range []string{"decode", ""} {
		vas := []*v1alpha1.VariantAutoscaling{variant("d"), variant("p")}
		targets := []target{{labels: map[string]string{v1alpha1.RoleKey: other}}, {missing: "it was not answered"}}
		var variants []scaling.Variant
		for i, va := range vas {
			variants = append(variants, resolve(va, targets[i], nil))
		}
		holdIncomplete(variants, vas, targets, map[string]workloads{})
		for _, v := range variants {
			held := strings.Contains(v.Undecidable, "the role of variant p is not known (it was not answered)")
			if held != (other == "decode") || v.Paused != held {
				t.Errorf("beside the role %q variant %s is held by %q", other, v.Key.Name, v.Undecidable)
			}
		}
	}
}

// TestThePodsTellTheRoleOfAKindWithoutATemplate: the first by name, whatever their order.
func TestThePodsTellTheRoleOfAKindWithoutATemplate(t *testing.T) {
	labeled := func(name, role string) pod { return pod{name: name, labels: map[string]string{v1alpha1.RoleKey: role}} }
	of := target{pods: []pod{labeled("b", "decode"), labeled("a", "prefill")}}
	if role, problem := roleOf(variant("v"), of); role != scaling.RolePrefill || problem != "" {
		t.Errorf("got %q %q, want prefill", role, problem)
	}
}

func uidOf(name string) types.UID { return types.UID(fmt.Sprint("deployment-", name)) }
