#!/usr/bin/env bash
# A site of real hosts, acted on by the real binary: `muster runbook` and `muster node` over a real sshd, with the power of the chassis
# switched through ipmi_sim and sushy-tools' Redfish emulator, and cordons kept by a real API server where one was built.
# What the hosts' tools print is rehearsed: looks are the lab's tools (`muster lab exec`), acts are tests/host_tools/standin.py.
# Each host is an sshd in a mount namespace of its own, whose boot id is a file that a reboot or a power cycle replaces.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
suite=hosts
. "$(dirname "$0")/../../lib/hosts.sh"
. "$top/tests/lib/ipmi_sim.sh"
. "$top/tests/lib/sushy.sh"
need_program "$muster"
need_sshd
command -v ipmi_sim >/dev/null && command -v ipmitool >/dev/null || { lacking ipmi "Debian packages openipmi and ipmitool are not installed"; finish; }
have_sushy
# One that can neither hide its boot id nor be alone on its loopback would touch this machine.
in_namespaces "-n -m" || { lacking namespaces "no namespaces may be made here"; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-hosts.XXXXXX")
stop() {
  end_pids
  [ -z "${kubernetes:-}" ] || "$top/tests/kubernetes/down.sh" "$work/kubernetes" --wipe
  rm -rf "$work"
}
trap stop EXIT
cd "$work" || exit 1

# ---- the hosts
"$muster" lab create --out "$work/lab.yaml" --spec nodes=2,gpus=2,numa=1,rails=0,leaves=0,spines=0,rate=400 >lab.log 2>&1 || { fail lab "$(tail -1 lab.log)"; finish; }
lab=$work/lab.yaml
ssh_keys host user
host() { # host NODE PORT: its tools and its sshd
  local h=$work/$1 tool; mkdir -p "$h/bin"
  cat /proc/sys/kernel/random/uuid >"$h/boot_id"; : >"$h/kmsg"
  cat >"$h/look" <<L
#!/bin/sh
# What the lab's model of this host prints.
exec "$muster" lab exec $1 --site "$lab" -- "\$@"
L
  cat >"$h/act" <<A
#!/bin/sh
exec python3 "$top/tests/host_tools/standin.py" "\$@"
A
  # What a reset or a boot mends in the lab, and what the kernel log keeps of it.
  cat >"$h/bin/nvidia-smi" <<N
#!/bin/sh
case "\$*" in
  *--gpu-reset*)
    "$h/look" journalctl -k -b --no-pager -o short-iso >"$h/kept.log"
    [ ! -e "$h/slow" ] || sleep 4
    "$h/act" nvidia-smi "\$@" || exit \$?
    for f in xid_119 xid_95; do "$muster" lab heal \$f --site "$lab" >/dev/null 2>&1; done; exit 0;;
  *persistence_mode,power.limit*|*--query-compute-apps*) exec "$h/act" nvidia-smi "\$@";;
esac
exec "$h/look" nvidia-smi "\$@"
N
  cat >"$h/bin/journalctl" <<J
#!/bin/sh
if [ -e "$h/kept.log" ]; then cat "$h/kept.log"; else "$h/look" journalctl "\$@"; fi
while read -r l; do echo "2026-11-21T00:00:00+0000 $1 \$l"; done <"$h/kmsg"
J
  cat >"$h/booted" <<B
#!/bin/sh
# Another boot: another id, an empty kernel log, and what a boot mends. BY is reboot or power.
cat /proc/sys/kernel/random/uuid >"$h/boot_id"; : >"$h/kmsg"; rm -f "$h/kept.log"; echo "\$1" >>"$h/boots"
for f in xid_119 xid_95; do "$muster" lab heal \$f --on $1/gpu0 --site "$lab" >/dev/null 2>&1; "$muster" lab heal \$f --on $1/gpu1 --site "$lab" >/dev/null 2>&1; done
[ "\$1" != power ] || "$muster" lab heal xid_79 --site "$lab" >/dev/null 2>&1
exit 0
B
  cat >"$h/bin/systemctl" <<S
