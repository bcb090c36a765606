{{- define "wva.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/*
Beginning of every name: the release, with the chart where it does not say so,
and the instance. At most 44 characters, so that names of Services have 63.
*/}}
{{- define "wva.fullname" -}}
{{- $name := include "wva.name" . }}
{{- $instance := empty .Values.controllerInstance | ternary "" (printf "-%s" .Values.controllerInstance) }}
{{- $full := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) }}
{{- $full | trunc (sub 44 (len $instance) | int) | trimSuffix "-" }}{{ $instance }}
{{- end }}

{{/* The same for objects of the cluster: two releases of one name may each serve a namespace. */}}
{{- define "wva.clusterName" -}}
{{- $name := include "wva.fullname" . }}
{{- if .Values.watchNamespace }}{{ $name = printf "%s-%s" $name .Release.Namespace }}{{ end }}
{{- $name }}
{{- end }}

{{- define "wva.manager" -}}
{{ include "wva.fullname" . }}-controller-manager
{{- end }}

{{- define "wva.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "wva.manager" .) }}
{{- else }}{{ required "serviceAccount.name: with serviceAccount.create=false the name of one that exists is needed" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "wva.subject" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "wva.serviceAccount" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "wva.selector" -}}
app.kubernetes.io/name: {{ include "wva.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
control-plane: controller-manager
{{- with .Values.controllerInstance }}
wva.llmd.ai/controller-instance: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "wva.labels" -}}
app.kubernetes.io/name: {{ include "wva.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Labels of root and more; those of the chart itself win. */}}
{{- define "wva.labelsWith" -}}
{{- mergeOverwrite (deepCopy .more) (include "wva.labels" .root | fromYaml) | toYaml }}
{{- end }}

{{/* Image by digest, tag or version. */}}
{{- define "wva.image" -}}
{{- with .Values.controller.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The name of the lease by which the manager leads, which is also what its role names. */}}
{{- define "wva.lease" -}}
{{ .Values.controller.leaderElection.id | default (printf "%s72dd1cf1.llm-d.ai" (empty .Values.controllerInstance | ternary "" (printf "%s." .Values.controllerInstance))) }}
{{- end }}
