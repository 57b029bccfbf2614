# What the end-to-end scripts over the scheduler on Kubernetes share: objects as text.

crd() { # crd GROUP VERSION PLURAL KIND SCOPE: a kind with a permissive schema, as an installation without its controllers has it
  cat <<C
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: $3.$1
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: $1
  scope: $5
  names: {plural: $3, singular: $(echo "$4" | tr '[:upper:]' '[:lower:]'), kind: $4}
  versions: [{name: $2, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
C
}
node() { # node NAME [LABELS]: of eight GPUs, ready; an object without a kubelet
  cat <<N
---
apiVersion: v1
kind: Node
metadata: {name: $1, labels: {${2:-}}}
status:
  capacity: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}
  allocatable: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}
  conditions: [{type: Ready, status: "True"}]
N
}
pod() { # pod NAME LABELS ANNOTATIONS SPEC GPUS [SCHEDULER]
  cat <<P
---
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: ml, labels: {${2%, }}, annotations: {$3}}
spec: {schedulerName: ${6:-muster}, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, ${4:+${4%, },} containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "$5"}}}]}
P
}
audit_policy() { # who wrote what, and with which answer
  cat <<'A'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
  - {level: None}
A
}
