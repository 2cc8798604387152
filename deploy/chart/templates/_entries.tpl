{{- /* What the webhook entries are made of: injector/cluster/entries.py says the same, and a test compares them. */}}

{{- /* A CEL string. */}}
{{- define "injector.cel.text" -}}
'{{ . | replace "\\" "\\\\" | replace "'" "\\'" }}'
{{- end }}

{{- /* A CEL list of strings. */}}
{{- define "injector.cel.words" -}}
{{- $texts := list -}}
{{- range . }}{{ $texts = append $texts (include "injector.cel.text" .) }}{{ end -}}
[{{ join ", " $texts }}]
{{- end }}

{{- /* The value of an annotation or label in lower case, "" where there is none. (list "annotations" KEY) */}}
{{- define "injector.cel.inAnyCase" -}}
object.metadata.?{{ index . 0 }}[?{{ include "injector.cel.text" (index . 1) }}].orValue('').lowerAscii()
{{- end }}

{{- /* One requirement of a label selector. (list KEY OPERATOR VALUES) */}}
{{- define "injector.cel.requirement" -}}
{{- $label := printf "object.metadata.?labels[?%s]" (include "injector.cel.text" (index . 0)) -}}
{{- $operator := index . 1 -}}
{{- /* Not by optMap: Kubernetes 1.30 refuses an expression that has it twice. */}}
{{- $among := printf "(%s.hasValue() && %s.value() in %s)" $label $label (include "injector.cel.words" (index . 2)) -}}
{{- if eq $operator "In" -}}{{ $among }}
{{- else if eq $operator "NotIn" -}}!{{ $among }}
{{- else if eq $operator "Exists" -}}{{ $label }}.hasValue()
{{- else -}}!{{ $label }}.hasValue()
{{- end -}}
{{- end }}

{{- /* Whether the pod's labels match a label selector. */}}
{{- define "injector.cel.selected" -}}
{{- $parts := list -}}
{{- range $key, $value := .matchLabels -}}
{{- $parts = append $parts (include "injector.cel.requirement" (list $key "In" (list $value))) -}}
{{- end -}}
{{- range .matchExpressions -}}
{{- $parts = append $parts (include "injector.cel.requirement" (list .key .operator (.values | default list))) -}}
{{- end -}}
{{- join " && " $parts | default "true" -}}
{{- end }}

{{- define "injector.entryName" -}}
{{ index . 1 }}.{{ include "injector.name" (index . 0) }}.internal
{{- end }}

{{- /* What every entry has. (list $ PATHS) or, with a timeout of its own, (list $ PATHS SECONDS) */}}
{{- define "injector.entry" -}}
{{- $ := index . 0 -}}
clientConfig:
  service:
    name: {{ include "injector.name" $ }}
    namespace: {{ $.Release.Namespace }}
    path: {{ first (index . 1) | quote }}
    port: {{ $.Values.service.port }}
  {{- with include "injector.caBundle" $ }}
  caBundle: {{ . }}
  {{- end }}
admissionReviewVersions: [v1]
timeoutSeconds: {{ if gt (len .) 2 }}{{ index . 2 }}{{ else }}{{ $.Values.webhooks.timeoutSeconds }}{{ end }}
{{- end }}

{{- define "injector.podsCreation" -}}
- {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}
{{- end }}

{{- /*
The namespaceSelector: checks the label, leaves out the ignored namespaces, and stays within the allowed ones.
(list $ OPERATOR VALUES) Without an operator it does not check the label.
*/}}
{{- define "injector.namespaces" -}}
{{- $ := index . 0 -}}
{{- $label := dict -}}
{{- if index . 1 }}{{ $label = dict "operator" (index . 1) "values" (index . 2) }}{{ end -}}
{{- include "injector.allNamespacesOf" (list $ $.Values.webhooks.namespaceSelector $label) }}
{{- end }}

