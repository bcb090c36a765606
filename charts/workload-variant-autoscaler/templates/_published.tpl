{{/*
Converts values of earlier charts, by files/published.yaml, in .Values itself.
Every template includes it first; the first that needs it converts. What the notes
say of it is in .Values.publishedNotes.
*/}}
{{- define "wva.published" -}}
{{- if not (hasKey .Values "modelDefaults") }}
  {{- fail "the values of this chart are missing: --reuse-values puts those of the earlier chart in their place. Use --reset-then-reuse-values, which keeps what was set" }}
{{- end }}
{{- if not (hasKey .Values "publishedNotes") }}
{{- $_ := set .Values "publishedNotes" list }}
{{- $table := .Files.Get "files/published.yaml" | fromYaml }}
{{- include "wva.publishedDefaults" (dict "root" . "defaults" $table.defaults) }}
{{- range $table.gone }}
  {{- if hasKey (include "wva.at" (list $.Values .from) | fromJson) "value" }}
    {{- include "wva.note" (dict "root" $ "text" (printf "%s has no effect: %s." .from .instead)) }}
  {{- end }}
{{- end }}
{{- range $table.moved }}
  {{- $given := include "wva.at" (list $.Values .from) | fromJson }}
  {{- if hasKey $given "value" }}
    {{- include "wva.move" (dict "root" $ "row" . "old" $given.value) }}
  {{- end }}
{{- end }}
{{- include "wva.publishedImage" . }}
{{- include "wva.publishedPrometheus" . }}
{{- include "wva.publishedModels" (dict "root" . "defaults" $table.defaults) }}
{{- include "wva.publishedScope" . }}
{{- end }}
{{- end }}

{{- define "wva.note" -}}
{{- $_ := set .root.Values "publishedNotes" (append .root.Values.publishedNotes .text) }}
{{- end }}

{{/* Beginning of the names of published releases: neither cut as ours are, nor with the controller instance. */}}
{{- define "wva.publishedName" -}}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* "true" where an object of the cluster is of this release. */}}
{{- define "wva.own" -}}
{{- $annotations := dig "metadata" "annotations" dict .object }}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") .root.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") .root.Release.Namespace) }}true{{ end }}
{{- end }}

{{/*
A release made with few values has a VariantAutoscaling by the defaults of its
chart. Without these the upgrade would delete it, and its HPA.
*/}}
{{- define "wva.publishedDefaults" -}}
{{- $v := .root.Values }}{{ $defaults := .defaults }}
{{- if and .root.Release.IsUpgrade (not $v.models) (not $v.variantAutoscaling) (.root.Capabilities.APIVersions.Has "llmd.ai/v1alpha1") }}
  {{- $namespace := dig "namespace" $defaults.llmd.namespace ($v.llmd | default dict) }}
  {{- $va := lookup "llmd.ai/v1alpha1" "VariantAutoscaling" $namespace (printf "%s-va" (include "wva.publishedName" .root)) }}
  {{- if and $va (include "wva.own" (dict "root" .root "object" $va)) }}
    {{- range $key, $value := $defaults }}
      {{- $_ := set $v $key (mergeOverwrite (deepCopy $value) (get $v $key | default dict)) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* {"value": ...} for a path of a map, as JSON; {} where it does not exist. */}}
{{- define "wva.at" -}}
{{- $at := index . 0 }}{{ $found := true }}
{{- range $key := splitList "." (index . 1) }}
  {{- if and $found (kindIs "map" $at) (hasKey $at $key) }}{{ $at = index $at $key }}{{ else }}{{ $found = false }}{{ end }}
{{- end }}
{{- if and $found (not (kindIs "invalid" $at)) }}{{ dict "value" $at | toJson }}{{ else }}{}{{ end }}
{{- end }}

{{/* Sets what row.to names to old. */}}
{{- define "wva.move" -}}
{{- $keys := splitList "." .row.to }}
{{- $parent := .root.Values }}
{{- range initial $keys }}{{ $parent = index $parent . }}{{ end }}
{{- include "wva.moveInto" (dict "root" .root "parent" $parent "key" (last $keys) "row" .row "old" .old) }}
{{- end }}

