{{/* At most 40 characters: a CronJob's name may have 52. */}}
{{- define "fullname" -}}
{{- $given := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name)
      (contains .Chart.Name .Release.Name)) -}}
{{- $given | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end }}

{{/* What selects all pods of a release. */}}
{{- define "releaseLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "labels" -}}
{{ include "releaseLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* What selects the pods of the service, and no others. */}}
{{- define "serviceLabels" -}}
{{ include "releaseLabels" . }}
app.kubernetes.io/component: service
{{- end }}

{{/* A pod's metadata. Arguments: root, component. */}}
{{- define "podMetadata" -}}
labels:
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- include "labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all pods have. */}}
{{- define "podSpec" -}}
# Else Kubernetes sets PUSH_REGISTRY_PORT and the like for a Service of this name.
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .Values.runAsUser }}
  runAsUser: {{ int64 . }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  # Imports by `kubectl exec` copy their input there.
  - {name: tmp, emptyDir: {}}
  {{- with .Values.secrets.databaseCA }}
  - name: database-ca
    secret:
      secretName: {{ . }}
      items: [{key: ca.crt, path: ca.crt}]
  {{- end }}
{{- end }}

{{/* What all containers have. Arguments: root, secret. */}}
{{- define "container" -}}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
envFrom:
  - secretRef: {name: {{ .secret }}}
{{- if or .root.Values.settings .root.Values.secrets.databaseCA }}
env:
  {{- range $name, $value := .root.Values.settings }}
  - name: PUSH_REGISTRY_{{ snakecase $name | upper }}
    value: {{ kindIs "string" $value | ternary $value (toString (int64 $value)) | quote }}
  {{- end }}
  {{- if .root.Values.secrets.databaseCA }}
  - {name: PGSSLROOTCERT, value: /etc/push-registry/ca.crt}
  {{- end }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- if .root.Values.secrets.databaseCA }}
  - {name: database-ca, mountPath: /etc/push-registry, readOnly: true}
  {{- end }}
{{- end }}
