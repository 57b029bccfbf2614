#!/bin/bash
# Pods that really run in `muster lab kubernetes`: their names answered by its DNS server, an address for each, init containers, restarts,
# and nothing of them left behind. Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. API server, controllers,
# processes and names are real; kubelets are played. Runs in a network namespace with nothing but a loopback: port 53 is free there.
. "$(dirname "$0")/../../lib/control_plane.sh"
begin etcd kube-apiserver kube-controller-manager kubectl
[ "${MUSTER_ALONE:-}" = yes ] || { skip kubernetes_pods "port 53 is free in a network namespace alone"; finish; }
unshare --mount --uts --pid --fork --mount-proc true 2>/dev/null || { skip kubernetes_pods "no mount and process namespaces can be made here"; finish; }
lab_up kubernetes-pods --nodes 1 --run-commands --dns-delay 1s
log_of() { cat "$lab/pods/$(kc get pod "$1" -o jsonpath='{.metadata.uid}' 2>/dev/null).log" 2>/dev/null; }
phase_is() { [ "$(kc get pod "$1" -o jsonpath='{.status.phase}' 2>/dev/null)" = "$2" ]; }
says() { log_of "$1" | grep -Eq "$2"; }
check() { # check NAME COMMAND...
  local name=$1; shift
  if until_true 100 "$@"; then pass "$name"; else fail "$name" "$(kc get pods 2>&1 | tr '\n' ';' | cut -c1-400) $(tail -qn2 "$lab"/pods/*.log 2>/dev/null | tr '\n' ';' | cut -c1-400)"; fi
}
pod() { # pod NAME POLICY CODE [MORE SPEC]: python in a pod bound to the one node, with a host name of the Service "twins"
  python3 - "$@" <<'P' | kc create -f - >/dev/null
import json, sys
name, policy, code = sys.argv[1:4]
spec = {"nodeName": "node000", "restartPolicy": policy, "terminationGracePeriodSeconds": 0, "hostname": name, "subdomain": "twins",
        "containers": [{"name": "c", "image": "none", "command": ["python3", "-u", "-c", code]}]}
spec.update(json.loads(sys.argv[4]) if len(sys.argv) > 4 else {})
print(json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": spec,
                  "metadata": {"name": name, "labels": {"app": "twins"}, "annotations": {"muster.dev/run": "true"}}}))
P
}
cat <<'S' | kc create -f - >/dev/null
apiVersion: v1
kind: Service
metadata: {name: twins}
spec: {clusterIP: None, selector: {app: twins}}
S

# ---- names and addresses: two pods of one machine listen at one port and find each other by name
talk='
import socket, sys, threading, time
served = threading.Event()
own, other = socket.gethostname(), {"left": "right", "right": "left"}[socket.gethostname()]
def serve():
    at = socket.create_server((socket.gethostbyname(own), 29500))
    while True:
        peer, _ = at.accept(); peer.sendall(own.encode()); peer.close(); served.set()
threading.Thread(target=serve, daemon=True).start()
misses = 0
while True:
    try:
        address = socket.gethostbyname(other + ".twins"); break
    except socket.gaierror:
        misses += 1; time.sleep(0.2)
for _ in range(100):
    try:
        print("heard", socket.create_connection((address, 29500), 5).recv(99).decode(), "after misses" if misses else "at once"); break
    except ConnectionError:
        time.sleep(0.2)
print("known as", socket.getfqdn())
served.wait(60)  # who ends is named no more: not before the other has found it'
pod left Never "$talk"; pod right Never "$talk"
check a_pod_finds_its_peer_by_name says left '^heard right'
check and_the_peer_finds_it says right '^heard left'
check its_full_name_is_the_services says left '^known as left.twins.default.svc.cluster.local$'
if says left 'after misses'; then pass names_are_published_a_moment_later; else fail names_are_published_a_moment_later "$(log_of left)"; fi
if [ "$(kc get pods -o jsonpath='{range .items[*]}{.status.podIP}{"\n"}{end}' | sort -u | grep -c '^127\.')" -eq 2 ]; then pass each_has_an_address_of_its_own; else fail each_has_an_address_of_its_own "$(kc get pods -o wide)"; fi
check both_run_to_their_end phase_is left Succeeded
gone='
import socket
try: print("resolves", socket.gethostbyname("left.twins"))
except socket.gaierror: print("is not known")'
pod later Never "$gone"
check who_has_ended_is_named_no_more says later '^is not known'

# ---- init containers, restarts
python3 - "$work/count" <<'P' | kc create -f - >/dev/null
import json, sys
code = 'import os, sys\nn = os.path.getsize(sys.argv[1]) if os.path.exists(sys.argv[1]) else 0\nopen(sys.argv[1], "a").write("x")\nprint("run", n)\nsys.exit(0 if n == 1 else 9)'
print(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "steps", "annotations": {"muster.dev/run": "true"}},
  "spec": {"nodeName": "node000", "restartPolicy": "OnFailure",
           "initContainers": [{"name": n, "image": "none", "command": ["echo", n]} for n in ("first", "second")],
           "containers": [{"name": "c", "image": "none", "command": ["python3", "-u", "-c", code, sys.argv[1]]}]}}))
P
check restarted_until_it_succeeds phase_is steps Succeeded
if [ "$(log_of steps | tr '\n' ' ')" = "first second run 0 run 1 " ]; then pass init_containers_go_first_and_once; else fail init_containers_go_first_and_once "$(log_of steps | tr '\n' ';')"; fi
restarts() { [ "$(kc get pod "$1" -o jsonpath='{.status.containerStatuses[0].restartCount}')" = "$2" ]; }
check its_restart_is_counted restarts steps 1
pod nothing Always '' '{"containers": [{"name": "c", "image": "none", "command": ["no-such-program"]}]}'
reason() { [ "$(kc get pod "$1" -o jsonpath='{.status.containerStatuses[0].state.terminated.reason}')" = "$2" ]; }
check a_program_that_is_not_there_is_a_start_error reason nothing StartError

# ---- nothing of a pod outlives it, nor the player
pod stays Never 'import os, subprocess, sys, time
subprocess.Popen(["sleep", "98765"], start_new_session=True); print("began"); time.sleep(98765)'
check a_pod_runs says stays began
sleepers() { grep -lsxz '9876[5]' /proc/[0-9]*/cmdline | wc -l; }
left() { [ "$(sleepers)" -eq "$1" ]; }
if left 1; then pass its_child_is_seen; else fail its_child_is_seen "$(sleepers)"; fi
kill -KILL "$(cut -d' ' -f1 "$lab/pid/player")"
check with_the_player_its_pods_end left 0
lab_start --nodes 1 --run-commands
check and_the_pod_is_told_of_it phase_is stays Failed
pod again Never 'import subprocess, time
subprocess.Popen(["sleep", "98765"], start_new_session=True); print("began"); time.sleep(98765)'
check another_runs says again began
kc delete pod again --wait=true >/dev/null 2>&1
check with_a_deleted_pod_its_processes_end left 0
finish