#!/bin/sh
case "\$1" in
  reboot) exec "$h/booted" reboot;;
  is-active) exec "$h/look" systemctl "\$@";;
esac
exec "$h/act" systemctl "\$@"
S
  for tool in modprobe find apt-get apt-mark dpkg-query; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$h/act" $tool >"$h/bin/$tool"; done
  for tool in dmesg dcgmi modinfo ofed_info ibstat lspci nvcc; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$h/look" $tool >"$h/bin/$tool"; done
  chmod +x "$h/look" "$h/act" "$h/booted" "$h"/bin/*
  python3 - "$h/state.json" "$("$muster" lab exec "$1" --site "$lab" -- nvidia-smi --query-gpu=index,pci.bus_id --format=csv,noheader)" <<'P'
import json, sys
gpus = []
for line in sys.argv[2].splitlines():
    index, bus = (c.strip() for c in line.split(","))
    gpus.append({"index": index, "bus": bus, "uuid": "GPU-" + index, "persistence": "Enabled", "power": "700.00", "ecc": "Enabled", "mig": "Disabled",
                 "errors": "0", "driver": "570.211.01", "instances": []})
json.dump({"gpus": gpus, "jobs": [], "units": {"nvidia-dcgm": {"state": "active", "id": "a1"}}, "modules": {"nvidia": 7}, "packages": {},
           "mirror": {}}, open(sys.argv[1], "w"))
P
  sshd_config "$2" "$work" "HOME=$work PATH=$h/bin:/usr/bin:/bin MUSTER_STANDIN=$h MUSTER_STATE_DIR=$h/state MUSTER_KMSG=$h/kmsg" >"$h/sshd_config"
  unshare -m sh -c "mount --bind '$h/boot_id' /proc/sys/kernel/random/boot_id && exec '$sshd' -D -e -f '$h/sshd_config'" 2>"$h/sshd.log" &
  pids+=($!)
  until_true 150 listens "$2" || { fail "sshd_of_$1" "$(tail -1 "$h/sshd.log")"; finish; }
  ssh_knows 127.0.0.1 "$2"
}
nodes=($("$muster" node list --site "$lab" -o json | python3 -c 'import json,sys; print(*(n["node"] for n in json.load(sys.stdin)["nodes"]))'))
a=${nodes[0]} b=${nodes[1]}
mount --make-rprivate / 2>/dev/null
host "$a" 20022
host "$b" 20023
{ printf 'Host %s\n  Port %s\n' "$a" 20022 "$b" 20023; ssh_config; } >ssh_config

# ---- the controllers: IPMI of the first node (it cuts the power of the played host), Redfish of the second
cat >chassis.sh <<C
#!/bin/sh
# ipmi_sim calls it with: MC get|set power|reset [VALUE]
while [ \$# -gt 0 ]; do
  case "\$1" in
    get) echo "power:\$(cat "$work/power")"; exit 0;;
    set) shift
      case "\$1" in
        power) if [ "\$2" = 1 ] && [ "\$(cat "$work/power")" = 0 ]; then "$work/$a/booted" power; fi; echo "\$2" >"$work/power";;
        reset) "$work/$a/booted" power;;
      esac
      exit 0;;
  esac
  shift
done
C
chmod +x chassis.sh; echo 1 >power
start_ipmi_sim "$work" "$work/chassis.sh"; pids+=("$ipmi_pid")
redfish=
if have_sushy; then
  cat >emu.conf <<C
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = 18009
SUSHY_EMULATOR_STATE_DIR = '$work'
SUSHY_EMULATOR_FAKE_SYSTEMS = [{'uuid': 'aaaaaaaa-0000-0000-0000-000000000001', 'name': '$b', 'power_state': 'On', 'external_notifier': False, 'nics': []}]
C
  "$sushy" --config emu.conf --fake >sushy.log 2>&1 </dev/null & pids+=($!)
  until_true 150 curl -s -o /dev/null --noproxy '*' http://127.0.0.1:18009/redfish/v1
  redfish="  - {nodes: [$b], address: \"http://127.0.0.1:18009\", user: admin, password: \"file:./secret\", system: \"{node}\"}"
else
  lacking redfish "$MUSTER_NO_SUSHY"
fi
echo not-on-a-command-line >secret; chmod 600 secret
export SIM_SECRET=sim-secret
site() { # site FILE MORE: the two hosts
  cat >"$1" <<S
apiVersion: muster/v1
kind: Site
name: hosts
type: host
ssh: {config: ./ssh_config}
cluster:
  nodes:
    - {name: $a, gpus: 2, numa: 1, gpu_model: "NVIDIA H100 80GB HBM3"}
    - {name: $b, gpus: 2, numa: 1, gpu_model: "NVIDIA H100 80GB HBM3"}
bmcs:
  - {nodes: [$a], protocol: ipmi, address: 127.0.0.1, port: 9623, cipher_suite: 3, user: ADMIN, password: env:SIM_SECRET}
$redfish
$2
S
}
site site.yaml ""
export MUSTER_SITE=$work/site.yaml
boots() { if [ -e "$work/$a/boots" ]; then wc -l <"$work/$a/boots"; else echo 0; fi; }

# ---- the contract of every actuator, over the same sshds
driver=$build/src/backend/host/muster_hosts_e2e
if [ -x "$driver" ]; then
  if timeout 200 "$driver" "$work" "$a" "$b" >contract.txt 2>&1; then pass they_keep_the_contract; else fail they_keep_the_contract "$(grep -A4 Failure contract.txt | head -12 | tr '\n' ';')"; fi
  rm -rf "$a/state" "$b/state" "$a/boots" "$b/boots" "$a/kept.log" "$b/kept.log"; : >"$a/kmsg"; : >"$b/kmsg"
elif [ -n "${MUSTER_BUILD:-}" ] || [ "$build" = "$top/build/dev" ]; then
  fail they_keep_the_contract "no $driver: build muster_hosts_e2e"
else
  skip they_keep_the_contract "no $driver in this build"
fi

# ---- cordons by hand: on the host, for any engine to see
act node list; is a_site_of_hosts_lists_its_nodes $rc 0
act node cordon "$b" --reason "a fan is loud" --ttl 1h; is a_host_is_cordoned $rc 0
says the_lease_lies_on_the_host "$b/state/hold.json" '"reason":"a fan is loud"'
mkdir second; cp ssh_config secret second/; site second/site.yaml ""
act node list --site second/site.yaml; says a_second_engine_sees_it out.txt "$b .*a fan is loud"
act node cordon "$b" --reason mine --ttl 1h --site second/site.yaml; is a_second_engine_is_refused $rc 6
cp "$b/state/hold.json" whole; head -c 60 whole >"$b/state/hold.json"
act node return "$b"; is a_half_written_lease_is_nobodys_to_return $rc 6
cp whole "$b/state/hold.json"
act node return "$b"; is a_host_comes_back_through_gate_3 $rc 0

# ---- R6 on a host: a reset, proven although the kernel log still shows the Xid
"$muster" lab inject xid_119 --on "$a/gpu1" --site "$lab" >/dev/null
act runbook plan R6 --on "$a/gpu1" --out plan.json; is r6_is_planned_on_a_host $rc 0
says the_plan_shows_the_command out.txt 'nvidia-smi --gpu-reset -i'
says the_plan_names_the_power_switch out.txt 'ipmitool .*power cycle|chassis power'
act runbook run plan.json --approve; is r6_mends_a_gpu_by_its_reset $rc 0
is it_was_not_booted "$(boots)" 0
says the_xid_is_still_in_the_log "$a/kept.log" 'Xid .*119'
says the_reset_is_marked_in_the_log "$a/kmsg" '^muster: gpu reset done: 0000'
is the_cordon_is_gone "$(grep -c '"lease"' "$a/state/hold.json")" 0

# ---- the engine is killed while the host resets the GPU: the host goes on, and the next engine looks instead of ordering again
"$muster" lab inject xid_119 --on "$a/gpu1" --site "$lab" >/dev/null
rm -rf .muster/runbooks/r-* "$a/state/acts" "$a/kept.log"; : >"$a/kmsg"; : >"$a/asked"; touch "$a/slow"
act runbook plan R6 --on "$a/gpu1" --out plan.json
"$muster" runbook run plan.json --approve >killed.txt 2>&1 & run=$!
begun() { set -- "$a"/state/acts/*/begun; [ -e "$1" ]; }
until_true 150 begun; kill -9 $run; wait $run 2>/dev/null
says the_reset_had_begun "$a/state/acts/"*/begun '^[0-9a-f]{8}-'
act runbook resume --approve; is a_killed_run_goes_on $rc 0
is it_was_reset_once "$(grep -c -- '--gpu-reset' "$a/asked")" 1
is and_not_booted "$(boots)" 0
rm -f "$a/slow"

