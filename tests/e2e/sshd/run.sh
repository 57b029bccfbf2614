#!/usr/bin/env bash
# Sites of kind `host` over a real sshd (Debian: openssh-server) that this script starts on a loopback port, with keys and
# configuration of its own in a folder that it removes. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines.
. "$(dirname "$0")/../../lib/hosts.sh"
driver=$build/src/backend/host/muster_sshd_e2e
need_sshd
need_program "$driver"

work=$(mktemp -d /tmp/muster-sshd.XXXXXX)
server=
stop() {
  [ -z "$server" ] || kill "$server" 2>/dev/null
  # Connections that a killed Muster left behind have their sockets here.
  for socket in "$work"/killed/*/*; do
    [ ! -S "$socket" ] || ssh -o ControlPath="$socket" -O exit any 2>/dev/null
  done
  rm -rf "$work"
}
trap stop EXIT
mkdir "$work/killed"

ssh_keys host user other

read -r port dead_port < <(free_ports 2)
# The user's own .bashrc is not part of the test.
sshd_config "$port" "$work" "HOME=$work" >"$work/sshd_config"
"$sshd" -D -e -f "$work/sshd_config" 2>"$work/sshd.log" &
server=$!
until_true 50 listens "$port" || { fail sshd "it does not start: $(tail -1 "$work/sshd.log")"; finish; }

for name in 127.0.0.1 localhost; do ssh_knows $name "$port"; done
cat >"$work/ssh_config" <<END
Host host-a
  HostName 127.0.0.1
Host host-b
  HostName localhost
  AddressFamily inet
Host host-dead
  HostName 127.0.0.1
  Port $dead_port
Host host-refused
  HostName 127.0.0.1
  IdentityFile $work/other
Host host-strange
  HostName 127.0.0.1
  UserKnownHostsFile /dev/null
# host-refused must not fall back on the good key.
Match originalhost !host-refused,*
  IdentityFile $work/user
Host *
  User $(id -un)
  Port $port
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile $work/known_hosts
  GlobalKnownHostsFile /dev/null
END

timeout 300 "$driver" run "$work"
status=$?
[ $status -eq 0 ] || tail -20 "$work/sshd.log" >&2
exit $status
