{{- define "labels" -}}
app.kubernetes.io/name: dcgm-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: dcgm-exporter
{{- end }}

{{- define "fullname" -}}
{{ ternary .Release.Name (printf "%s-dcgm-exporter" .Release.Name) (contains "dcgm-exporter" .Release.Name) }}
{{- end }}
