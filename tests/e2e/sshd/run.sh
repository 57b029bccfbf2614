#!/usr/bin/env bash
# Sites of kind `host` over a real sshd (Debian: openssh-server) that this script starts on a loopback port, with keys and
# configuration of its own in a folder that it removes. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/backend/host/muster_sshd_e2e

sshd=$(PATH=$PATH:/usr/sbin command -v sshd || true)
if [ -z "$sshd" ] || ! command -v ssh-keygen >/dev/null; then
  if [ "${CI:-}" = true ]; then echo "FAIL sshd: openssh-server is not installed"; exit 1; fi
  echo "SKIP sshd: openssh-server is not installed"
  exit 0
fi
if [ ! -x "$driver" ]; then
  echo "FAIL sshd: $driver is not built"
  exit 1
fi

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

for key in host user other; do ssh-keygen -q -t ed25519 -N '' -C muster-test -f "$work/$key"; done
cp "$work/user.pub" "$work/authorized_keys"
# sshd as root insists on its empty folder.
[ "$(id -u)" -ne 0 ] || mkdir -p -m 755 /run/sshd

free_port() {
  local port
  for port in $(shuf -i 20000-32000 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}
port=$(free_port)
cat >"$work/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $work/host
PidFile none
AuthorizedKeysFile $work/authorized_keys
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
LogLevel VERBOSE
MaxStartups 100
# The user's own .bashrc is not part of the test.
SetEnv HOME=$work
END
"$sshd" -D -e -f "$work/sshd_config" 2>"$work/sshd.log" &
server=$!
for _ in $(seq 200); do
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  kill -0 "$server" 2>/dev/null || { echo "FAIL sshd: it does not start: $(tail -1 "$work/sshd.log")"; exit 1; }
  sleep 0.05
done

echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$work/host.pub")" >"$work/known_hosts"
echo "[localhost]:$port $(cut -d' ' -f1,2 "$work/host.pub")" >>"$work/known_hosts"
cat >"$work/ssh_config" <<END
Host host-a
  HostName 127.0.0.1
Host host-b
  HostName localhost
  AddressFamily inet
Host host-dead
  HostName 127.0.0.1
  Port $(free_port)
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
