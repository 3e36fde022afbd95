{{/* Fails if something about metrics is asked for that are not served; the argument is (list context "serviceMonitor"). */}}
{{- define "stowage.needsMetrics" -}}
{{- $what := index . 1 -}}
{{- if not (index . 0).Values.scheduler.metrics.enabled -}}
{{- fail (printf "scheduler.metrics.%s needs metrics, which are not served: set scheduler.metrics.enabled=true" $what) -}}
{{- end -}}
{{- end -}}

{{- define "stowage.metricsService" -}}
{{- printf "%s-metrics" (include "stowage.fullname" .) -}}
{{- end -}}