# ---- without the mark nothing says that the reset cleared it: it climbs to a reboot, which does
"$muster" lab inject xid_119 --on "$a/gpu1" --site "$lab" >/dev/null
rm -rf .muster/runbooks/r-*; rm -f "$a/kmsg" "$a/kept.log"; mkdir "$a/kmsg"
sed -i 's#^while.*##' "$a/bin/journalctl"
act runbook plan R6 --on "$a/gpu1" --out plan.json
rmdir "$a/kmsg"; : >"$a/kmsg"; chmod 444 "$a/kmsg"
act runbook run plan.json --approve; is without_a_mark_it_climbs $rc 0
is it_was_rebooted_once "$(cat "$a/boots" 2>/dev/null | tr '\n' ' ')" "reboot "

# ---- Xid 79: neither a reset nor a reboot mends it, the power cycle does; proven by two other boot ids
rm -rf .muster/runbooks/r-*; rm -f "$a/boots" "$a/kept.log"
"$muster" lab inject xid_79 --on "$a/gpu1" --site "$lab" >/dev/null
first=$(cat "$a/boot_id")
act runbook plan R6 --on "$a/gpu1" --out plan.json; is r6_is_planned_for_a_lost_gpu $rc 0
act runbook run plan.json --approve; is a_reboot_then_a_power_cycle_mend_it $rc 0
is it_was_rebooted_then_power_cycled "$(cat "$a/boots" 2>/dev/null | tr '\n' ' ')" "reboot power "
act runbook journal -o json
python3 - out.txt "$first" "$(cat "$a/boot_id")" <<'P' && pass each_boot_is_shown_by_its_boot_id || fail each_boot_is_shown_by_its_boot_id "$(tail -3 out.txt)"
import json, sys
records = json.load(open(sys.argv[1]))["records"]
done = {r["step"]: r["detail"] for r in records if r["type"] == "outcome"}
assert sys.argv[2][:8] in done["reboot"] and "now" in done["reboot"], done
assert sys.argv[3][:8] in done["power-cycle"], done
P
grep -q sim-secret all.txt && fail no_password_is_printed "$(grep -m 1 sim-secret all.txt)" || pass no_password_is_printed
grep -rq sim-secret .muster && fail no_password_is_journaled "in .muster" || pass no_password_is_journaled

