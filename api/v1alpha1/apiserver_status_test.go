package v1alpha1_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// status holds every row of the contract's description of the status.
func (c *cluster) status(t *testing.T) {
	condition := `{type: Ready, status: "True", reason: Ready, message: "", observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z"}`
	tests := map[string]struct {
		status  string // written, as flow YAML
		want    string // stored; "" where it is what was written
		refused string
	}{
		"nothing is required":       {status: `{}`},
		"currentAlloc":              {status: `{currentAlloc: {numReplicas: 3, variantID: m-A100-1, ttftAverage: "50.00", itlAverage: "25.50"}}`},
		"currentAlloc at zero":      {status: `{currentAlloc: {numReplicas: 0}}`},
		"load is not stored":        {status: `{currentAlloc: {numReplicas: 3, load: {arrivalRate: "1"}}}`, want: `{currentAlloc: {numReplicas: 3}}`},
		"latencies are strings":     {status: `{currentAlloc: {numReplicas: 3, ttftAverage: 50.0}}`, refused: "status.currentAlloc.ttftAverage"},
		"desiredOptimizedAlloc":     {status: `{desiredOptimizedAlloc: {numReplicas: 4, accelerator: A100, lastRunTime: "2026-01-01T00:00:00Z"}}`},
		"decision for zero":         {status: `{desiredOptimizedAlloc: {numReplicas: 0}}`},
		"accelerator of one letter": {status: `{desiredOptimizedAlloc: {numReplicas: 1, accelerator: G}}`},
		"lastUpdate":                {status: `{desiredOptimizedAlloc: {numReplicas: 4, lastUpdate: {updateTime: "2026-01-01T00:00:00Z", numReplicasChanged: -10001, reason: r}}}`},
		"change of zero is kept":    {status: `{desiredOptimizedAlloc: {numReplicas: 4, lastUpdate: {numReplicasChanged: 0}}}`},
		"change beyond 32 bits":     {status: `{desiredOptimizedAlloc: {numReplicas: 4, lastUpdate: {numReplicasChanged: 2147483648}}}`, refused: "desiredOptimizedAlloc.lastUpdate.numReplicasChanged"},
		"actuation":                 {status: `{actuation: {applied: true}}`},
		"actuation of false":        {status: `{actuation: {applied: false}}`},
		"conditions":                {status: `{conditions: [` + condition + `]}`},
		"two conditions of a type":  {status: `{conditions: [` + condition + `, ` + condition + `]}`, refused: "status.conditions[1]: Duplicate value"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: object(t, "status-"+strings.ReplaceAll(strings.ToLower(name), " ", "-"), "")}
			obj.Object["status"] = parse(t, []byte(tt.status))
			written := obj.DeepCopy()
			if err := c.Client.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			if _, ok := obj.Object["status"]; ok {
				t.Error("the status was taken from a write of the object, past its subresource")
			}
			written.SetResourceVersion(obj.GetResourceVersion())
			written.Object["spec"].(map[string]any)["modelID"] = "other"
			statement{want: tt.refused}.check(t, refusal(c.Client.Status().Update(t.Context(), written)))
			if tt.refused != "" {
				return
			}
			if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "" {
				want = tt.status
			}
			if diff := cmp.Diff(obj.Object["status"], any(parse(t, []byte(want)))); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			if model, _, _ := unstructured.NestedString(obj.Object, "spec", "modelID"); model != "m" {
				t.Errorf("a write of the status changed spec.modelID to %q", model)
			}
		})
	}
}

// printerColumns shows what kubectl shows.
func (c *cluster) printerColumns(t *testing.T) {
	obj := &unstructured.Unstructured{Object: object(t, "columns", `variantCost: "1.95", scaleTargetRef: {kind: Deployment, name: target}`)}
	if err := c.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	obj.Object["status"] = parse(t, []byte(`{currentAlloc: {numReplicas: 3, variantID: m-A100-1},
		desiredOptimizedAlloc: {numReplicas: 4, accelerator: A100, lastUpdate: {numReplicasChanged: 1, reason: Saturated}},
		actuation: {applied: false, scaler: HorizontalPodAutoscaler/h},
		conditions: [{type: MetricsAvailable, status: "True", reason: MetricsFound, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},
		{type: Ready, status: "False", reason: HPALimited, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`))
	if err := c.Client.Status().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	const (
		narrow = "NAME TARGET MODEL VARIANTID ACCELERATOR CURRENTREPLICAS OPTIMIZED METRICSREADY READY AGE"
		row    = "columns target m m-A100-1 A100 3 4 True False AGE"
	)
	age := regexp.MustCompile(` \d+[a-z0-9]*( |$)`)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"get", "va", "columns"}, []string{narrow, row}},
		{[]string{"get", "variantautoscaling", "columns", "-o", "wide"}, []string{narrow + " REASON COST SCALER", row + " Saturated 1.95 HorizontalPodAutoscaler/h"}},
	} {
		out, err := c.kubectl(t, tt.args...)
		if err != nil {
			t.Fatal(out)
		}
		var got []string
		for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
			line = strings.Join(strings.Fields(line), " ")
			before, after, found := strings.Cut(line, "True")
			if found {
				line = before + "True" + age.ReplaceAllString(after, " AGE$1")
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(got, tt.want); diff != "" {
			t.Errorf("%v (-got +want):\n%s", tt.args, diff)
		}
	}
}
