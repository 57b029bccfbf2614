#!/usr/bin/env bash
# Packages pinned on a host by the real binary over a real sshd, by real dpkg and apt of a throw-away root (an overlay over this machine's),
# once through apt on the host and once through Ansible from this machine: forth, back when the proof fails, and over a kill -9.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
suite=packages
. "$(dirname "$0")/../../lib/hosts.sh"
need_program "$muster"
need_sshd
command -v dpkg-deb >/dev/null && command -v apt-get >/dev/null || { lacking debian "this is no Debian"; finish; }
in_namespaces "-n -m" || { lacking namespaces "no namespaces may be made here"; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-packages.XXXXXX")
stop() {
  end_pids
  umount -l "$work/root" "$work/disk" 2>/dev/null
  rm -rf "$work"
}
trap stop EXIT
cd "$work" || exit 1
mount --make-rprivate / 2>/dev/null
mkdir disk && mount -t tmpfs tmpfs disk && mkdir disk/upper disk/work root &&
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/disk/upper,workdir=$work/disk/work" root 2>mount.err ||
  { lacking overlay "no overlay can be mounted: $(tail -1 mount.err 2>/dev/null)"; finish; }
mount --rbind /proc root/proc && mount --rbind /dev root/dev || { lacking mounts "no /proc in the throw-away root"; finish; }
there() { chroot "$work/root" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

# ---- five versions of a package in a mirror of its own: 1.2 does not work, 1.3 takes its time
mkdir -p root/mirror
deb() { # deb VERSION PROGRAM POSTINST
  local d=$work/deb; rm -rf "$d"; mkdir -p "$d/DEBIAN" "$d/usr/bin"
  printf 'Package: muster-probe\nVersion: %s-1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a tool\n' "$1" >"$d/DEBIAN/control"
  printf '#!/bin/sh\n%s\n' "$2" >"$d/usr/bin/muster-probe"; printf '#!/bin/sh\n%s\n' "$3" >"$d/DEBIAN/postinst"
  chmod 755 "$d" "$d/DEBIAN" "$d/usr" "$d/usr/bin" "$d/usr/bin/muster-probe" "$d/DEBIAN/postinst"
  dpkg-deb --build --root-owner-group "$d" "root/mirror/muster-probe_$1.deb" >deb.log 2>&1
}
deb 1.0 'echo 1.0' :; deb 1.1 'echo 1.1' :; deb 1.2 'exit 1' :; deb 1.3 'echo 1.3' 'sleep 5'; deb 1.4 'echo 1.4' :
for f in root/mirror/*.deb; do
  dpkg-deb -f "$f"; printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$(basename "$f")" "$(stat -c %s "$f")" "$(sha256sum "$f" | cut -d' ' -f1)"
done >root/mirror/Packages
rm -f root/etc/apt/sources.list.d/* root/etc/apt/apt.conf.d/*; echo 'deb [trusted=yes] file:/mirror ./' >root/etc/apt/sources.list
{ there apt-get update && there apt-get install -y muster-probe=1.0-1; } >apt.log 2>&1 || { fail throw_away_root "$(tail -2 apt.log | tr '\n' ';')"; finish; }
installed() { there dpkg-query -W -f '${Version} ${db:Status-Want}' muster-probe; }
is the_host_begins_with "$(installed)" "1.0-1 install"
is this_machine_has_none "$(dpkg-query -W muster-probe 2>/dev/null)" ""

# ---- the host
ssh_keys host user
mkdir -p root/keys root/run/sshd root/home/probe; cp host host.pub authorized_keys root/keys/
sshd_config 20032 /keys "HOME=/home/probe PATH=/usr/sbin:/usr/bin:/sbin:/bin MUSTER_STATE_DIR=/state" >root/keys/sshd_config
chroot "$work/root" "$sshd" -D -e -f /keys/sshd_config 2>sshd.log & pids+=($!)
until_true 40 listens 20032
ssh_knows 127.0.0.1 20032
{ printf 'Host n1\n  Port 20032\n'; ssh_config; } >ssh_config
site() { # site MORE
  cat >site.yaml <<S
apiVersion: muster/v1
kind: Site
name: packages
type: host
ssh: {config: ./ssh_config}
cluster:
  nodes:
    - {name: n1, gpu_family: none}
packages:
  driver: ["muster-probe={value}-1"]
$1
S
}
mkdir runbooks
cat >runbooks/pin.yaml <<'R'
id: P1
slug: pin
title: "A tool comes to a version"
family: own
on: node
source: "the site"
trigger: {kind: manual, means: "a version is wanted"}
inputs:
  - {name: version, required: true, means: "to come to"}
  - {name: previous, required: true, means: "to go back to"}
prechecks:
  - {id: it-answers, command: ["true"]}
steps:
  - {id: cordon, act: cordon, timeout: 1m}
  - id: install
    act: packages
    with: {driver: "{version}"}
    probe: versions
    timeout: 2m
    before:
      - is: jobs_none
    verify:
      - command: [dpkg-query, -W, muster-probe]
        contains: "{version}-1"
    irreversible: "the rollback installs the previous version"
  - id: proof
    act: observe
    timeout: 1m
    verify:
      - command: [muster-probe]
        contains: "{version}"
  - {id: return, act: return, timeout: 1m}
rollback:
  how: act
  why: "as it was before"
  step:
    id: previous
    act: packages
    with: {driver: "{previous}"}
    probe: versions
    timeout: 2m
    verify:
      - command: [muster-probe]
        contains: "{previous}"
    irreversible: "it is the way back itself"
  then: return
blast:
  waves: ["1"]
R
export MUSTER_SITE=$work/site.yaml HOME=$work
pin() { act runbook plan P1 --on n1 --set version="$1" --set previous="$2" --out plan.json; }

# ---- apt on the host
site ""
pin 1.1 1.0; is a_pin_by_apt_is_planned $rc 0
says the_plan_shows_apt out.txt 'apt-get .*muster-probe=1\.1-1'
act runbook run plan.json --approve; is apt_brings_it_there $rc 0
is it_is_there_and_held "$(installed)" "1.1-1 hold"
pin 1.2 1.1; act runbook run plan.json --approve; is a_version_that_does_not_work_is_taken_back $rc 7
is the_version_before_is_there_and_held "$(installed)" "1.1-1 hold"

# ---- Ansible from this machine
command -v ansible-playbook >/dev/null || { lacking ansible "the Debian package ansible-core is not installed"; finish; }
cat >inventory.ini <<I
[gpus]
n1 ansible_ssh_common_args='-F $work/ssh_config' ansible_python_interpreter=/usr/bin/python3
I
site "ansible: {inventory: inventory.ini}"
pin 1.0 1.1; is a_pin_by_ansible_is_planned $rc 0
says the_plan_shows_the_playbook out.txt 'here: env .*ansible-playbook -i inventory\.ini --limit n1 .*"version":"1\.0-1"'
act runbook run plan.json --approve; is ansible_brings_it_there $rc 0
is it_went_down_and_is_held "$(installed)" "1.0-1 hold"
is the_record_lies_here "$(cat .muster/ansible/n1/acts/*/ended)" 0
says ansible_says_what_it_did .muster/ansible/n1/acts/*/out 'n1 .*changed=[12] .*failed=0'
pin 1.2 1.0; act runbook run plan.json --approve; is ansible_takes_back_what_does_not_work $rc 7
is ansible_put_the_version_before_there "$(installed)" "1.0-1 hold"
# The engine is killed while dpkg is at work: Ansible goes on, and the next engine looks instead of ordering again.
pin 1.3 1.0
"$muster" runbook run plan.json --approve >killed.txt 2>&1 & run=$!
for _ in $(seq 200); do pgrep -f 'muster-probe.postinst configure' >/dev/null && break; sleep 0.1; done
pgrep -f 'muster-probe.postinst configure' >/dev/null && pass the_package_was_being_installed || fail the_package_was_being_installed "$(tail -2 killed.txt)"
kill -9 $run; wait $run 2>/dev/null
act runbook resume --approve; is a_killed_run_goes_on $rc 0
is it_came_there "$(installed)" "1.3-1 hold"
is one_upgrade_to_it "$(grep -c ' upgrade muster-probe:all [^ ]* 1.3-1' root/var/log/dpkg.log)" 1
# A playbook of the site's own.
cat >own.yaml <<'Y'
- hosts: gpus
  gather_facts: false
  tasks:
    - ansible.builtin.copy: {dest: /from-the-sites-playbook, content: "{{ muster_packages | length }}"}
    - ansible.builtin.apt:
        name: "{{ item.name }}={{ item.version }}"
        allow_change_held_packages: true
      loop: "{{ muster_packages }}"
Y
site "ansible: {inventory: inventory.ini, playbook: own.yaml}"
pin 1.4 1.3; act runbook run plan.json --approve; is a_playbook_of_the_sites_brings_it_there $rc 0
is that_playbook_was_run "$(cat root/from-the-sites-playbook)" 1
is it_is_the_version_that_was_wanted "$(installed | cut -d' ' -f1)" 1.4-1
# An inventory that does not know the node, or means more by its name: nothing is done, and the node is let go.
sed -i 's/^n1 /n9 /' inventory.ini
pin 1.3 1.4; act runbook run plan.json --approve; is an_inventory_that_does_not_know_it_is_refused $rc 3
says and_says_so out.txt 'ansible-playbook does not reach n1'
is it_is_as_it_was "$(installed | cut -d' ' -f1)" 1.4-1
act node list; says nobody_holds_it out.txt 'n1 .*schedulable|n1 +at work|n1 +-'
finish
