{{- define "labels" -}}
app.kubernetes.io/name: nvidia-device-plugin
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end }}

{{- define "config-map" -}}
{{ .Values.config.name | default (ternary (printf "%s-nvidia-device-plugin-configs" .Release.Name) "" (gt (len .Values.config.map) 0)) }}
{{- end }}

{{- define "placement" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "config-manager" -}}
- name: {{ .name }}
  image: {{ include "image" .root }}
  command: [config-manager]
  env:
    - {name: ONESHOT, value: {{ .once | quote }}}
    - {name: NODE_LABEL, value: nvidia.com/device-plugin.config}
    - {name: DEFAULT_CONFIG, value: {{ .root.Values.config.default | quote }}}
{{- end }}
