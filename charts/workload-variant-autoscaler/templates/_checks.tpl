{{/* What no schema can say: values that contradict each other, and what is in the cluster already. */}}
{{- define "wva.check" -}}
{{- include "wva.published" . }}
{{- if .Values.controller.enabled }}
{{- include "wva.checkValues" . }}
{{- include "wva.checkExternalScaler" . }}
{{- include "wva.checkClaims" . }}
{{- include "wva.checkOpenShiftAI" . }}
{{- include "wva.checkExternalMetrics" . }}
{{- end }}
{{- include "wva.checkServed" . }}
{{- include "wva.checkDefinition" . }}
{{- end }}

{{- define "wva.checkValues" -}}
{{- with .Values.prometheus }}
{{- if and (hasPrefix "http://" .baseURL) (not .allowInsecure) }}
  {{- fail (printf "prometheus.baseURL: HTTPS is required - URL must use https:// scheme: %s (or set prometheus.allowInsecure=true: what is measured, and a token, then travel in clear text)" .baseURL) }}
{{- end }}
{{- if and (not .baseURL) (eq $.Values.collectorBackend "prometheus") }}
  {{- fail "prometheus.baseURL: the URL of Prometheus is needed, or collectorBackend=pods" }}
{{- end }}
{{- if gt (len (compact (list .caCert .caConfigMap.name .caCertPath))) 1 }}
  {{- fail "prometheus: only one of caCert, caConfigMap.name and caCertPath can be in force" }}
{{- end }}
{{- if and .tokenPath .tokenSecret }}
  {{- fail "prometheus: only one of tokenPath and tokenSecret can be in force" }}
{{- end }}
{{- end }}
{{- if and .Values.rbac.namespaceRoles (not .Values.watchNamespace) }}
  {{- fail "rbac.namespaceRoles: the manager serves every namespace, and these are for one; set watchNamespace, or use rbac.clusterRoles" }}
{{- end }}
{{- with .Values.controller }}
{{- if and (gt (int .replicas) 1) (not .leaderElection.enabled) }}
  {{- fail (printf "controller.replicas is %d and controller.leaderElection.enabled false: all of them would decide; set replicas to 1 or let one lead" (int .replicas)) }}
{{- end }}
{{- if and .podDisruptionBudget.enabled (gt (int .replicas) 1) (ge (int .podDisruptionBudget.minAvailable) (int .replicas)) }}
  {{- fail (printf "controller.podDisruptionBudget.minAvailable is %d of %d replicas: no node under a manager could ever be drained; it must be less than controller.replicas" (int .podDisruptionBudget.minAvailable) (int .replicas)) }}
{{- end }}
{{- end }}
{{- with .Values.metrics }}
{{- if and .enabled (not .secure) .certificateSecret }}
  {{- fail "metrics.certificateSecret: without metrics.secure nothing is served with it" }}
{{- end }}
{{- if and .enabled (eq (int .port) (int $.Values.externalMetrics.port)) $.Values.externalMetrics.enabled }}
  {{- fail (printf "metrics.port and externalMetrics.port are both %d" (int .port)) }}
{{- end }}
{{- if or (eq (int .port) 8081) (eq (int $.Values.externalMetrics.port) 8081) }}
  {{- fail "port 8081 is that of the probes: choose another for metrics.port and externalMetrics.port" }}
{{- end }}
{{- if and (not .enabled) (ne .monitor.kind "none") }}
  {{- fail (printf "metrics.monitor.kind is %s, but metrics.enabled is false: there is nothing to scrape" .monitor.kind) }}
{{- end }}
{{- if and .enabled .secure (eq .monitor.kind "PodMonitor") (not .monitor.tokenSecret) }}
  {{- fail "metrics.monitor.tokenSecret: a PodMonitor cannot show the token of Prometheus' own ServiceAccount; name a Secret with one, or use a ServiceMonitor" }}
{{- end }}
{{- end }}
{{- with .Values.externalMetrics }}
{{- if and .enabled .apiService (not .caCert) (not .insecureSkipVerify) (not .annotations) }}
  {{- fail "externalMetrics: the API server must know how to verify the server: give certificateSecret and caCert, or annotations that inject it (cert-manager.io/inject-ca-from), or insecureSkipVerify=true" }}
{{- end }}
{{- if and .caCert .insecureSkipVerify }}
  {{- fail "externalMetrics: caCert and insecureSkipVerify contradict each other" }}
{{- end }}
{{- if and .enabled .caCert (not .certificateSecret) }}
  {{- fail "externalMetrics.certificateSecret: caCert verifies a certificate that must be given; a self-signed one is another on every replica" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
What managers serve, as a JSON list of {instance, namespace, owner}: this release's, then what ClusterRoles of others
say, where the cluster can be asked.
*/}}
{{- define "wva.claims" -}}
{{- $claims := list }}
{{- if .Values.controller.enabled }}
  {{- $claims = append $claims (dict "instance" .Values.controllerInstance "namespace" .Values.watchNamespace "owner" (printf "%s/%s" .Release.Namespace .Release.Name)) }}
{{- end }}
{{- if .Values.rbac.create }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items }}
  {{- $annotations := .metadata.annotations | default dict }}
  {{- if hasKey $annotations "wva.llmd.ai/serves-namespace" }}
    {{- $owner := printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name") }}
    {{- if ne $owner (printf "%s/%s" $.Release.Namespace $.Release.Name) }}
      {{- $claims = append $claims (dict "instance" (get $annotations "wva.llmd.ai/serves-instance") "namespace" (get $annotations "wva.llmd.ai/serves-namespace") "owner" $owner "role" .metadata.name) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- $claims | toJson }}
{{- end }}

{{/* "true" where one of claims serves a namespace and a controller instance. */}}
{{- define "wva.served" -}}
{{- $of := . }}{{ $served := false }}
{{- range .claims }}
  {{- if and (or (not .namespace) (eq .namespace $of.namespace)) (or (not .instance) (eq .instance $of.instance)) }}{{ $served = true }}{{ end }}
{{- end }}
{{- if $served }}true{{ end }}
{{- end }}

{{/*
A model in a namespace that no manager serves would never be decided on. Where neither this release nor a role in the
cluster says what a manager serves, nothing is known of it.
*/}}
{{- define "wva.checkServed" -}}
{{- if and .Values.models (or .Values.watchNamespace (not .Values.controller.enabled)) }}
{{- $claims := include "wva.claims" . | fromJsonArray }}
{{- range .Values.models }}
  {{- $namespace := .namespace | default $.Release.Namespace }}
  {{- if and $claims (not (include "wva.served" (dict "claims" $claims "namespace" $namespace "instance" $.Values.controllerInstance))) }}
    {{- if not $.Values.controller.enabled }}
      {{- $others := list }}
      {{- range $claims }}{{ $others = append $others (printf "%s serves %s%s" (eq .owner "/" | ternary (printf "the manager of ClusterRole %s" .role) (printf "release %s" .owner)) (empty .namespace | ternary "every namespace" (printf "namespace %s" .namespace)) (empty .instance | ternary "" (printf " for controller instance %s" .instance))) }}{{ end }}
      {{- fail (printf "model %s is in namespace %s, which no manager serves%s: %s. Install a manager for it first, or let one of them serve it (watchNamespace, controllerInstance)" .modelID $namespace (empty $.Values.controllerInstance | ternary "" (printf " for controller instance %s" $.Values.controllerInstance)) (join ", " $others)) }}
    {{- end }}
    {{- fail (printf "model %s is in namespace %s, which no manager serves: this one serves %s alone (watchNamespace%s). Set watchNamespace to %s, or to \"\" for every namespace, or give the model namespace %s" .modelID $namespace $.Values.watchNamespace (hasKey ($.Values.wva | default dict) "namespaceScoped" | ternary ", by wva.namespaceScoped" "") $namespace $.Values.watchNamespace) }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* VariantAutoscalings of the cluster that no manager serves, as lines of text. */}}
{{- define "wva.unserved" -}}
{{- if and .Values.rbac.create (.Capabilities.APIVersions.Has "llmd.ai/v1alpha1") }}
{{- $claims := include "wva.claims" . | fromJsonArray }}
{{- if $claims }}
{{- range (lookup "llmd.ai/v1alpha1" "VariantAutoscaling" "" "").items }}
  {{- $instance := get (.metadata.labels | default dict) "wva.llmd.ai/controller-instance" }}
  {{- if not (include "wva.served" (dict "claims" $claims "namespace" .metadata.namespace "instance" $instance)) }}
{{ printf "%s/%s" .metadata.namespace .metadata.name }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Two managers that serve the same objects write to them in turn. */}}
{{- define "wva.checkClaims" -}}
{{- if .Values.rbac.create }}
{{- $instance := .Values.controllerInstance }}{{ $scope := .Values.watchNamespace }}
{{- range include "wva.claims" . | fromJsonArray | rest }}
  {{- $instances := or (eq $instance .instance) (not $instance) (not .instance) }}
  {{- $scopes := or (eq $scope .namespace) (not $scope) (not .namespace) }}
  {{- if and $instances $scopes }}
    {{- fail (printf "ClusterRole %s says that %s serves %s of %s already: two managers would write to the same VariantAutoscalings in turn. Give each its own controllerInstance or watchNamespace, or remove one" .role (eq .owner "/" | ternary "an install without Helm" (printf "release %s" .owner)) (empty .instance | ternary "every controller instance" (printf "controller instance %q" .instance)) (empty .namespace | ternary "every namespace" (printf "namespace %s" .namespace))) }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* OpenShift AI installs a manager of its own where it is told so. */}}
{{- define "wva.checkOpenShiftAI" -}}
{{- if and .Values.rbac.create (.Capabilities.APIVersions.Has "components.platform.opendatahub.io/v1alpha1/Kserve") }}
{{- range (lookup "components.platform.opendatahub.io/v1alpha1" "Kserve" "" "").items }}
  {{- if eq (dig "spec" "wva" "managementState" "" .) "Managed" }}
    {{- fail (printf "Kserve %s of OpenShift AI has spec.wva.managementState Managed: its manager and this one would write to the same VariantAutoscalings in turn. Set spec.components.kserve.wva.managementState to Removed in the DataScienceCluster, and install again" .metadata.name) }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The External Metrics API has one server. */}}
{{- define "wva.checkExternalMetrics" -}}
{{- if and .Values.externalMetrics.enabled .Values.externalMetrics.apiService }}
{{- with lookup "apiregistration.k8s.io/v1" "APIService" "" "v1beta1.external.metrics.k8s.io" }}
  {{- $service := .spec.service | default dict }}
  {{- if not (and (eq ($service.name | default "") (printf "%s-external-metrics" (include "wva.fullname" $))) (eq ($service.namespace | default "") $.Release.Namespace)) }}
    {{- fail (printf "externalMetrics.enabled: External Metrics are served by Service %s/%s already (KEDA and prometheus-adapter do so), and a cluster has one server of them. Let scalers read Prometheus there (modelDefaults.scaler=keda, or a rule of prometheus-adapter), or remove APIService v1beta1.external.metrics.k8s.io first" ($service.namespace | default "?") ($service.name | default "?")) }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Helm installs a CRD once and never upgrades it. */}}
{{- define "wva.checkDefinition" -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "variantautoscalings.llmd.ai" }}
  {{- $there := (first .spec.versions).schema.openAPIV3Schema.properties }}
  {{- $ours := (first ($.Files.Get "crds/llmd.ai_variantautoscalings.yaml" | fromYaml).spec.versions).schema.openAPIV3Schema.properties }}
  {{- $missing := list }}
  {{- range $part := list "spec" "status" }}
    {{- range $field, $_ := (get $ours $part).properties }}
      {{- if not (hasKey ((get $there $part | default dict).properties | default dict) $field) }}{{ $missing = append $missing (printf "%s.%s" $part $field) }}{{ end }}
    {{- end }}
  {{- end }}
  {{- if $missing }}
    {{- fail (printf "the CustomResourceDefinition variantautoscalings.llmd.ai in the cluster is older than this chart: it lacks %s. Helm never upgrades one; objects stay as they are when you do:\n  helm show crds <this chart> | kubectl apply --server-side --force-conflicts -f -" (join ", " $missing)) }}
  {{- end }}
{{- end }}
{{- end }}
