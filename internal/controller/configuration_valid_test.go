package controller

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// accepted is the message of ConfigurationAccepted.
const accepted = "Every entry that concerns the variant is in force."

func TestConfigurationValidSaysWhatIsNotInForce(t *testing.T) {
	refused := config.Finding{Severity: config.Refused, Namespace: "s", ConfigMap: "c", Key: "k", Field: "f", Value: "80", Want: "a ratio from 0 to 1", InForce: "0.8"}
	doubtful := config.Finding{Severity: config.Doubtful, Namespace: "s", ConfigMap: "c", Problem: "is ignored"}
	long := refused
	long.Problem = strings.Repeat("x", 4000)
	const one = `ConfigMap s/c, k, f: "80" is not accepted: want a ratio from 0 to 1; in force: 0.8`
	tests := map[string]struct {
		found  []config.Finding
		status metav1.ConditionStatus
		reason v1alpha1.ConditionReason
		want   string // of the message
	}{
		"nothing":   {nil, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, accepted},
		"a doubt":   {[]config.Finding{doubtful}, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, accepted},
		"a refusal": {[]config.Finding{doubtful, refused}, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, one},
		"many":      {slices.Repeat([]config.Finding{refused}, 5), metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, one + "; " + one + "; " + one + "; 2 more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := condition(v1alpha1.ConditionConfigurationValid, tt.status, tt.reason, tt.want)
			if diff := cmp.Diff(want, configurationValid(&fixedFindings{all: tt.found}, object(), view{}).Condition); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	large, most := object(), int32(1<<20)
	large.Spec.VariantProfile = &v1alpha1.VariantProfile{MaxBatchSize: &most}
	const batch = `spec.variantProfile.maxBatchSize: "1048576" is not accepted: want a number from 1 to 4096; in force: 4096`
	if got := configurationValid(&fixedFindings{}, large, view{}).Message; got != batch {
		t.Errorf("got %q, want %q", got, batch)
	}
	unread := view{}
	unread.Variant.Limits.Problem = "container c: the command line is too long"
	const limits = "target, container c: the command line is too long; in force: no limits of the engine"
	if got := configurationValid(&fixedFindings{}, object(), unread).Message; got != limits {
		t.Errorf("got %q, want %q", got, limits)
	}
	got := configurationValid(&fixedFindings{all: slices.Repeat([]config.Finding{long}, 5)}, object(), view{}).Message
	if n := len([]rune(got)); n > 900 {
		t.Errorf("a message of %d characters leaves an event no room for its cycle", n)
	}
}

func TestAnInvalidConfigurationDoesNotStandInTheWayOfReady(t *testing.T) {
	f := newFixture()
	f.cycle(10, 2, 2, scaling.ReasonSteady)
	f.reconcile(t)
	f.found.all = []config.Finding{{Severity: config.Refused, ConfigMap: "c", Problem: "is not read"}}
	for range 3 {
		f.reconcile(t) // no further cycle
	}
	if f.objects.writes != 2 {
		t.Errorf("%d writes, want the first and one for the finding", f.objects.writes)
	}
	conditions := f.objects.objects[requestV().NamespacedName].Status.Conditions
	if !meta.IsStatusConditionFalse(conditions, string(v1alpha1.ConditionConfigurationValid)) || !meta.IsStatusConditionTrue(conditions, string(v1alpha1.ConditionOptimizationReady)) {
		t.Errorf("conditions %+v", conditions)
	}
	if ready := meta.FindStatusCondition(conditions, string(v1alpha1.ConditionReady)); ready.Reason == string(v1alpha1.ReasonInvalidConfiguration) {
		t.Errorf("not Ready because of the configuration: %+v", ready)
	}
	if len(f.events.told) != 1 || !strings.HasPrefix(f.events.told[0], "Warning InvalidConfiguration ") {
		t.Errorf("events %q", f.events.told)
	}
	f.found.all = nil
	f.reconcile(t)
	conditions = f.objects.objects[requestV().NamespacedName].Status.Conditions
	if !meta.IsStatusConditionTrue(conditions, string(v1alpha1.ConditionConfigurationValid)) {
		t.Errorf("the condition does not recover: %+v", conditions)
	}
}

func TestTheRoleAllowsEveryPublishedNameAndNoOther(t *testing.T) {
	document, err := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ManagerRoles()))).Read()
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(document, &role); err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "configmaps") {
			allowed = append(allowed, rule.ResourceNames...)
		}
	}
	var published []string
	for _, names := range config.PublishedNames() {
		published = append(published, names...)
	}
	slices.Sort(published)
	slices.Sort(allowed)
	if diff := cmp.Diff(published, allowed); diff != "" {
		t.Errorf("names (-published +allowed):\n%s", diff)
	}
}
