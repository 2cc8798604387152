{{- /* The name of every object. */}}
{{- define "injector.name" -}}
{{- .Values.fullnameOverride | default "sidecar-injector" -}}
{{- end }}

{{- /* The label by which the injector's own commands find an installation. */}}
{{- define "injector.selector" -}}
app.kubernetes.io/name: sidecar-injector
{{- end }}

{{- define "injector.labels" -}}
{{ include "injector.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Name, namespace and labels of an object of the release's namespace. */}}
{{- define "injector.metadata" -}}
name: {{ include "injector.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "injector.labels" . | nindent 2 }}
{{- end }}

{{- define "injector.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "injector.name" .) -}}
{{- end }}

{{- define "injector.tlsSecret" -}}
{{- .Values.certificates.secretName | default (printf "%s-tls" (include "injector.name" .)) -}}
{{- end }}

{{- define "injector.priorityClass" -}}
{{- if .Values.priorityClass.name -}}
{{- .Values.priorityClass.name -}}
{{- else if .Values.priorityClass.create -}}
{{- include "injector.name" . -}}
{{- end -}}
{{- end }}

{{- /* The settings file: the values' settings, and of the certificates what the chart decides. */}}
{{- define "injector.settings" -}}
{{- $name := include "injector.name" . -}}
{{- $certificates := dict "source" .Values.certificates.source -}}
{{- if eq .Values.certificates.source "builtin" -}}
{{- $names := dict "secret" (printf "%s-certificates" $name) "service" $name "webhooks" $name "lease" $name -}}
{{- $certificates = merge $certificates $names -}}
{{- end -}}
{{- toYaml (merge (dict "certificates" $certificates) .Values.settings) -}}
{{- end }}
