package anycluster

import (
	"strings"
	"time"
)

// The models of the scenarios. Each has one variant, with the name of the scenario.
const (
	saturatedModel = "meta/llama-3.1-8b"
	sizedModel     = "meta/llama-3.1-70b"
	sleepingModel  = "meta/sleeper"
	boundModel     = "meta/bound"
	openShiftModel = "meta/openshift"
)

// wantedITL is the ITL objective of the sized model, in ms. A replica with a single request takes
// 36 ms; with six, which it has at 0.62 requests/s of 200 tokens in and out, it takes 40 ms.
const wantedITL = 40

// retention is the retention period of the sleeping model.
const retention = 15 * time.Second

// values returns the chart's values for the manager of a run and the variants of its scenarios.
func (r *Run) values() map[string]any {
	values := r.common()
	values["collectorBackend"] = "pods"
	values["settings"] = map[string]any{"PROMETHEUS_METRICS_CACHE_TTL": "5s"}
	values["prometheus"] = map[string]any{"baseURL": ""}
	values["externalMetrics"] = map[string]any{"enabled": r.ExternalMetrics == "", "insecureSkipVerify": r.ExternalMetrics == ""}
	values["saturation"] = map[string]any{
		"default":   map[string]any{"scaleDownStabilization": "15s"}, // two minutes would be most of the run
		"overrides": map[string]any{"sized": map[string]any{"model_id": sizedModel, "engine": "model"}},
	}
	values["serviceClasses"] = map[string]any{"premium": map[string]any{
		"name": "Premium", "priority": 1,
		"data": []any{map[string]any{"model": sizedModel, "slo-tpot": wantedITL, "slo-ttft": 500}},
	}}
	values["modelScaleToZero"] = map[string]any{"sleeper": map[string]any{
		"modelID": sleepingModel, "namespace": r.Namespace(Zero), "enableScaleToZero": true, "retentionPeriod": retention.String(),
	}}
	follow := map[string]any{"tolerance": "0", "stabilizationWindowSeconds": 0, "policies": []any{map[string]any{"type": "Pods", "value": 10, "periodSeconds": 15}}}
	values["modelDefaults"] = map[string]any{"behavior": map[string]any{"scaleUp": follow, "scaleDown": follow}}
	var models []any
	for _, l := range r.Chosen {
		if m := r.model(l); m != nil {
			models = append(models, m)
		}
	}
	values["models"] = models
	return values
}

// common returns the values of every manager of a run.
func (r *Run) common() map[string]any {
	manager := map[string]any{"image": imageValues(r.Image)}
	if r.OpenShift {
		manager["runAsUser"] = nil
	}
	return map[string]any{
		"fullnameOverride": "wva", "controllerInstance": r.ID, "controller": manager, "interval": "5s",
		"rbac":          map[string]any{"aggregate": false},
		"networkPolicy": map[string]any{"apiServerPorts": r.APIServerPorts},
	}
}

// model returns the chart's entry for the model of a scenario, nil for one with a release of its
// own.
func (r *Run) model(l Label) map[string]any {
	variant := map[string]any{"name": string(l), "accelerator": "L40S", "cost": "12", "minReplicas": 1, "maxReplicas": 4}
	if r.ExternalMetrics != "" {
		variant["actuation"] = "scale"
	}
	id := ""
	switch l {
	case Saturation:
		id = saturatedModel
	case Model:
		id = sizedModel
		variant["accelerator"], variant["maxReplicas"] = "A100", 6
		// Measured on the emulated profile with prompts of 200 tokens.
		variant["profile"] = map[string]any{"maxBatchSize": 32, "perfParms": map[string]any{
			"decodeParms":  map[string]any{"alpha": "35", "beta": "0.83"},
			"prefillParms": map[string]any{"gamma": "77", "delta": "0.013"},
		}}
	case Zero:
		id = sleepingModel
		variant["minReplicas"] = 0
		if r.ExternalMetrics == "" {
			variant["actuation"] = "zero" // an HPA knows no zero
		}
	case Kind:
		id = boundModel
	case OpenShift:
		return nil
	}
	return map[string]any{"modelID": id, "namespace": r.Namespace(l), "variants": []any{variant}}
}

// imageValues splits repository:tag or repository@digest into values of the chart.
func imageValues(image string) map[string]any {
	if repository, digest, ok := strings.Cut(image, "@"); ok {
		return map[string]any{"repository": repository, "digest": digest}
	}
	at := strings.LastIndex(image, ":")
	if at < strings.LastIndex(image, "/") || at < 0 { // none, or the port of a registry
		return map[string]any{"repository": image, "tag": "latest"}
	}
	return map[string]any{"repository": image[:at], "tag": image[at+1:]}
}

// openShiftValues returns the values of the release for OpenShift beside those of
// ci/openshift-values.yaml.
func (r *Run) openShiftValues() map[string]any {
	values := r.common()
	values["controllerInstance"] = r.ID + "-os"
	values["models"] = []any{map[string]any{
		"modelID": openShiftModel, "namespace": r.Namespace(OpenShift),
		"monitor": map[string]any{"kind": "PodMonitor", "interval": "5s", "selector": map[string]any{"app": string(OpenShift)}},
		"variants": []any{map[string]any{
			"name": string(OpenShift), "accelerator": "L40S", "cost": "12", "minReplicas": 1, "maxReplicas": 4, "actuation": "scale",
		}},
	}}
	return values
}
