{{/* What the restricted Pod Security Standard asks of a container, and a read-only root on top. */}}
{{- define "stowage.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "stowage.schedulerContainer" -}}
{{- $scheduler := .Values.scheduler -}}
{{- $kubeconfig := printf "%s/kubeconfig.yaml" .Values.paths.config -}}
name: scheduler
image: {{ include "stowage.image" (list . "scheduler") }}
imagePullPolicy: {{ $scheduler.image.pullPolicy }}
command: {{- toYaml $scheduler.command | nindent 2 }}
args:
  - --config={{ .Values.paths.config }}/scheduler.yaml
  - --bind-address={{ $scheduler.bindAddress }}
  - --secure-port={{ int64 $scheduler.securePort }}
  - --v={{ int64 $scheduler.logLevel }}
  {{- with include "stowage.featureGates" . }}
  - --feature-gates={{ . }}
  {{- end }}
  {{- if $scheduler.metrics.enabled }}
  - --authentication-kubeconfig={{ $kubeconfig }}
  - --authorization-kubeconfig={{ $kubeconfig }}
  {{- end }}
  {{- if $scheduler.tlsSecretName }}
  - --tls-cert-file={{ .Values.paths.credentials }}/tls.crt
  - --tls-private-key-file={{ .Values.paths.credentials }}/tls.key
  {{- end }}
  {{- with $scheduler.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - {name: https, containerPort: {{ int64 $scheduler.securePort }}}
# Ready only when it sees all that placements depend on, which takes a while in a large cluster.
startupProbe:
  httpGet: {scheme: HTTPS, port: https, path: /readyz}
  periodSeconds: 1
  failureThreshold: 120
livenessProbe:
  httpGet: {scheme: HTTPS, port: https, path: /livez}
  periodSeconds: {{ int64 $scheduler.probes.periodSeconds }}
  failureThreshold: {{ int64 $scheduler.probes.failureThreshold }}
  timeoutSeconds: 5
readinessProbe:
  httpGet: {scheme: HTTPS, port: https, path: /readyz}
  periodSeconds: {{ int64 $scheduler.probes.periodSeconds }}
  failureThreshold: {{ int64 $scheduler.probes.failureThreshold }}
  timeoutSeconds: 5
resources: {{- toYaml $scheduler.resources | nindent 2 }}
securityContext: {{- include "stowage.securityContext" . | nindent 2 }}
volumeMounts:
  - {name: config, mountPath: {{ .Values.paths.config | quote }}, readOnly: true}
  - {name: credentials, mountPath: {{ .Values.paths.credentials | quote }}, readOnly: true}
  {{- if .Values.optimizer.enabled }}
  - {name: socket, mountPath: {{ .Values.paths.socket | quote }}}
  {{- end }}
{{- end -}}

{{/* The optimiser sees a socket and a folder for temporary files; no token, no API server. */}}
{{- define "stowage.optimizerContainer" -}}
{{- $optimizer := .Values.optimizer -}}
name: optimizer
image: {{ include "stowage.image" (list . "optimizer") }}
imagePullPolicy: {{ $optimizer.image.pullPolicy }}
command: {{- toYaml $optimizer.command | nindent 2 }}
args:
  - serve
  - --socket={{ include "stowage.socket" . }}
  - --time-limit-s={{ $optimizer.timeLimitSeconds }}
  - --workers={{ int64 $optimizer.workers }}
  - --memory-limit-bytes={{ int64 $optimizer.memoryLimitBytes }}
  - --max-request-bytes={{ int64 $optimizer.maxRequestBytes }}
  - --metrics-port={{ int64 $optimizer.metricsPort }}
env:
  - {name: HOME, value: {{ .Values.paths.temporary | quote }}}
  - {name: TMPDIR, value: {{ .Values.paths.temporary | quote }}}
# Alive by the time its solver has been loaded and warmed up.
startupProbe:
  exec: {command: {{ include "stowage.probeCommand" (list . "--wait" (printf "--timeout-s=%d" (sub $optimizer.probes.timeoutSeconds 1))) }}}
  periodSeconds: 1
  timeoutSeconds: {{ int64 $optimizer.probes.timeoutSeconds }}
  failureThreshold: 60
livenessProbe:
  exec: {command: {{ include "stowage.probeCommand" (list .) }}}
  periodSeconds: {{ int64 $optimizer.probes.periodSeconds }}
  timeoutSeconds: {{ int64 $optimizer.probes.timeoutSeconds }}
  failureThreshold: {{ int64 $optimizer.probes.failureThreshold }}
resources: {{- toYaml $optimizer.resources | nindent 2 }}
securityContext: {{- include "stowage.securityContext" . | nindent 2 }}
volumeMounts:
  - {name: socket, mountPath: {{ .Values.paths.socket | quote }}}
  - {name: temporary, mountPath: {{ .Values.paths.temporary | quote }}}
{{- end -}}

{{/* The command that checks the optimiser's health; the argument is (list context flag...). */}}
{{- define "stowage.probeCommand" -}}
{{- $context := first . -}}
{{- $socket := printf "--socket=%s" (include "stowage.socket" $context) -}}
{{- toJson (concat $context.Values.optimizer.command (list "probe" $socket) (rest .)) -}}
{{- end -}}