{{/*
Sets a key of parent to old, key by key where both are maps. Another value of the new
name wins over the default of the earlier chart; of two that both were chosen and that
differ neither does.
*/}}
{{- define "wva.moveInto" -}}
{{- $row := .row }}
{{- $now := index .parent .key }}
{{- $new := .old }}
{{- if and (kindIs "map" $new) (kindIs "map" $now) }}
  {{- range $key, $value := $new }}
    {{- if not (kindIs "invalid" $value) }}
      {{- $inner := dict "from" (printf "%s.%s" $row.from $key) "to" (printf "%s.%s" $row.to $key) "default" (index ($row.default | default dict) $key) "published" (index ($row.published | default dict) $key) }}
      {{- include "wva.moveInto" (dict "root" $.root "parent" $now "key" $key "row" $inner "old" $value) }}
    {{- end }}
  {{- end }}
{{- else }}
  {{- if and (kindIs "bool" $row.default) (kindIs "string" $new) }}{{ $new = eq $new "true" }}{{ end }}
  {{- if and (kindIs "float64" $new) (eq (floor $new) $new) }}{{ $new = int64 $new }}{{ end }}
  {{- if and (kindIs "string" $row.default) (not (kindIs "string" $new)) }}{{ $new = toString $new }}{{ end }}
  {{- $given := ne (toJson $now) (toJson $row.default) }}
  {{- $differ := and $given (ne (toJson $now) (toJson $new)) }}
  {{- if and $differ (ne (toJson $new) (toJson $row.published)) }}
    {{- fail (printf "%s is %s and %s is %s: the first is what earlier charts called the second; keep %s alone" $row.from (toJson $new | trunc 80) $row.to (toJson $now | trunc 80) $row.to) }}
  {{- end }}
  {{- if $differ }}
    {{- include "wva.note" (dict "root" .root "text" (printf "%s has no effect: %s is given." $row.from $row.to)) }}
  {{- else }}
    {{- $_ := set .parent .key $new }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The image of an earlier version knows neither the flags nor the settings of this chart. */}}
{{- define "wva.publishedImage" -}}
{{- $tag := dig "image" "tag" "" (.Values.wva | default dict) | toString }}
{{- if $tag }}
  {{- $image := .Values.controller.image }}
  {{- $earlier := and (regexMatch "^v?[0-9]+\\.[0-9]+\\.[0-9]+" $tag) (semverCompare (printf "<%s" (trimPrefix "v" .Chart.AppVersion)) (trimPrefix "v" $tag)) }}
  {{- if $earlier }}
    {{- include "wva.note" (dict "root" . "text" (printf "wva.image.tag has no effect: %s is of an earlier version, whose image does not run with this chart. The tag is %s (controller.image.tag)." $tag ($image.tag | default .Chart.AppVersion))) }}
  {{- else }}
    {{- include "wva.move" (dict "root" . "row" (dict "from" "wva.image.tag" "to" "controller.image.tag" "default" "") "old" $tag) }}
  {{- end }}
{{- end }}
{{- end }}

{{/* How the manager reaches Prometheus, and Prometheus the manager. */}}
{{- define "wva.publishedPrometheus" -}}
{{- $v := .Values }}
{{- $old := dig "prometheus" dict ($v.wva | default dict) | default dict }}
{{- if $old }}
  {{- /* The earlier manager showed its own token, and had rights for the monitoring of OpenShift. */}}
  {{- $p := $v.prometheus }}
  {{- if not (or $p.tokenPath $p.tokenSecret $p.basicAuthSecret $p.clientCertSecret) }}
    {{- $_ := set $p "tokenPath" "/var/run/secrets/kubernetes.io/serviceaccount/token" }}
  {{- end }}
  {{- $path := dig "tls" "caCertPath" "" $old }}
  {{- if and $path (ne $path "/etc/ssl/certs/prometheus-ca.crt") }}
    {{- if $p.caCert }}
      {{- include "wva.note" (dict "root" . "text" "wva.prometheus.tls.caCertPath has no effect: prometheus.caCert is given, as text.") }}
    {{- else if $p.caConfigMap.name }}
      {{- include "wva.note" (dict "root" . "text" "wva.prometheus.tls.caCertPath has no effect: prometheus.caConfigMap is given.") }}
    {{- else }}
      {{- include "wva.move" (dict "root" . "row" (dict "from" "wva.prometheus.tls.caCertPath" "to" "prometheus.caCertPath" "default" "") "old" $path) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- $namespace := $old.monitoringNamespace }}
{{- if and (or $namespace $old.releaseLabel) $v.metrics.enabled (eq $v.metrics.monitor.kind "none") }}
  {{- $_ := set $v.metrics.monitor "kind" "ServiceMonitor" }}
{{- end }}
{{- if and $namespace $old.serviceAccountName }}
  {{- $reader := dict "name" $old.serviceAccountName "namespace" $namespace }}
  {{- if not (has $reader $v.metrics.readers) }}{{ $_ := set $v.metrics "readers" (append $v.metrics.readers $reader) }}{{ end }}
{{- end }}
{{- if and (hasPrefix "openshift-" ($namespace | default "")) $v.rbac.create (not (has "cluster-monitoring-view" $v.rbac.clusterRoles)) }}
  {{- $_ := set $v.rbac "clusterRoles" (append $v.rbac.clusterRoles "cluster-monitoring-view") }}
{{- end }}
{{- end }}

