{{/*
Converts values of earlier charts, by files/published.yaml, in .Values itself.
Every template includes it first; whoever comes first converts.
*/}}
{{- define "wva.published" -}}
{{- if not (hasKey .Values "publishedConverted") }}
{{- $table := .Files.Get "files/published.yaml" | fromYaml }}
{{- range $table.gone }}
  {{- if hasKey $.Values .from }}
    {{- fail (printf "%s is a value of earlier charts that is gone: %s" .from .instead) }}
  {{- end }}
{{- end }}
{{- range $table.moved }}
  {{- $given := include "wva.at" (list $.Values .from) | fromJson }}
  {{- if hasKey $given "value" }}
    {{- include "wva.move" (dict "values" $.Values "row" . "old" $given.value) }}
  {{- end }}
{{- end }}
{{- include "wva.publishedScope" . }}
{{- include "wva.publishedModels" . }}
{{- $_ := set .Values "publishedConverted" true }}
{{- end }}
{{- end }}

{{/* {"value": ...} for a path of a map, as JSON; {} where it does not exist. */}}
{{- define "wva.at" -}}
{{- $at := index . 0 }}{{ $found := true }}
{{- range $key := splitList "." (index . 1) }}
  {{- if and $found (kindIs "map" $at) (hasKey $at $key) }}{{ $at = index $at $key }}{{ else }}{{ $found = false }}{{ end }}
{{- end }}
{{- if $found }}{{ dict "value" $at | toJson }}{{ else }}{}{{ end }}
{{- end }}

{{/* Sets what row.to names to old, unless it was given another value. */}}
{{- define "wva.move" -}}
{{- $keys := splitList "." .row.to }}
{{- $parent := .values }}
{{- range initial $keys }}{{ $parent = index $parent . }}{{ end }}
{{- $now := index $parent (last $keys) }}
{{- if and (ne (toJson $now) (toJson .row.default)) (ne (toJson $now) (toJson .old)) }}
  {{- fail (printf "%s and %s are both given: the first is what earlier charts called the second; keep %s alone" .row.from .row.to .row.to) }}
{{- end }}
{{- $new := .old }}
{{- if and (kindIs "map" $new) (kindIs "map" $now) }}{{ $new = mergeOverwrite (deepCopy $now) $new }}{{ end }}
{{- if and (kindIs "float64" $new) (eq (floor $new) $new) }}{{ $new = int64 $new }}{{ end }}
{{- $_ := set $parent (last $keys) $new }}
{{- end }}

{{/* namespaceScoped, and what made a ServiceMonitor. */}}
{{- define "wva.publishedScope" -}}
{{- $wva := .Values.wva | default dict }}
{{- if hasKey $wva "namespaceScoped" }}
  {{- $scope := ternary .Release.Namespace "" $wva.namespaceScoped }}
  {{- if and .Values.watchNamespace (ne .Values.watchNamespace $scope) }}
    {{- fail (printf "wva.namespaceScoped is %t and watchNamespace %q: the first is what earlier charts had for the second; keep watchNamespace alone" $wva.namespaceScoped .Values.watchNamespace) }}
  {{- end }}
  {{- $_ := set .Values "watchNamespace" $scope }}
{{- end }}
{{- $prometheus := $wva.prometheus | default dict }}
{{- if or $prometheus.monitoringNamespace $prometheus.releaseLabel }}
  {{- $_ := set .Values.metrics.monitor "kind" "ServiceMonitor" }}
{{- end }}
{{- end }}

{{/* llmd, va, hpa and variantAutoscaling: one model and its variants. */}}
{{- define "wva.publishedModels" -}}
{{- $v := .Values }}
{{- $wva := $v.wva | default dict }}{{ $llmd := $v.llmd | default dict }}{{ $va := $v.va | default dict }}
{{- $hpa := $v.hpa | default dict }}{{ $several := $v.variantAutoscaling | default dict }}
{{- $on := and (dig "va" "enabled" true $wva) (dig "enabled" true $va) }}
{{- if and $on (or $llmd $va $several $wva.modelName $wva.va $wva.hpa (omit $hpa "targetAverageValue" "behavior")) }}
  {{- if $v.models }}
    {{- fail "models and the values of earlier charts for one model (llmd, va, variantAutoscaling) are both given: keep models alone" }}
  {{- end }}
  {{- $modelID := coalesce $several.modelID $llmd.modelID | required "llmd.modelID: the ID of the model is needed to convert the values of an earlier chart (llmd, va); better, use models" }}
  {{- $modelName := coalesce $wva.modelName $llmd.modelName | required "llmd.modelName: the scale target is named after it in the values of an earlier chart (llmd, va); better, use models" }}
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
    {{- $variant := dict "name" (printf "%s-va" (include "wva.fullname" $)) "target" (dict "name" (printf "%s-decode" $modelName)) }}
    {{- if $va.accelerator }}{{ $_ := set $variant "accelerator" $va.accelerator }}{{ end }}
    {{- if $va.variantCost }}{{ $_ := set $variant "cost" (toString $va.variantCost) }}{{ end }}
    {{- $variants = append $variants (mergeOverwrite (deepCopy $common) $variant) }}
  {{- end }}
  {{- $_ := set $v "models" (list (dict "modelID" $modelID "namespace" ($llmd.namespace | default .Release.Namespace) "variants" $variants)) }}
  {{- if or $va.sloTpot $va.sloTtft }}
    {{- $row := dict "model" $modelID }}
    {{- if $va.sloTpot }}{{ $_ := set $row "slo-tpot" $va.sloTpot }}{{ end }}
    {{- if $va.sloTtft }}{{ $_ := set $row "slo-ttft" $va.sloTtft }}{{ end }}
    {{- $_ := set $v "serviceClasses" (mergeOverwrite (dict "published" (dict "name" "published" "priority" 1 "data" (list $row))) $v.serviceClasses) }}
  {{- end }}
{{- end }}
{{- end }}
