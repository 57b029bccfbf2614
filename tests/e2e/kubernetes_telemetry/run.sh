#!/bin/bash
# Gate 5 and the kubelets' own configuration on a site of type kubernetes: exporters as pods, read through a real API server's proxy, a real
# Prometheus and Alertmanager on loopback, and configz of the lab's kubelets. Pages are those of a lab's nodes: every verdict is rehearsed.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/roles.sh"
. "$top/tests/lib/verdicts.sh"
for program in prometheus prometheus-alertmanager; do
  command -v $program >/dev/null || { skip kubernetes_telemetry "$program is not installed"; finish; }
done
begin etcd kube-apiserver kube-controller-manager kubectl
lab_up telemetry --nodes 3 --gpus 2 --topology-policy best-effort --run-commands
mkdir "$work/nodes"
spec=nodes=3,gpus=2,rails=2,leaves=2,spines=1
"$muster" lab create --spec $spec --out "$work/nodes/site.yaml" >"$work/create" 2>&1 || fail nodes "$(tail -2 "$work/create")"

write_site() { # write_site [KUBECONFIG]
  cat >"$work/site.yaml" <<SITE
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes: {kubeconfig: ${1:-$config}}
cluster: {spec: "$spec"}
telemetry: {prometheus: "http://127.0.0.1:$prometheus_port", alertmanager: "http://127.0.0.1:$alertmanager_port", synthetic: "http://127.0.0.1:$exporter_port/synthetic"}
SITE
}

# The exporters: a pod on each node with an address of its own, as the GPU Operator labels them; what answers there is the lab's page.
"$muster" lab-exporter --lab "$work/nodes/lab" --port-file "$work/port" >"$work/exporter" 2>&1 & pids+=($!)
until_true 50 test -s "$work/port" || fail exporter "$(tail -2 "$work/exporter")"
exporter_port=$(cat "$work/port")
kc create namespace gpu-operator >/dev/null
for i in 0 1 2; do
  kc apply -f - >/dev/null <<POD
{apiVersion: v1, kind: Pod, metadata: {name: nvidia-dcgm-exporter-$i, namespace: gpu-operator, labels: {app: nvidia-dcgm-exporter}},
 spec: {nodeName: node00$i, tolerations: [{operator: Exists}], automountServiceAccountToken: false, containers: [{name: main, image: none}]}}
POD
done
address() { kc -n gpu-operator get pod "nvidia-dcgm-exporter-$1" -o 'jsonpath={.status.podIP}' 2>/dev/null; }
running() { [ "$(kc -n gpu-operator get pods --field-selector=status.phase=Running -o name | wc -l)" = 3 ]; }
until_true 100 running || fail exporters_run "$(kc -n gpu-operator get pods 2>&1 | tail -3)"
cat >"$work/page.py" <<'PY'
import http.server, sys, urllib.request
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            body = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[2]}/{sys.argv[3]}{self.path}").read()
            self.send_response(200)
        except Exception as e:
            body = str(e).encode()
            self.send_response(503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer((sys.argv[1], 9400), Page).serve_forever()
PY
for i in 0 1 2; do
  ip addr add "$(address $i)/32" dev lo
  python3 "$work/page.py" "$(address $i)" "$exporter_port" "node00$i" 2>"$work/page$i" & pids+=($!)
done

read -r prometheus_port alertmanager_port < <(free_ports 2)
cp "$top/packaging/prometheus/muster.rules.yml" "$work/rules.yml"
cat >"$work/prometheus.yml" <<PROM
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$work/rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:$alertmanager_port"]}]}]}
scrape_configs:
  - {job_name: nvidia-dcgm-exporter, honor_labels: true, static_configs: [{targets: ["$(address 0):9400"], labels: {node: node000}}, {targets: ["$(address 1):9400"], labels: {node: node001}}, {targets: ["$(address 2):9400"], labels: {node: node002}}]}
  - {job_name: muster, metrics_path: /muster/metrics, static_configs: [{targets: ["127.0.0.1:$exporter_port"]}]}
PROM
echo '{route: {receiver: nobody}, receivers: [{name: nobody}]}' >"$work/alertmanager.yml"
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="127.0.0.1:$prometheus_port" >"$work/prometheus.log" 2>&1 & pids+=($!)
prometheus-alertmanager --config.file="$work/alertmanager.yml" --storage.path="$work/am" --web.listen-address="127.0.0.1:$alertmanager_port" --cluster.listen-address= >"$work/am.log" 2>&1 & pids+=($!)
scraped() { [ "$(curl -sf "127.0.0.1:$prometheus_port/api/v1/query?query=count(DCGM_FI_DEV_GPU_UTIL)" | grep -o '"6"')" ]; }
until_true 150 scraped || fail prometheus_scrapes "$(tail -2 "$work/prometheus.log" | cut -c1-300)"
sleep 3

write_site
waive 1 2 3 4
look bringup run --from 5 --to 5
gate exporters_series_and_the_alert_are_proven 5 pass
rehearsed played_kubelets_make_a_rehearsal
judged_again the_run_can_be_judged_again

# An exporter that is gone: its page and its series are missed, each by its own criterion.
kc -n gpu-operator delete pod nvidia-dcgm-exporter-1 --force --grace-period=0 >/dev/null 2>&1
look check -g 5
verdict an_exporter_that_is_gone_is_unknown TEL-005 node001 unknown
verdict and_the_others_are_read TEL-005 node002 pass

# The kubelets' own configuration. The API server proxies to no loopback address: each node gets another, from which a relay leads to the
# lab's kubelet.
kubelet=$(kc get node node000 -o 'jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}')
ip addr add 10.77.1.1/32 dev lo
cat >"$work/relay.py" <<'PY'
import socket, sys, threading
def pour(a, b):
    try:
        while data := a.recv(65536): b.sendall(data)
    except OSError: pass
    finally:
        try: b.shutdown(socket.SHUT_WR)
        except OSError: pass
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    peer, _ = listener.accept()
    there = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for pair in ((peer, there), (there, peer)): threading.Thread(target=pour, args=pair, daemon=True).start()
PY
python3 "$work/relay.py" 10.77.1.1 "$kubelet" 2>"$work/relay" & pids+=($!)
for i in 0 1 2; do kc patch node "node00$i" --subresource=status --type=merge -p "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.77.1.1\"},{\"type\":\"Hostname\",\"address\":\"node00$i\"}]}}" >/dev/null; done
look check -g 4
verdict the_kubelets_policy_is_read STK-030 node001 pass

# Without the rights for them, pages and configuration are UNKNOWN with the refusal, and the roles that install renders are enough.
cluster_roles observer kubelet-reader exporter-reader
account default looker
kc create clusterrolebinding observer --clusterrole=muster-observer --serviceaccount=default:looker >/dev/null
write_site "$work/looker.kubeconfig"
look check -g 5
verdict a_page_that_may_not_be_read_is_unknown TEL-005 node000 unknown 403
look check -g 4
verdict a_configuration_that_may_not_be_read_is_unknown STK-030 node000 unknown orbidden
kc create clusterrolebinding kubelets --clusterrole=muster-kubelet-reader --serviceaccount=default:looker >/dev/null
kc -n gpu-operator create rolebinding exporters --clusterrole=muster-exporter-reader --serviceaccount=default:looker >/dev/null
sleep 1
look check -g 5
verdict the_exporter_readers_role_is_enough TEL-005 node000 pass
look check -g 4
verdict the_kubelet_readers_role_is_enough STK-030 node000 pass
finish