{{/* namespaceScoped. No manager served a model elsewhere: the manager serves it where it then leaves nothing. */}}
{{- define "wva.publishedScope" -}}
{{- $wva := .Values.wva | default dict }}
{{- if hasKey $wva "namespaceScoped" }}
  {{- $scoped := eq (toString $wva.namespaceScoped) "true" }}
  {{- $home := .Release.Namespace }}
  {{- $scope := ternary $home "" $scoped }}
  {{- $model := .Values.publishedNamespace | default "" }}
  {{- if .Values.watchNamespace }}
    {{- if and (not $scoped) (ne .Values.watchNamespace $scope) }}
      {{- fail (printf "wva.namespaceScoped is %t and watchNamespace %q: the first is what earlier charts had for the second; keep watchNamespace alone" $scoped .Values.watchNamespace) }}
    {{- end }}
    {{- $scope = .Values.watchNamespace }}
  {{- else if and $scoped $model (ne $model $home) .Values.controller.enabled }}
    {{- $here := list }}
    {{- if .Capabilities.APIVersions.Has "llmd.ai/v1alpha1" }}{{ $here = (lookup "llmd.ai/v1alpha1" "VariantAutoscaling" $home "").items | default list }}{{ end }}
    {{- if not $here }}
      {{- $scope = $model }}
      {{- include "wva.note" (dict "root" . "text" (printf "wva.namespaceScoped is true and the model is in namespace %s (llmd.namespace): the manager serves %s. With wva.namespaceScoped=false it serves every namespace." $model $model)) }}
    {{- end }}
  {{- end }}
  {{- $_ := set .Values "watchNamespace" $scope }}
{{- end }}
{{- end }}

