{{- /* The name of every object. */}}
{{- define "injector.name" -}}
{{- .Values.fullnameOverride | default "sidecar-injector" -}}
{{- end }}

{{- /* The label by which the injector's own commands find an installation. */}}
{{- define "injector.selector" -}}
app.kubernetes.io/name: sidecar-injector
{{- end }}

{{- /* By which version of the chart an object was made: another version of the injector does not refuse it. */}}
{{- define "injector.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" -}}
{{- end }}

{{- define "injector.labels" -}}
{{ include "injector.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ include "injector.chart" . }}
{{- with include "injector.more" (list "commonLabels" .Values.commonLabels) }}
{{ . }}
{{- end }}
{{- end }}

{{- /* Labels of the admin's own; those of the chart are refused, as a key cannot be there twice. (list VALUE LABELS) */}}
{{- define "injector.more" -}}
{{- $value := index . 0 -}}
{{- range $key, $ := index . 1 -}}
{{- if has $key (list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "helm.sh/chart") -}}
{{- fail (printf "%s: %s is a label of the chart's own; choose another key" $value $key) -}}
{{- end -}}
{{- end -}}
{{- with index . 1 }}{{ toYaml . }}{{ end -}}
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

{{- /* The name of the Lease of `repair`; empty if that is off. */}}
{{- define "injector.repair" -}}
{{- if ne (dig "repair" "mode" "off" .Values.settings) "off" }}{{ include "injector.name" . }}-repair{{ end -}}
{{- end }}

{{- /* Whether namespaces may have templates of their own; empty if not. An empty selector selects all. */}}
{{- define "injector.teamTemplates" -}}
{{- if kindIs "map" .Values.settings.teamTemplates.namespaces }}on{{ end -}}
{{- end }}

{{- /* The settings file: the values' settings, and of the certificates and Leases what the chart decides. */}}
{{- define "injector.settings" -}}
{{- $name := include "injector.name" . -}}
{{- $certificates := dict "source" .Values.certificates.source "webhooks" $name -}}
{{- if eq .Values.certificates.source "builtin" -}}
{{- $names := dict "secret" (printf "%s-certificates" $name) "service" $name "lease" $name -}}
{{- $certificates = merge $certificates $names -}}
{{- end -}}
{{- $repair := dict "lease" (printf "%s-repair" $name) -}}
{{- $gallery := dict "configMap" (printf "%s-gallery" $name) -}}
{{- toYaml (merge (dict "certificates" $certificates "repair" $repair "gallery" $gallery) .Values.settings) -}}
{{- end }}

{{- /* A label's name as kube-state-metrics writes it: label_ in front, in snake case. */}}
{{- define "injector.stateMetricsLabel" -}}
label_{{ regexReplaceAll "([a-z0-9])([A-Z])" (regexReplaceAll "\\W" . "_") "${1}_${2}" | lower }}
{{- end }}
