#!/usr/bin/env bash
# Brings a real Kubernetes control plane up on 127.0.0.1, or starts again what of it does not run.
# usage: up.sh STATE_FOLDER            prints the path of an administrator's kubeconfig
#   MUSTER_KUBERNETES_BIN   folder of the binaries (default: what build.sh built)
#   COMPONENTS              "etcd apiserver controller-manager" (default); add scheduler for kube-scheduler
#   GATES, RUNTIME_CONFIG   feature gates of every component; API groups to serve, "scheduling.k8s.io/v1beta1=true"
#   APISERVER_FLAGS, ETCD_FLAGS, CONTROLLER_FLAGS, SCHEDULER_FLAGS   more flags
# Nothing dials out: every address below is 127.0.0.1, no cloud provider, no webhook, no discovery is configured, and the end-to-end tests
# run all of it in a network namespace that has a loopback and nothing else.
set -euo pipefail
state=${1:?usage: up.sh STATE_FOLDER}
bin=${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}
components=" ${COMPONENTS:-etcd apiserver controller-manager} "
umask 077
mkdir -p "$state/pki" "$state/log" "$state/pid"
state=$(cd "$state" && pwd)
for name in $components; do
  [ "$name" = etcd ] || name=kube-$name
  [ -x "$bin/$name" ] || { echo "$bin/$name is missing: build it with tests/kubernetes/build.sh" >&2; exit 3; }
done

# Ports are chosen once and kept, so that a restart finds its clients again.
if [ ! -s "$state/ports" ]; then
  python3 - >"$state/ports" <<'P'
import socket
held = [socket.socket() for _ in range(2)]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])
P
fi
read -r port etcd_port <"$state/ports"
server=https://127.0.0.1:$port etcd=http://127.0.0.1:$etcd_port
gates=(); [ -z "${GATES:-}" ] || gates=(--feature-gates="$GATES")

running() { [ -f "$state/pid/$1" ] && kill -0 "$(cat "$state/pid/$1")" 2>/dev/null; }
wanted() { case $components in *" $1 "*) ! running "$1";; *) false;; esac; }
start() { # start NAME COMMAND...
  local name=$1; shift
  setsid "$@" >>"$state/log/$name.log" 2>&1 </dev/null &
  echo $! >"$state/pid/$name"
}
died() { echo "$1 ended:" >&2; tail -5 "$state/log/$1.log" >&2; exit 1; }

if [ ! -s "$state/pki/tokens.csv" ]; then
  openssl genrsa -out "$state/pki/sa.key" 2048 2>/dev/null
  openssl rsa -in "$state/pki/sa.key" -pubout -out "$state/pki/sa.pub" 2>/dev/null
  for user in admin controllers scheduler; do
    head -c 18 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$state/pki/$user.token"
  done
  cat >"$state/pki/tokens.csv" <<T
$(cat "$state/pki/admin.token"),muster-admin,muster-admin,"system:masters"
$(cat "$state/pki/controllers.token"),system:kube-controller-manager,controllers,
$(cat "$state/pki/scheduler.token"),system:kube-scheduler,scheduler,
T
fi

kubeconfig() { # kubeconfig TOKEN FILE
  cat >"$state/$2" <<K
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "$server", certificate-authority: "$state/pki/apiserver.crt"}}]
users: [{name: $1, user: {token: "$(cat "$state/pki/$1.token")"}}]
contexts: [{name: lab, context: {cluster: lab, user: $1}}]
current-context: lab
K
}
kubeconfig admin kubeconfig
kubeconfig controllers controllers.kubeconfig
kubeconfig scheduler scheduler.kubeconfig

if wanted etcd; then
  # No fsync: what is in here may be lost, and it is the disk that would be measured.
  start etcd "$bin/etcd" --name=lab --data-dir="$state/etcd" --listen-client-urls="$etcd" --advertise-client-urls="$etcd" \
    --listen-peer-urls=http://127.0.0.1:0 --log-level=warn --quota-backend-bytes=4294967296 --unsafe-no-fsync ${ETCD_FLAGS:-}
fi
if wanted apiserver; then
  start apiserver "$bin/kube-apiserver" --etcd-servers="$etcd" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
    --secure-port="$port" --cert-dir="$state/pki" --service-cluster-ip-range=10.0.0.0/24 \
    --token-auth-file="$state/pki/tokens.csv" --authorization-mode=Node,RBAC --allow-privileged=true \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$state/pki/sa.pub" \
    --service-account-signing-key-file="$state/pki/sa.key" --endpoint-reconciler-type=none --event-ttl=10m --profiling=false \
    --max-requests-inflight=3000 --max-mutating-requests-inflight=1500 --shutdown-delay-duration=0s \
    ${RUNTIME_CONFIG:+--runtime-config="$RUNTIME_CONFIG"} "${gates[@]}" ${APISERVER_FLAGS:-}
fi

kc() { "$bin/kubectl" --kubeconfig="$state/kubeconfig" "$@"; }
tries=0
until [ -s "$state/pki/apiserver.crt" ] && kc get --raw=/readyz >/dev/null 2>&1; do
  running apiserver || died apiserver
  tries=$((tries + 1))
  [ $tries -lt 600 ] || { echo "the API server was not ready after $tries looks" >&2; exit 1; }
  sleep 0.2
done

if wanted controller-manager; then
  start controller-manager "$bin/kube-controller-manager" --kubeconfig="$state/controllers.kubeconfig" --leader-elect=false \
    --secure-port=0 --use-service-account-credentials=true --service-account-private-key-file="$state/pki/sa.key" \
    --root-ca-file="$state/pki/apiserver.crt" --kube-api-qps=2000 --kube-api-burst=4000 --profiling=false "${gates[@]}" \
    ${CONTROLLER_FLAGS:-}
fi
case $components in *" controller-manager "*)
  # Without the service account no pod is let in.
  until kc -n default get serviceaccount default >/dev/null 2>&1; do
    running controller-manager || died controller-manager
    sleep 0.2
  done;;
*)
  kc -n default get serviceaccount default >/dev/null 2>&1 || kc -n default create serviceaccount default >/dev/null;;
esac
if wanted scheduler; then
  cat >"$state/scheduler.yaml" <<K
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: "$state/scheduler.kubeconfig", qps: 5000, burst: 10000, contentType: application/vnd.kubernetes.protobuf}
K
  start scheduler "$bin/kube-scheduler" --config="$state/scheduler.yaml" --secure-port=0 "${gates[@]}" ${SCHEDULER_FLAGS:-}
fi
echo "$state/kubeconfig"