{{/* llmd, va, hpa and variantAutoscaling: one model and its variants. */}}
{{- define "wva.publishedModels" -}}
{{- $root := .root }}{{ $v := .root.Values }}
{{- $wva := $v.wva | default dict }}{{ $llmd := $v.llmd | default dict }}{{ $va := $v.va | default dict }}
{{- $hpa := $v.hpa | default dict }}{{ $several := $v.variantAutoscaling | default dict }}
{{- $on := and (dig "va" "enabled" true $wva) (dig "enabled" true $va) }}
{{- $one := or $llmd $va $several $wva.modelName $wva.va $wva.hpa }}
{{- $scaled := omit $hpa "targetAverageValue" "behavior" }}
{{- if and $v.models $scaled (not $one) }}
  {{- include "wva.note" (dict "root" $root "text" "hpa.enabled, hpa.minReplicas and hpa.maxReplicas have no effect: models says it for each variant.") }}
{{- else if and $on (or $one $scaled) }}
  {{- if not $several }}
    {{- range $key := list "modelID" "modelName" "namespace" }}
      {{- if not (get $llmd $key) }}
        {{- include "wva.note" (dict "root" $root "text" (printf "llmd.%s is not given: it is %s, as in the earlier chart." $key (get $.defaults.llmd $key))) }}
      {{- end }}
    {{- end }}
    {{- $llmd = mergeOverwrite (deepCopy .defaults.llmd) $llmd }}
    {{- if and $wva.modelName (ne $wva.modelName $llmd.modelName) }}
      {{- include "wva.note" (dict "root" $root "text" "wva.modelName has no effect: llmd.modelName names the scale target.") }}
    {{- end }}
  {{- end }}
  {{- $modelID := coalesce $several.modelID $llmd.modelID | required "llmd.modelID: the ID of the model is needed to convert the values of an earlier chart (llmd, va); better, use models" }}
  {{- /* wva.modelName is of the charts with variantAutoscaling. Later ones took it and named the target by llmd.modelName. */}}
  {{- $modelName := ternary (coalesce $wva.modelName $llmd.modelName) $llmd.modelName (not (empty $several)) | required "llmd.modelName: the scale target is named after it in the values of an earlier chart (llmd, va); better, use models" }}
  {{- $namespace := $llmd.namespace | default $root.Release.Namespace }}
  {{- $scaler := ternary "hpa" "none" (and (dig "hpa" "enabled" true $wva) (dig "enabled" true $hpa)) }}
  {{- $common := dict "scaler" $scaler "minReplicas" (dig "minReplicas" 1 $hpa) "maxReplicas" (dig "maxReplicas" 10 $hpa) }}
  {{- $variants := list }}
  {{- range $several.variants }}
    {{- $name := printf "%s-%s" $modelName .accelerator | lower }}
    {{- $target := ternary $name $modelName (eq $several.deploymentMode "multi") | printf "%s-decode" }}
    {{- $variant := dict "name" $name "target" (dict "name" $target) "accelerator" .accelerator "acceleratorCount" (.acceleratorCount | default 1) }}
    {{- if .perfParms }}{{ $_ := set $variant "profile" (dict "maxBatchSize" .maxBatchSize "perfParms" .perfParms) }}{{ end }}
    {{- $variants = append $variants (mergeOverwrite (deepCopy $common) $variant) }}
  {{- else }}
    {{- /* The HPA keeps the name that it has: two of them on one target would stop each other. */}}
    {{- $name := include "wva.publishedName" $root }}
    {{- $variant := dict "name" (printf "%s-va" $name) "scalerName" (printf "%s-hpa" $name) "target" (dict "name" (printf "%s-decode" $modelName)) }}
    {{- if $va.accelerator }}{{ $_ := set $variant "accelerator" $va.accelerator }}{{ end }}
    {{- if $va.variantCost }}{{ $_ := set $variant "cost" (toString $va.variantCost) }}{{ end }}
    {{- $variants = append $variants (mergeOverwrite (deepCopy $common) $variant) }}
  {{- end }}
  {{- $_ := set $v "publishedNamespace" $namespace }}
  {{- $taken := list }}
  {{- range $model := $v.models }}
    {{- if eq ($model.namespace | default $root.Release.Namespace) $namespace }}
      {{- range $model.variants }}{{ $taken = concat $taken (list (printf "variant/%s" .name) (printf "target/%s" (dig "target" "name" .name .))) }}{{ end }}
    {{- end }}
  {{- end }}
  {{- $kept := list }}
  {{- range $variants }}
    {{- if or (has (printf "variant/%s" .name) $taken) (has (printf "target/%s" .target.name) $taken) }}
      {{- include "wva.note" (dict "root" $root "text" (printf "llmd and va have no effect: models has variant %s, or another for %s, already." .name .target.name)) }}
    {{- else }}{{ $kept = append $kept . }}{{ end }}
  {{- end }}
  {{- if $kept }}
    {{- $_ := set $v "models" (append $v.models (dict "modelID" $modelID "namespace" $namespace "variants" $kept)) }}
    {{- include "wva.publishedObjectives" (dict "root" $root "model" $modelID "namespace" $namespace "va" $va "defaults" .defaults.va) }}
  {{- end }}
{{- end }}
{{- end }}

{{/* va.sloTpot and va.sloTtft: a service class of their own, but for what another class says of the model. */}}
{{- define "wva.publishedObjectives" -}}
{{- $of := . }}{{ $v := .root.Values }}
{{- $row := dict "model" .model }}
{{- range $from, $to := dict "sloTpot" "slo-tpot" "sloTtft" "slo-ttft" }}
  {{- $old := get $of.va $from }}
  {{- $class := "" }}{{ $now := "" }}
  {{- range $name, $c := $v.serviceClasses }}
    {{- range $c.data }}
      {{- if and (not $class) (eq .model $of.model) (has (.namespace | default "") (list "" $of.namespace)) (hasKey . $to) }}{{ $class = $name }}{{ $now = index . $to }}{{ end }}
    {{- end }}
  {{- end }}
  {{- if and $old $class }}
    {{- if and (ne (toString $old) (toString $now)) (ne (toString $old) (toString (get $of.defaults $from))) }}
      {{- fail (printf "va.%s is %v and serviceClasses.%s says %s %v of model %s: the first is what earlier charts called the second; keep serviceClasses alone" $from $old $class $to $now $of.model) }}
    {{- end }}
    {{- if ne (toString $old) (toString $now) }}
      {{- include "wva.note" (dict "root" $of.root "text" (printf "va.%s has no effect: serviceClasses.%s is given for model %s." $from $class $of.model)) }}
    {{- end }}
  {{- else if $old }}{{ $_ := set $row $to $old }}{{ end }}
{{- end }}
{{- if gt (len $row) 1 }}
  {{- $_ := set $v "serviceClasses" (mergeOverwrite (dict "published" (dict "name" "published" "priority" 1 "data" (list $row))) $v.serviceClasses) }}
{{- end }}
{{- end }}