# ---- the same by Redfish: the played host comes up anew when the emulator was asked for it (it says Off for a moment that may be too
# short to be seen from outside)
if [ -n "$redfish" ]; then
  rm -rf .muster/runbooks/r-*; rm -f "$b/boots" "$b/kept.log"
  "$muster" lab inject xid_79 --on "$b/gpu0" --site "$lab" >/dev/null
  ( grep -q -m 1 'POST .*ComputerSystem.Reset' < <(exec tail -n +1 -f --pid=$$ sushy.log 2>/dev/null) && exec "$b/booted" power ) & pids+=($!)
  act runbook plan R6 --on "$b/gpu0" --out plan.json; says redfish_is_the_other_nodes_switch out.txt 'ComputerSystem.Reset'
  act runbook run plan.json --approve; is a_power_cycle_by_redfish_mends_it $rc 0
  is it_was_rebooted_then_power_cycled_by_redfish "$(cat "$b/boots" 2>/dev/null | tr '\n' ' ')" "reboot power "
  grep -rq not-on-a-command-line .muster all.txt && fail no_redfish_password_is_kept "it is in .muster or was printed" || pass no_redfish_password_is_kept
fi

# ---- without a way to switch its power no reboot is begun
rm -rf .muster/runbooks/r-*; rm -f "$a/boots" "$a/kept.log"
"$muster" lab inject xid_79 --on "$a/gpu1" --site "$lab" >/dev/null
act runbook plan R6 --on "$a/gpu1" --out plan.json
SIM_SECRET=wrong act runbook run plan.json --approve; is a_silent_controller_leaves_the_node_parked $rc 7
is and_nothing_was_booted "$(boots)" 0
says the_node_stays_out "$a/state/hold.json" '"lease"'
"$muster" lab heal xid_79 --site "$lab" >/dev/null
act node return "$a"; is a_parked_node_comes_back_through_gate_3 $rc 0

