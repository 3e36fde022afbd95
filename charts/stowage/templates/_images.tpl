{{/* An image's full name; the argument is (list context "scheduler"). */}}
{{- define "stowage.image" -}}
{{- $context := index . 0 -}}
{{- $part := index . 1 -}}
{{- $image := (index $context.Values $part).image | default dict -}}
{{- if not $image.repository -}}
{{- fail (printf "%s.image.repository is empty: name the %s's image, for example stowage/%s" $part $part $part) -}}
{{- end -}}
{{- printf "%s:%s" $image.repository ($image.tag | default $context.Chart.AppVersion) -}}
{{- end -}}
