{{/* An image's full name; the argument is (list context "scheduler"). */}}
{{- define "stowage.image" -}}
{{- $context := index . 0 -}}
{{- $part := index . 1 -}}
{{- $image := (index $context.Values $part).image | default dict -}}
{{- if not $image.repository -}}
{{- fail (printf "%s.image.repository is empty: name the %s's image, for example stowage/%s" $part $part $part) -}}
{{- end -}}
{{- $tag := $context.Chart.AppVersion -}}
{{- if eq $part "scheduler" -}}
{{- $tag = printf "%s-k8s%s" $tag (include "stowage.minor" $context) -}}
{{- end -}}
{{- printf "%s:%s" $image.repository ($image.tag | default $tag) -}}
{{- end -}}

{{/* The minor of Kubernetes whose scheduler suits the cluster: its own, or the newest before it. A scheduler may be older
than the API server, and must not be newer: it would wait for kinds that are not served. */}}
{{- define "stowage.minor" -}}
{{- if semverCompare ">=1.37.0-0" .Capabilities.KubeVersion.Version -}}1.37{{- else -}}1.36{{- end -}}
{{- end -}}