{{- /* The namespaces that a selector matches, without the ignored ones. (list $ SELECTOR), or with a dict for the label */}}
{{- define "injector.allNamespacesOf" -}}
{{- $ := index . 0 -}}
{{- $more := index . 1 -}}
{{- $label := dict -}}
{{- if gt (len .) 2 }}{{ $label = index . 2 }}{{ end -}}
{{- $alone := $.Values.settings.ignoredNamespaces -}}
{{- if not (has $.Release.Namespace $alone) }}{{ $alone = append $alone $.Release.Namespace }}{{ end -}}
{{- with $more.matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
matchExpressions:
{{- with $label }}
- {key: {{ $.Values.settings.namespaceLabel.key | quote }}, operator: {{ .operator }}, values: {{ toJson .values }}}
{{- end }}
- {key: kubernetes.io/metadata.name, operator: NotIn, values: {{ toJson $alone }}}
{{- with $more.matchExpressions }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "injector.notAMirrorPod" -}}
- name: not-a-mirror-pod
  expression: "!(object.metadata.?annotations[?'kubernetes.io/config.mirror'].hasValue())"
{{- end }}

{{- /* The words of the settings in lower case, as the pod's value is compared. */}}
{{- define "injector.lowerWords" -}}
{{- $lower := list -}}
{{- range . }}{{ $lower = append $lower (lower .) }}{{ end -}}
{{- include "injector.cel.words" $lower -}}
{{- end }}

{{- define "injector.doesNotSayNo" -}}
{{- $ := . -}}
{{- $key := printf "%s/inject" $.Values.settings.prefix -}}
{{- range list "annotation" "label" }}
- name: {{ . }}-does-not-say-no
  expression: {{ printf "!(%s in %s)" (include "injector.cel.inAnyCase" (list (printf "%ss" .) $key)) (include "injector.lowerWords" $.Values.settings.noValues) | quote }}
{{- end }}
{{- end }}

{{- define "injector.asksForIt" -}}
{{- $ := . -}}
{{- $key := printf "%s/inject" $.Values.settings.prefix -}}
{{- $parts := list -}}
{{- range list "annotations" "labels" -}}
{{- $parts = append $parts (printf "%s in %s" (include "injector.cel.inAnyCase" (list . $key)) (include "injector.lowerWords" $.Values.settings.yesValues)) -}}
{{- end -}}
{{- if eq (toString $.Values.settings.podDefault) "named" -}}
{{- $named := $.Values.settings.templatesKey | default (printf "%s/templates" $.Values.settings.prefix) -}}
{{- $parts = append $parts (printf "%s != ''" (include "injector.cel.inAnyCase" (list "annotations" $named))) -}}
{{- end -}}
{{- $always := $.Values.settings.alwaysSelector -}}
{{- if kindIs "map" $always -}}
{{- $parts = append $parts (printf "(%s)" (include "injector.cel.selected" $always)) -}}
{{- end }}
- name: {{ ternary "says-yes-or-is-always-selected" "annotation-or-label-says-yes" (kindIs "map" $always) }}
  expression: {{ join " || " $parts | quote }}
{{- end }}

{{- /*
What the API server trusts, in base64. Empty where others write it: the injector, cert-manager. Else what is given, or
the ca.crt beside the certificate, or, where the cluster signs, the cluster's own; the last two only with a cluster to ask.
*/}}
{{- define "injector.caBundle" -}}
{{- $certificates := .Values.certificates -}}
{{- $given := trim $certificates.caBundle -}}
{{- if has $certificates.source (list "builtin" "cert-manager") -}}
{{- else if $given -}}
{{- printf "%s\n" $given | b64enc -}}
{{- else -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace (include "injector.tlsSecret" .) -}}
{{- $beside := dig "data" "ca.crt" "" $secret -}}
{{- $root := lookup "v1" "ConfigMap" "default" "kube-root-ca.crt" -}}
{{- if $beside -}}
{{- $beside -}}
{{- else if eq $certificates.source "files" -}}
{{- fail (printf "certificates.caBundle: with source files the API server has to be told whom to trust; make the Secret %s with a ca.crt before, or add --set-file certificates.caBundle=certs/ca.crt" (include "injector.tlsSecret" .)) -}}
{{- else if $root -}}
{{- index $root.data "ca.crt" | b64enc -}}
{{- else -}}
{{- fail "certificates.caBundle: with source csr it is the authority that signs, and no cluster can be asked here; write it to a file (injector certs --signer ... --print ca-bundle | base64 -d > ca.crt) and add --set-file certificates.caBundle=ca.crt" -}}
{{- end -}}
{{- end -}}
{{- end }}
