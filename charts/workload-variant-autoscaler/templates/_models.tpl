{{/* Each takes a variant with its defaults, and root, namespace and modelID. */}}

{{- define "wva.variantMeta" -}}
name: {{ .name }}
namespace: {{ .namespace }}
labels:
  {{- include "wva.labels" .root | nindent 2 }}
  {{- with .root.Values.controllerInstance }}
  wva.llmd.ai/controller-instance: {{ . | quote }}
  {{- end }}
{{- end }}

{{/* The same for its scaler, which may have another name. */}}
{{- define "wva.scalerMeta" -}}
{{- include "wva.variantMeta" (merge (dict "name" (.scalerName | default .name)) .) }}
{{- end }}

{{- define "wva.target" -}}
scaleTargetRef:
  apiVersion: {{ .target.apiVersion }}
  kind: {{ .target.kind }}
  name: {{ .target.name }}
{{- end }}

{{- define "wva.variant" }}
---
apiVersion: llmd.ai/v1alpha1
kind: VariantAutoscaling
metadata:
  {{- include "wva.variantMeta" . | nindent 2 }}
  {{- if or .paused .actuation }}
  annotations:
    {{- if .paused }}
    wva.llmd.ai/paused: "true"
    {{- end }}
    {{- with .actuation }}
    wva.llmd.ai/actuation: {{ . }}
    {{- end }}
  {{- end }}
spec:
  modelID: {{ .modelID | quote }}
  {{- include "wva.target" . | nindent 2 }}
  {{- with .accelerator }}
  accelerator: {{ . | quote }}
  {{- end }}
  {{- with .acceleratorCount }}
  acceleratorCount: {{ . }}
  {{- end }}
  {{- with .variantID }}
  variantID: {{ . | quote }}
  {{- end }}
  {{- with .cost }}
  variantCost: {{ . | quote }}
  {{- end }}
  {{- if hasKey . "minReplicas" }}
  minReplicas: {{ .minReplicas }}
  {{- end }}
  {{- with .maxReplicas }}
  maxReplicas: {{ . }}
  {{- end }}
  {{- with .serviceClass }}
  sloClassRef: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .profile }}
  variantProfile: {{- toYaml . | nindent 4 }}
  {{- end }}
{{ end }}

{{/* Behavior of an HPA; tolerances are for API servers that know them. */}}
{{- define "wva.behavior" -}}
{{- $behavior := deepCopy .behavior }}
{{- if semverCompare "<1.33-0" .root.Capabilities.KubeVersion.Version }}
{{- range $behavior }}{{ $_ := unset . "tolerance" }}{{ end }}
{{- end }}
{{- toYaml $behavior }}
{{- end }}

{{- define "wva.maxReplicas" -}}
{{- required (printf "models: variant %s needs maxReplicas: a scaler (%s) has no default for it" .name .scaler) .maxReplicas }}
{{- end }}

{{- define "wva.hpa" }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "wva.scalerMeta" . | nindent 2 }}
spec:
  {{- include "wva.target" . | nindent 2 }}
  minReplicas: {{ max 1 (int .minReplicas) }}
  maxReplicas: {{ include "wva.maxReplicas" . }}
  metrics:
    - type: External
      external:
        metric:
          name: wva_desired_replicas
          selector:
            matchLabels:
              variant_name: {{ .name }}
              exported_namespace: {{ .namespace }}
              {{- with .root.Values.controllerInstance }}
              controller_instance: {{ . | quote }}
              {{- end }}
        target:
          type: AverageValue
          averageValue: {{ .averageValue | quote }}
  behavior: {{- include "wva.behavior" . | nindent 4 }}
{{ end }}

