package v1alpha1_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// statement is something that the definition says of a spec.
type statement struct {
	spec string // beside modelID, as flow YAML
	want string // part of the error, "" for accepted
}

const (
	accepted    = ""
	celOfBounds = `: maxReplicas must be greater than or equal to minReplicas`
)

// statements returns, for each field of the spec, what it accepts and refuses,
// when an object is created and when it is changed: all of
// config/samples/VALIDATION_EXAMPLES.md.
func statements() map[string]map[string]statement {
	const parms = "decodeParms: {alpha: '20', beta: '0.4'}, prefillParms: {gamma: '20', delta: '0.04'}"
	return map[string]map[string]statement{
		"modelID": {
			"alone": {``, accepted},
			"empty": {`modelID: ""`, "spec.modelID"},
			"null":  {`modelID: null`, "spec.modelID"},
		},
		"scaleTargetRef": {
			"without version":    {`scaleTargetRef: {kind: Deployment, name: d}`, accepted},
			"empty version":      {`scaleTargetRef: {apiVersion: "", kind: Deployment, name: d}`, accepted},
			"of any kind":        {`scaleTargetRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: l}`, accepted},
			"without kind":       {`scaleTargetRef: {name: d}`, "spec.scaleTargetRef.kind"},
			"with an empty kind": {`scaleTargetRef: {kind: "", name: d}`, "spec.scaleTargetRef.kind"},
			"without name":       {`scaleTargetRef: {kind: Deployment}`, "spec.scaleTargetRef.name"},
			"with an empty name": {`scaleTargetRef: {kind: Deployment, name: ""}`, "spec.scaleTargetRef.name"},
		},
		"variantID": {
			"of the convention":      {`variantID: default/default-A100-1`, accepted},
			"with a count of 10":     {`variantID: a-b-10`, accepted},
			"with a count of 0":      {`variantID: x-A100-0`, "spec.variantID"},
			"without a model":        {`variantID: A100-1`, "spec.variantID"},
			"without a count":        {`variantID: default/default-A100`, "spec.variantID"},
			"with a dot in its type": {`variantID: x-A100.80-1`, "spec.variantID"},
		},
		"accelerator": {
			"named": {`accelerator: MI300X`, accepted},
			"empty": {`accelerator: ""`, accepted},
		},
		"acceleratorCount": {
			"one":       {`acceleratorCount: 1`, accepted},
			"eight":     {`acceleratorCount: 8`, accepted},
			"none":      {`acceleratorCount: 0`, "spec.acceleratorCount"},
			"a part":    {`acceleratorCount: 0.5`, "spec.acceleratorCount"},
			"in quotes": {`acceleratorCount: "1"`, "spec.acceleratorCount"},
		},
		"sloClassRef": {
			"complete":          {`sloClassRef: {name: premium-slo, key: opt-125m}`, accepted},
			"without name":      {`sloClassRef: {key: k}`, "spec.sloClassRef.name"},
			"without key":       {`sloClassRef: {name: n}`, "spec.sloClassRef.key"},
			"with an empty key": {`sloClassRef: {name: n, key: ""}`, "spec.sloClassRef.key"},
		},
		"variantProfile": {
			"complete":              {`variantProfile: {maxBatchSize: 4, perfParms: {` + parms + `}}`, accepted},
			"empty":                 {`variantProfile: {}`, accepted},
			"no batch":              {`variantProfile: {maxBatchSize: 0}`, "spec.variantProfile.maxBatchSize"},
			"empty decodeParms":     {`variantProfile: {perfParms: {decodeParms: {}}}`, "spec.variantProfile.perfParms.decodeParms"},
			"empty prefillParms":    {`variantProfile: {perfParms: {prefillParms: {}}}`, "spec.variantProfile.perfParms.prefillParms"},
			"parameter as a number": {`variantProfile: {perfParms: {decodeParms: {alpha: 20}}}`, "spec.variantProfile.perfParms.decodeParms.alpha"},
		},
		"modelProfile": {
			"two accelerators": {`modelProfile: {accelerators: [{acc: A100, accCount: 1, maxBatchSize: 4, perfParms: {` + parms + `}}, {acc: H100}]}`, accepted},
			"absent list":      {`modelProfile: {}`, "spec.modelProfile.accelerators"},
			"empty list":       {`modelProfile: {accelerators: []}`, "spec.modelProfile.accelerators"},
			"nameless":         {`modelProfile: {accelerators: [{acc: ""}]}`, "spec.modelProfile.accelerators[0].acc"},
			"count of 0":       {`modelProfile: {accelerators: [{acc: A100, accCount: 0}]}`, "spec.modelProfile.accelerators[0].accCount"},
			"batch of 0":       {`modelProfile: {accelerators: [{acc: A100, maxBatchSize: 0}]}`, "spec.modelProfile.accelerators[0].maxBatchSize"},
			"empty parameters": {`modelProfile: {accelerators: [{acc: A100, perfParms: {decodeParms: {}}}]}`, "spec.modelProfile.accelerators[0].perfParms.decodeParms"},
		},
		"variantCost": {
			"zero":             {`variantCost: "0"`, accepted},
			"with cents":       {`variantCost: "1.95"`, accepted},
			"of older default": {`variantCost: "10.0"`, accepted},
			"without digits":   {`variantCost: ".5"`, "spec.variantCost"},
			"below zero":       {`variantCost: "-1"`, "spec.variantCost"},
			"with an exponent": {`variantCost: "1e3"`, "spec.variantCost"},
			"empty":            {`variantCost: ""`, "spec.variantCost"},
			"as a number":      {`variantCost: 1.95`, "spec.variantCost"},
		},
		"minReplicas": {
			"alone":                 {`minReplicas: 2`, accepted},
			"negative":              {`minReplicas: -1`, "spec.minReplicas"},
			"too large for 32 bits": {`minReplicas: 2147483648`, "spec.minReplicas"},
		},
		"maxReplicas": {
			"alone": {`maxReplicas: 4`, accepted},
			"zero":  {`maxReplicas: 0`, "spec.maxReplicas"},
		},
		"bounds": {
			"both":          {`minReplicas: 1, maxReplicas: 4`, accepted},
			"fixed size":    {`minReplicas: 3, maxReplicas: 3`, accepted},
			"zero to one":   {`minReplicas: 0, maxReplicas: 1`, accepted},
			"max below min": {`minReplicas: 5, maxReplicas: 2`, celOfBounds},
		},
	}
}

// object returns a VariantAutoscaling with this name and a spec of modelID m and
// the given fields.
func object(t *testing.T, name, spec string) map[string]any {
	t.Helper()
	obj := parse(t, []byte("apiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nmetadata: {namespace: default}\n"))
	obj["metadata"].(map[string]any)["name"] = name
	fields := map[string]any{"modelID": "m"}
	maps.Copy(fields, parse(t, []byte("{"+spec+"}")))
	obj["spec"] = fields
	return obj
}

// check reports what the server says otherwise than the statement.
func (s statement) check(t *testing.T, errs string) {
	t.Helper()
	if (s.want == "") != (errs == "") || !strings.Contains(errs, s.want) {
		t.Errorf("got %q, want %q", errs, s.want)
	}
}

func TestValidation(t *testing.T) {
	s := newServer(t)
	rows := statements()
	for _, field := range slices.Sorted(maps.Keys(rows)) {
		for name, want := range rows[field] {
			t.Run(field+" "+name, func(t *testing.T) {
				dropped, errs := s.admit(t, object(t, "va", want.spec))
				if len(dropped) > 0 {
					t.Errorf("dropped %q", dropped)
				}
				want.check(t, errs)
			})
		}
	}
}