# ---- cordons that an API server keeps: the same words, the lease on the Node
bin=${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}
for name in etcd kube-apiserver kube-controller-manager kubectl; do
  [ -x "$bin/$name" ] || { lacking kubernetes "no $bin/$name: tests/kubernetes/build.sh builds it"; finish; }
done
export MUSTER_KUBERNETES_BIN=$bin
kubernetes=yes
config=$("$top/tests/kubernetes/up.sh" "$work/kubernetes" 2>up.err) || { fail control_plane_comes_up "$(tail -3 up.err)"; finish; }
kc() { "$bin/kubectl" --kubeconfig="$config" "$@"; }
for n in "$a" "$b"; do
  kc apply -f - >/dev/null <<< "{apiVersion: v1, kind: Node, metadata: {name: $n}}"
  # What a kubelet says of itself.
  kc patch node "$n" --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"},
    {"type":"MemoryPressure","status":"False"},{"type":"DiskPressure","status":"False"},{"type":"PIDPressure","status":"False"}],
    "nodeInfo":{"kubeletVersion":"v1.37.1","containerRuntimeVersion":"containerd://2.2.0","kernelVersion":"6.8.0","osImage":"Debian 12",
    "operatingSystem":"linux","architecture":"amd64","machineID":"m","systemUUID":"u","bootID":"b","kubeProxyVersion":""}}}' >/dev/null
done
site kube.yaml "kubernetes: {kubeconfig: $config}"
sed -i 's/^type: host/type: kubernetes/' kube.yaml
export MUSTER_SITE=$work/kube.yaml
act node list; is a_cluster_lists_its_nodes $rc 0
act node cordon "$b" --reason "a fan is loud" --ttl 1h; is a_node_of_the_cluster_is_cordoned $rc 0
is the_api_server_places_nothing_there "$(kc get node "$b" -o 'jsonpath={.spec.unschedulable}')" true
act node list; says the_list_says_who_holds_it out.txt "$b .*a fan is loud"
act node drain "$b" --reason "a fan is loud" --ttl 1h; is a_node_of_the_cluster_is_drained $rc 0
act node return "$b"; is a_node_of_the_cluster_comes_back $rc 0
is the_api_server_places_work_there_again "$(kc get node "$b" -o 'jsonpath={.spec.unschedulable}')" ""
kc cordon "$b" >/dev/null
act node return "$b"; is a_persons_cordon_is_theirs_to_return $rc 6
kc uncordon "$b" >/dev/null
# A runbook: the cordon on the Node, the reset over ssh.
rm -rf .muster/runbooks/r-*; rm -f "$a/boots" "$a/kept.log"
"$muster" lab inject xid_119 --on "$a/gpu1" --site "$lab" >/dev/null
act runbook plan R6 --on "$a/gpu1" --out plan.json; says the_plan_cordons_by_the_api out.txt "PATCH node $a"
act runbook run plan.json --approve; is r6_mends_a_gpu_of_the_cluster $rc 0
is its_node_is_schedulable_again "$(kc get node "$a" -o 'jsonpath={.spec.unschedulable}')" ""
finish
