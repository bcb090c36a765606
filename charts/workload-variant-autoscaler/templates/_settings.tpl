{{/* Live settings, as the ConfigMap holds them. */}}
{{- define "wva.settings" -}}
GLOBAL_OPT_INTERVAL: {{ .Values.interval | quote }}
WVA_EXECUTOR: {{ .Values.executor }}
WVA_SCALE_TO_ZERO: {{ .Values.scaleToZero | quote }}
WVA_LIMITED_MODE: {{ .Values.limitedMode | quote }}
LOG_LEVEL: {{ .Values.logLevel }}
{{- if .Values.advisory }}
WVA_ADVISORY: "true"
{{- end }}
{{- with .Values.prometheus }}
{{- if .baseURL }}
PROMETHEUS_BASE_URL: {{ .baseURL | quote }}
{{- end }}
{{- if .insecureSkipVerify }}
PROMETHEUS_TLS_INSECURE_SKIP_VERIFY: "true"
{{- end }}
{{- if .serverName }}
PROMETHEUS_SERVER_NAME: {{ .serverName | quote }}
{{- end }}
{{- if or .caCert .caConfigMap.name }}
PROMETHEUS_CA_CERT_PATH: {{ ternary "ca.crt" .caConfigMap.key (not .caConfigMap.name) | printf "/etc/wva/prometheus-ca/%s" | quote }}
{{- else if .caCertPath }}
PROMETHEUS_CA_CERT_PATH: {{ .caCertPath | quote }}
{{- end }}
{{- if .clientCertSecret }}
PROMETHEUS_CLIENT_CERT_PATH: /etc/wva/prometheus-client/tls.crt
PROMETHEUS_CLIENT_KEY_PATH: /etc/wva/prometheus-client/tls.key
{{- end }}
{{- if .tokenSecret }}
PROMETHEUS_TOKEN_PATH: /etc/wva/prometheus-token/token
{{- else if .tokenPath }}
PROMETHEUS_TOKEN_PATH: {{ .tokenPath | quote }}
{{- end }}
{{- if .headers }}
{{- $pairs := list }}{{ range $name, $value := .headers }}{{ $pairs = append $pairs (printf "%s=%s" $name $value) }}{{ end }}
PROMETHEUS_HEADERS: {{ $pairs | join "," | quote }}
{{- end }}
{{- if .metricPrefixes }}
PROMETHEUS_METRIC_PREFIXES: {{ .metricPrefixes | join "," | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* "true" where some value asks for limited mode, which reads nodes. */}}
{{- define "wva.limited" -}}
{{- $limited := or .Values.limitedMode .Values.rbac.readNodes .Values.saturation.default.enableLimiter }}
{{- range .Values.saturation.overrides }}{{ $limited = or $limited .enableLimiter }}{{ end }}
{{- if $limited }}true{{ end }}
{{- end }}

{{/* "true" where the manager sets replicas itself. */}}
{{- define "wva.scales" -}}
{{- $scales := .Values.rbac.scale }}
{{- range .Values.models }}{{ range .variants }}{{ $scales = or $scales (has .actuation (list "zero" "scale")) }}{{ end }}{{ end }}
{{- if $scales }}true{{ end }}
{{- end }}

{{/* API groups of scale targets that values name, as JSON: those of rbac.targetGroups and of the targets of models. */}}
{{- define "wva.targetGroups" -}}
{{- $groups := .Values.rbac.targetGroups }}
{{- range .Values.models }}{{ range .variants }}
  {{- with dig "target" "apiVersion" "" . }}{{ if contains "/" . }}{{ $groups = append $groups (splitList "/" . | first) }}{{ end }}{{ end }}
{{- end }}{{ end }}
{{- $groups | uniq | toJson }}
{{- end }}