{{- define "wva.keda" }}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "wva.scalerMeta" . | nindent 2 }}
spec:
  {{- include "wva.target" . | nindent 2 }}
  minReplicaCount: {{ int .minReplicas }}
  maxReplicaCount: {{ include "wva.maxReplicas" . }}
  pollingInterval: {{ .keda.pollingInterval }}
  cooldownPeriod: {{ .keda.cooldownPeriod }}
  {{- if and (int .minReplicas) (int .keda.fallbackReplicas) }}
  {{- if has "external-scaler" .keda.triggers }}
  # From the first failed reading on, while KEDA knows the metric, a trigger that fails wants what runs.
  fallback:
    failureThreshold: 0
    replicas: {{ int .minReplicas }}
  {{- else }}
  # What runs, and so many at least. Without it KEDA keeps what runs, none included.
  fallback:
    failureThreshold: {{ .keda.failureThreshold }}
    replicas: {{ .keda.fallbackReplicas }}
  {{- end }}
    behavior: currentReplicasIfHigher
  {{- end }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior: {{- include "wva.behavior" . | nindent 8 }}
  triggers:
    {{- if has "external-scaler" .keda.triggers }}{{ include "wva.triggerExternal" . | nindent 4 }}{{ end }}
    {{- if has "prometheus" .keda.triggers }}{{ include "wva.triggerPrometheus" . | nindent 4 }}{{ end }}
{{ end }}

{{/* The external scaler of this release, or another. */}}
{{- define "wva.triggerExternal" -}}
{{- $here := and .root.Values.controller.enabled .root.Values.externalScaler.enabled }}
{{- if ne .averageValue "1" }}
  {{- fail (printf "models: variant %s has averageValue %s: the external scaler (keda.triggers) serves replicas, of which each is one; leave it at 1" .name .averageValue) }}
{{- end }}
{{- if not (or $here .keda.scalerAddress) }}
  {{- fail (printf "models: variant %s is to be read from the external scaler (keda.triggers), which this release does not serve: set externalScaler.enabled=true, or keda.scalerAddress to that of another release" .name) }}
{{- end }}
- type: external-push
  metricType: AverageValue
  metadata:
    scalerAddress: {{ .keda.scalerAddress | default (printf "%s:%v" (include "wva.scalerHost" .root) .root.Values.externalScaler.port) | quote }}
    enableTLS: "true"
    variantName: {{ .name }}
  {{- with .keda.scalerAuthentication | default (ternary (include "wva.scalerAuthentication" .root) "" $here) }}
  authenticationRef:
    name: {{ . }}
    kind: ClusterTriggerAuthentication
  {{- end }}
{{- end }}

{{- define "wva.triggerPrometheus" -}}
{{- $selector := list (printf "variant_name=%q" .name) (printf "exported_namespace=%q" .namespace) }}
{{- with .root.Values.controllerInstance }}{{ $selector = append $selector (printf "controller_instance=%q" .) }}{{ end }}
- type: prometheus
  # Beside metadata, where KEDA reads it.
  metricType: AverageValue
  metadata:
    serverAddress: {{ .keda.serverAddress | default .root.Values.prometheus.baseURL | quote }}
    # One series: only the manager that leads exports, and max covers a change of leader.
    query: {{ printf "max(wva_desired_replicas{%s})" (join "," $selector) | quote }}
    threshold: {{ .averageValue | quote }}
    activationThreshold: "0"
    # A metric that is missing is an error, and not the number 0.
    ignoreNullValues: "false"
    unsafeSsl: {{ .keda.unsafeSsl | quote }}
    {{- with .keda.authModes }}
    authModes: {{ . }}
    {{- end }}
  {{- with .keda.authentication }}
  authenticationRef:
    name: {{ . }}
  {{- end }}
{{- end }}

{{- define "wva.modelMonitor" }}
{{- $pods := eq .monitor.kind "PodMonitor" }}
---
apiVersion: monitoring.coreos.com/v1
kind: {{ .monitor.kind }}
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{- include "wva.labelsWith" (dict "root" .root "more" .monitor.labels) | nindent 4 }}
spec:
  namespaceSelector:
    matchNames: [{{ .namespace }}]
  selector:
    matchLabels: {{- toYaml .monitor.selector | nindent 6 }}
  {{ ternary "podMetricsEndpoints" "endpoints" $pods }}:
    - port: {{ .monitor.port }}
      path: {{ .monitor.path }}
      interval: {{ .monitor.interval }}
{{ end }}
