{{/* The external scaler: its Service, the Secret of its port, that of KEDA, and its host. */}}
{{- define "wva.scaler" -}}
{{ include "wva.fullname" . }}-external-scaler
{{- end }}

{{- define "wva.scalerSecret" -}}
{{ .Values.externalScaler.certificateSecret | default (include "wva.scaler" .) }}
{{- end }}

{{- define "wva.scalerClientSecret" -}}
{{ .Values.externalScaler.keda.clientSecret | default (printf "%s-client" (include "wva.scalerAuthentication" .)) }}
{{- end }}

{{- define "wva.scalerHost" -}}
{{ include "wva.scaler" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The ClusterTriggerAuthentication. */}}
{{- define "wva.scalerAuthentication" -}}
{{ include "wva.clusterName" . }}-external-scaler
{{- end }}

{{- define "wva.checkExternalScaler" -}}
{{- with .Values.externalScaler }}
{{- if .enabled }}
{{- if and (eq .certificates "cert-manager") (not .issuer.name) }}
  {{- fail "externalScaler.issuer.name: certificates=cert-manager needs the ClusterIssuer that issues them" }}
{{- end }}
{{- if and .clientCASecret .anyClient }}
  {{- fail "externalScaler: clientCASecret and anyClient contradict each other" }}
{{- end }}
{{- range $other, $port := dict "the probes" 8081 "metrics" (ternary (int $.Values.metrics.port) 0 $.Values.metrics.enabled) "externalMetrics" (ternary (int $.Values.externalMetrics.port) 0 $.Values.externalMetrics.enabled) }}
  {{- if eq $port (int $.Values.externalScaler.port) }}
    {{- fail (printf "externalScaler.port is %d, and that is the port of %s" $port $other) }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names that the certificate of the port is for. */}}
{{- define "wva.scalerNames" -}}
{{- $name := include "wva.scaler" . }}
{{- list (include "wva.scalerHost" .) (printf "%s.%s" $name .Release.Namespace) (printf "%s.cluster.local" (include "wva.scalerHost" .)) $name | toJson }}
{{- end }}

{{/*
Certificates of an authority whose key is not kept. Both are those of the cluster, where both are there and of one
authority; else both are new.
*/}}
{{- define "wva.scalerSecrets" }}
{{- $served := (lookup "v1" "Secret" .Release.Namespace (include "wva.scalerSecret" .)).data | default dict }}
{{- $shown := (lookup "v1" "Secret" .Values.externalScaler.keda.namespace (include "wva.scalerClientSecret" .)).data | default dict }}
{{- if not (and (get $served "tls.key") (get $shown "tls.key") (get $served "ca.crt") (eq (get $served "ca.crt") (get $shown "ca.crt"))) }}
{{- $authority := genCAWithKey (printf "%s-ca" (include "wva.scaler" .)) 3650 (genPrivateKey "ecdsa") }}
{{- $port := genSignedCertWithKey (include "wva.scaler" .) list (include "wva.scalerNames" . | fromJsonArray) 3650 $authority (genPrivateKey "ecdsa") }}
{{- $keda := genSignedCertWithKey "keda" list list 3650 $authority (genPrivateKey "ecdsa") }}
{{- $served = dict "tls.crt" (b64enc $port.Cert) "tls.key" (b64enc $port.Key) "ca.crt" (b64enc $authority.Cert) }}
{{- $shown = dict "tls.crt" (b64enc $keda.Cert) "tls.key" (b64enc $keda.Key) "ca.crt" (b64enc $authority.Cert) }}
{{- end }}
{{- include "wva.scalerSecretOf" (dict "root" . "name" (include "wva.scalerSecret" .) "namespace" .Release.Namespace "data" $served) }}
{{- include "wva.scalerSecretOf" (dict "root" . "name" (include "wva.scalerClientSecret" .) "namespace" .Values.externalScaler.keda.namespace "data" $shown) }}
{{- end }}

{{- define "wva.scalerSecretOf" }}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace }}
  labels: {{- include "wva.labels" .root | nindent 4 }}
data: {{- pick .data "tls.crt" "tls.key" "ca.crt" | toYaml | nindent 2 }}
{{- end }}

{{- define "wva.scalerCertificates" }}
{{- $root := . }}
{{- range list
  (dict "name" (include "wva.scalerSecret" .) "namespace" .Release.Namespace "usage" "server auth" "names" (include "wva.scalerNames" . | fromJsonArray))
  (dict "name" (include "wva.scalerClientSecret" .) "namespace" .Values.externalScaler.keda.namespace "usage" "client auth" "names" (list (printf "keda.%s" .Values.externalScaler.keda.namespace))) }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace }}
  labels: {{- include "wva.labels" $root | nindent 4 }}
spec:
  secretName: {{ .name | quote }}
  dnsNames: {{- toYaml .names | nindent 4 }}
  usages: [digital signature, key encipherment, {{ .usage }}]
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {{- toYaml $root.Values.externalScaler.issuer | nindent 4 }}
{{- end }}
{{- end }}