{{/* Flags of the manager. */}}
{{- define "wva.args" -}}
- --health-probe-bind-address=:8081
{{- if .Values.controller.leaderElection.enabled }}
- --leader-elect
- --leader-election-id={{ include "wva.lease" . }}
{{- end }}
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:{{ .Values.metrics.port }}
- --metrics-secure={{ .Values.metrics.secure }}
{{- if and .Values.metrics.secure .Values.metrics.certificateSecret }}
- --metrics-cert-path=/etc/wva/metrics
{{- end }}
{{- end }}
{{- if .Values.externalMetrics.enabled }}
- --external-metrics-bind-address=:{{ .Values.externalMetrics.port }}
{{- if .Values.externalMetrics.certificateSecret }}
- --external-metrics-cert-path=/etc/wva/external-metrics
{{- end }}
{{- end }}
- --collector-backend={{ .Values.collectorBackend }}
{{- if .Values.externalScaler.enabled }}
- --external-scaler-bind-address=:{{ .Values.externalScaler.port }}
- --external-scaler-cert-path=/etc/wva/external-scaler
{{- if .Values.externalScaler.anyClient }}
- --external-scaler-any-client
{{- else }}
- --external-scaler-client-ca-path=/etc/wva/external-scaler-clients/ca.crt
{{- end }}
{{- end }}
{{- with .Values.watchNamespace }}
- --watch-namespace={{ . }}
{{- end }}
{{- with .Values.controllerInstance }}
- --controller-instance={{ . }}
{{- end }}
{{- if .Values.prometheus.allowInsecure }}
- --allow-insecure-prometheus
{{- end }}
{{- with .Values.inventory.nodeSelector }}
- {{ printf "--node-selector=%s" . | quote }}
{{- end }}
{{- with .Values.inventory.gpuVendors }}
- --gpu-vendors={{ join "," . }}
{{- end }}
{{- range $name, $value := .Values.namespaceBudget }}
- --namespace-{{ kebabcase $name }}={{ int64 $value }}
{{- end }}
{{- if .Values.legacyMetricNames }}
- --legacy-metric-names
{{- end }}
{{- if .Values.recording.enabled }}
- --record-file=/var/lib/wva/cycles.jsonl
- --record-max-bytes={{ .Values.recording.maxBytes | int64 }}
{{- end }}
{{- if not .Values.store.enabled }}
- --store=false
{{- end }}
{{- with .Values.controller.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What is mounted, as {name, path, source, writable}. */}}
{{- define "wva.mounts" -}}
{{- with .Values.prometheus }}
{{- if or .caCert .caConfigMap.name }}
- {name: prometheus-ca, path: /etc/wva/prometheus-ca, source: {configMap: {name: {{ .caConfigMap.name | default (printf "%s-prometheus-ca" (include "wva.fullname" $)) | quote }}}}}
{{- end }}
{{- if .clientCertSecret }}
- {name: prometheus-client, path: /etc/wva/prometheus-client, source: {secret: {secretName: {{ .clientCertSecret | quote }}}}}
{{- end }}
{{- if .tokenSecret }}
- {name: prometheus-token, path: /etc/wva/prometheus-token, source: {secret: {secretName: {{ .tokenSecret | quote }}}}}
{{- end }}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.secure .Values.metrics.certificateSecret }}
- {name: metrics-certificate, path: /etc/wva/metrics, source: {secret: {secretName: {{ .Values.metrics.certificateSecret | quote }}}}}
{{- end }}
{{- if and .Values.externalMetrics.enabled .Values.externalMetrics.certificateSecret }}
- {name: external-metrics-certificate, path: /etc/wva/external-metrics, source: {secret: {secretName: {{ .Values.externalMetrics.certificateSecret | quote }}}}}
{{- end }}
{{- if .Values.externalScaler.enabled }}
- {name: external-scaler-certificate, path: /etc/wva/external-scaler, source: {secret: {secretName: {{ include "wva.scalerSecret" . | quote }}}}}
{{- if not .Values.externalScaler.anyClient }}
- {name: external-scaler-clients, path: /etc/wva/external-scaler-clients, source: {secret: {secretName: {{ .Values.externalScaler.clientCASecret | default (include "wva.scalerSecret" .) | quote }}, items: [{key: ca.crt, path: ca.crt}]}}}
{{- end }}
{{- end }}
{{- if .Values.recording.enabled }}
- {name: recording, path: /var/lib/wva, source: {{ toJson (.Values.recording.volume | default (dict "emptyDir" dict)) }}, writable: true}
{{- end }}
{{- with .Values.controller.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
