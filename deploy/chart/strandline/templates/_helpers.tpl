{{- define "strandline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* At most 52 letters: the names of a StatefulSet's Pods and revisions are longer. */}}
{{- define "strandline.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "strandline.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "strandline.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "strandline.selector" -}}
app.kubernetes.io/name: {{ include "strandline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "strandline.labels" -}}
{{ include "strandline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "strandline.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "strandline.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Names of what belongs to no namespace: two releases of one name in two namespaces must not share them. */}}
{{- define "strandline.clusterName" -}}
{{- printf "%s-%s" (include "strandline.namespace" .) (include "strandline.fullname" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "strandline.image" -}}
{{- $repository := .Values.image.repository }}
{{- with .Values.image.registry }}{{ $repository = printf "%s/%s" . $repository }}{{ end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* "true" where others than the Pod itself can reach the server. */}}
{{- define "strandline.exposed" -}}
{{- $access := default dict .Values.config.access }}
{{- $guarded := or $access.tokens $access.allow_anonymous_read .Values.existingConfigSecret }}
{{- $exposed := .Values.exposed }}
{{- if kindIs "invalid" $exposed }}{{ $exposed = not (empty $guarded) }}{{ end }}
{{- if and $exposed (not $guarded) }}
{{- fail "`exposed: true` needs `config.access.tokens` (`strandline token` makes one), or `existingConfigSecret`" }}
{{- end }}
{{- if not $exposed }}
{{- if .Values.ingress.enabled }}{{ fail "`ingress.enabled` needs `config.access.tokens`: without tokens the server listens on a loopback address only" }}{{ end }}
{{- if .Values.httpRoute.enabled }}{{ fail "`httpRoute.enabled` needs `config.access.tokens`: without tokens the server listens on a loopback address only" }}{{ end }}
{{- if .Values.metrics.serviceMonitor.enabled }}{{ fail "`metrics.serviceMonitor.enabled` needs `config.access.tokens`: without tokens the server listens on a loopback address only" }}{{ end }}
{{- end }}
{{- ternary "true" "" $exposed }}
{{- end }}

{{/* The cluster that the Pod runs in, as an entry of `clusters`. */}}
{{- define "strandline.inCluster" -}}
{{- $cluster := dict "name" .Values.inCluster.name "in_cluster" true }}
{{- with .Values.inCluster.region }}{{ $_ := set $cluster "region" . }}{{ end }}
{{- with .Values.inCluster.include }}{{ $_ := set $cluster "include" . }}{{ end }}
{{- $exclude := .Values.inCluster.exclude }}
{{- if and .Values.rbac.create (not .Values.rbac.secrets) }}{{ $exclude = concat $exclude (list "Secret") | uniq }}{{ end }}
{{- with $exclude }}{{ $_ := set $cluster "exclude" . }}{{ end }}
{{- if .Values.rbac.clusterWide }}
{{- with .Values.inCluster.excludeNamespaces }}{{ $_ := set $cluster "exclude_namespaces" . }}{{ end }}
{{- else }}
{{- if not .Values.rbac.namespaces }}{{ fail "`rbac.clusterWide: false` needs `rbac.namespaces`: the namespaces to watch" }}{{ end }}
{{- $_ := set $cluster "namespaces" .Values.rbac.namespaces }}
{{- end }}
{{- with .Values.inCluster.project }}{{ $_ := set $cluster "namespace_environments" (dict "project" .) }}{{ end }}
{{- toYaml $cluster }}
{{- end }}

{{/* The whole configuration. */}}
{{- define "strandline.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.inCluster.enabled }}
{{- $own := include "strandline.inCluster" . | fromYaml }}
{{- $_ := set $config "clusters" (prepend (default list $config.clusters) $own) }}
{{- end }}
{{- if .Values.kubeconfigs.existingSecret }}
{{- if .Values.kubeconfigs.settings.path }}{{ fail "`kubeconfigs.settings.path` is set by the chart" }}{{ end }}
{{- $folder := merge (dict "path" "/etc/strandline-kubeconfigs") .Values.kubeconfigs.settings }}
{{- $_ := set $config "cluster_folders" (append (default list $config.cluster_folders) $folder) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Where the server answers to some names only, a probe uses the first of them. */}}
{{- define "strandline.probeHost" -}}
{{- with .Values.config.hosts }}
httpHeaders:
  - name: Host
    value: {{ first . | quote }}
{{- end }}
{{- end }}

{{- define "strandline.configMap" -}}
{{ include "strandline.fullname" . }}
{{- end }}

{{- define "strandline.rules" -}}
- apiGroups: [""]
  resources:
    - componentstatuses
    - configmaps
    - endpoints
    - events
    - limitranges
    - namespaces
    - nodes
    - persistentvolumeclaims
    - persistentvolumes
    - pods
    - podtemplates
    - replicationcontrollers
    - resourcequotas
    - serviceaccounts
    - services
    {{- if .Values.rbac.secrets }}
    - secrets
    {{- end }}
  verbs: [get, list, watch]
- apiGroups:
    - admissionregistration.k8s.io
    - apiextensions.k8s.io
    - apiregistration.k8s.io
    - apps
    - autoscaling
    - batch
    - certificates.k8s.io
    - coordination.k8s.io
    - discovery.k8s.io
    - events.k8s.io
    - flowcontrol.apiserver.k8s.io
    - gateway.networking.k8s.io
    - internal.apiserver.k8s.io
    - metrics.k8s.io
    - networking.k8s.io
    - node.k8s.io
    - policy
    - rbac.authorization.k8s.io
    - resource.k8s.io
    - scheduling.k8s.io
    - snapshot.storage.k8s.io
    - storage.k8s.io
    - storagemigration.k8s.io
    {{- range .Values.rbac.customGroups }}
    - {{ . }}
    {{- end }}
  resources: ["*"]
  verbs: [get, list, watch]
{{- with .Values.rbac.additionalRules }}
{{ toYaml . }}
{{- end }}
{{- end }}
