{{/* The chosen profile's file, with what depends on the installation merged into it. */}}
{{- define "stowage.configuration" -}}
{{- $file := printf "profiles/%s.yaml" .Values.profile -}}
{{- $config := .Files.Get $file | fromYaml -}}
{{- if $config.Error -}}
{{- fail (printf "charts/stowage/%s is not YAML: %s; fix it there" $file $config.Error) -}}
{{- end -}}
{{- if not $config.profiles -}}
{{- fail (printf "charts/stowage/%s has no profiles: it must be a KubeSchedulerConfiguration" $file) -}}
{{- end -}}
{{- if and (include "stowage.usesOptimizer" .) (not .Values.optimizer.enabled) -}}
{{- fail (printf "profile %s asks the optimiser, but optimizer.enabled is false: enable it, or choose another profile" .Values.profile) -}}
{{- end -}}
{{- $_ := mergeOverwrite $config (dict
  "clientConnection" (dict "kubeconfig" (printf "%s/kubeconfig.yaml" .Values.paths.config))
  "leaderElection" (dict
    "leaderElect" .Values.scheduler.leaderElection.enabled
    "resourceLock" "leases"
    "resourceName" (include "stowage.fullname" .)
    "resourceNamespace" .Release.Namespace)) -}}
{{- range $config.profiles -}}
{{- $_ := set . "schedulerName" $.Values.schedulerName -}}
{{- if include "stowage.hasPlugin" (list . "PriorityOptimizer") -}}
{{- $args := dict "name" "PriorityOptimizer" "args" (include "stowage.pluginArgs" $ | fromYaml) -}}
{{- $_ := set . "pluginConfig" (append (.pluginConfig | default list) $args) -}}
{{- end -}}
{{- if include "stowage.hasPlugin" (list . "Reservations") -}}
{{- $args := dict "name" "Reservations" "args" (merge (dict "apiVersion" "stowage.dev/v1alpha1" "kind" "ReservationsArgs") $.Values.reservations) -}}
{{- $_ := set . "pluginConfig" (append (.pluginConfig | default list) $args) -}}
{{- end -}}
{{- if include "stowage.hasPlugin" (list . "Devices") -}}
{{- $args := dict "name" "Devices" "args" (merge (dict "apiVersion" "stowage.dev/v1alpha1" "kind" "DevicesArgs") $.Values.devices) -}}
{{- $_ := set . "pluginConfig" (append (.pluginConfig | default list) $args) -}}
{{- end -}}
{{- if include "stowage.hasPlugin" (list . "ScoreCache") -}}
{{- $args := dict "name" "ScoreCache" "args" (merge (dict "apiVersion" "stowage.dev/v1alpha1" "kind" "ScoreCacheArgs") $.Values.scoreCache) -}}
{{- $_ := set . "pluginConfig" (append (.pluginConfig | default list) $args) -}}
{{- end -}}
{{- if not $.Values.rbac.allowPreemption -}}
{{- /* Without the right to delete pods it would choose victims in vain, again and again. */ -}}
{{- $plugins := .plugins | default dict -}}
{{- $everywhere := $plugins.multiPoint | default dict -}}
{{- $off := append ($everywhere.disabled | default list) (dict "name" "DefaultPreemption") | uniq -}}
{{- $_ := set . "plugins" (merge (dict "multiPoint" (merge (dict "disabled" $off) $everywhere)) $plugins) -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Not empty if a profile enables a plugin; the argument is (list profile "PluginName"). */}}
{{- define "stowage.hasPlugin" -}}
{{- $name := index . 1 -}}
{{- range (((index . 0).plugins).multiPoint).enabled -}}
{{- if eq .name $name -}}yes{{- end -}}
{{- end -}}
{{- end -}}

{{/* Not empty if the chosen profile contains the optimiser's plugin. */}}
{{- define "stowage.usesOptimizer" -}}
{{- range (.Files.Get (printf "profiles/%s.yaml" .Values.profile) | fromYaml).profiles -}}
{{- include "stowage.hasPlugin" (list . "PriorityOptimizer") -}}
{{- end -}}
{{- end -}}

{{/* Not empty if the chosen profile keeps reservations. */}}
{{- define "stowage.usesReservations" -}}
{{- range (.Files.Get (printf "profiles/%s.yaml" .Values.profile) | fromYaml).profiles -}}
{{- include "stowage.hasPlugin" (list . "Reservations") -}}
{{- end -}}
{{- end -}}

{{- define "stowage.pluginArgs" -}}
{{- $args := deepCopy .Values.priorityOptimizer -}}
{{- $_ := set $args "apiVersion" "stowage.dev/v1alpha1" -}}
{{- $_ := set $args "kind" "PriorityOptimizerArgs" -}}
{{- $_ := set $args "socket" (include "stowage.socket" .) -}}
{{- if not $args.namespaceSelector -}}
{{- $_ := unset $args "namespaceSelector" -}}
{{- end -}}
{{- $_ := set $args "protectedNamespaces" (append $args.protectedNamespaces .Release.Namespace | uniq) -}}
{{- toYaml $args -}}
{{- end -}}

{{- define "stowage.socket" -}}
{{- printf "%s/optimizer.sock" .Values.paths.socket -}}
{{- end -}}

{{/* The given feature gates and those that the profile cannot do without, as the flag's value. */}}
{{- define "stowage.featureGates" -}}
{{- $gates := deepCopy .Values.scheduler.featureGates -}}
{{- if hasSuffix "deterministic" .Values.profile -}}
{{- $_ := set $gates "OpportunisticBatching" false -}}
{{- end -}}
{{- $pairs := list -}}
{{- range $name, $on := $gates -}}{{- $pairs = append $pairs (printf "%s=%t" $name $on) -}}{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{/* Not empty if a feature gate makes the scheduler read pod groups. */}}
{{- define "stowage.usesPodGroups" -}}
{{- $gates := .Values.scheduler.featureGates -}}
{{- if get $gates "GenericWorkload" | default (and (get $gates "AllBeta") (not (hasKey $gates "GenericWorkload"))) -}}yes{{- end -}}
{{- end -}}

{{/* How the scheduler reaches the API server: with the token of its own service account. */}}
{{- define "stowage.kubeconfig" -}}
apiVersion: v1
kind: Config
clusters:
  - name: cluster
    cluster:
      server: {{ .Values.apiServer.url }}
      certificate-authority: {{ .Values.paths.credentials }}/ca.crt
users:
  - name: scheduler
    user:
      tokenFile: {{ .Values.paths.credentials }}/token
contexts:
  - name: scheduler
    context: {cluster: cluster, user: scheduler}
current-context: scheduler
{{- end -}}
