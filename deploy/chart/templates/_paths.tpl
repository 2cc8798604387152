{{- /* The webhook entries of the settings' paths: injector/cluster/entries.py says the same, and a test compares them. */}}

{{- /*
What a template is for, as JSON: by its own template.yaml where it is one of the values' templates, by webhooks.for
where it comes another way, else by the list of those that are shipped. (list $ PATH NAME)
*/}}
{{- define "injector.for" -}}
{{- $ := index . 0 -}}
{{- $name := index . 2 -}}
{{- $shipped := $.Files.Get "shipped-for.yaml" | fromYaml -}}
{{- if hasKey $.Values.templates $name -}}
{{- $manifest := get (get $.Values.templates $name) "template.yaml" | default "" | fromYaml -}}
{{- if hasKey $manifest "Error" -}}
{{- fail (printf "templates.%s.template\\.yaml is not YAML: %s" $name $manifest.Error) -}}
{{- end -}}
{{- $manifest.for | default dict | toJson -}}
{{- else if hasKey $.Values.webhooks.for $name -}}
{{- get $.Values.webhooks.for $name | toJson -}}
{{- else if hasKey $shipped $name -}}
{{- get $shipped $name | toJson -}}
{{- else -}}
{{- fail (printf "settings.paths.%s: template %s is neither shipped nor in `templates`, so what the API server is to ask about is not known; put its files into templates.%s, or the `for` of its template.yaml into webhooks.for.%s ({} where it has none)" (index . 1) $name $name $name) -}}
{{- end -}}
{{- end }}

{{- /* The rule for that, as JSON. Scope *: a resource's name does not tell if it is in namespaces. (list $ PATH NAME) */}}
{{- define "injector.rule" -}}
{{- $name := index . 2 -}}
{{- $for := include "injector.for" . | fromJson -}}
{{- $rule := dict "scope" "*" -}}
{{- range $key, $default := dict "apiGroups" (list "") "apiVersions" (list "v1") "operations" (list "CREATE") "resources" (list "pods") -}}
{{- $words := get $for $key | default $default -}}
{{- range $words -}}
{{- if contains "*" . -}}
{{- fail (printf "template %s: for.%s has %s: the API server would ask about more than the template is for; name each" $name $key .) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $rule $key $words -}}
{{- end -}}
{{- toJson $rule -}}
{{- end }}

{{- /* The first part of the entry's name. */}}
{{- define "injector.pathEntry" -}}
path-{{ regexReplaceAll "[^a-z0-9]+" (lower .) "-" | trimAll "-" }}
{{- end }}

{{- /* The entries of one of the two configurations. (list $ TYPE) */}}
{{- define "injector.pathEntries" -}}
{{- $ := index . 0 -}}
{{- $type := index . 1 -}}
{{- $known := concat $.Values.settings.server.mutatePaths $.Values.settings.server.validatePaths $.Values.settings.server.advisePaths $.Values.settings.server.trialPaths -}}
{{- $paths := dict -}}
{{- range $path, $at := $.Values.settings.paths -}}
{{- $entry := include "injector.pathEntry" $path -}}
{{- if hasKey $paths $entry -}}
{{- fail (printf "settings.paths: %s and %s would both have the webhook entry %s; choose another path for one" (get $paths $entry) $path $entry) -}}
{{- else if has $path $known -}}
{{- fail (printf "settings.paths.%s is a path of settings.server already; choose another" $path) -}}
{{- end -}}
{{- $_ := set $paths $entry $path -}}
{{- if eq ($at.type | default "mutating") $type }}
- name: {{ include "injector.entryName" (list $ $entry) }}
  {{- include "injector.entry" (list $ (list $path)) | nindent 2 }}
  rules:
  {{- $rules := list -}}
  {{- range $at.templates }}{{ $rules = append $rules (include "injector.rule" (list $ $path .)) }}{{ end -}}
  {{- range uniq $rules }}
  - {{ . }}
  {{- end }}
  failurePolicy: {{ $at.failurePolicy | default "Ignore" }}
  {{- if eq $type "mutating" }}
  reinvocationPolicy: IfNeeded
  {{- end }}
  sideEffects: None
  namespaceSelector:
    {{- include "injector.namespaces" (list $ "" list) | trim | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
