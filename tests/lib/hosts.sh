# What the scripts share that act on hosts by runbooks, beside checks.sh: what muster said, and an sshd with keys of its own. All of it works
# in the folder $work, where the script stands.
. "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
export LC_ALL=C
act() { timeout 300 "$muster" "$@" >out.txt 2>err.txt; rc=$?; cat out.txt err.txt >>all.txt; }
hint() { printf ': %s' "$(tail -qn 3 out.txt err.txt 2>/dev/null | tr '\n' ';' | cut -c1-500)"; }
says() { if grep -Eq -- "$3" "$2"; then pass "$1"; else fail "$1" "no line of $2 matches '$3': $(tail -4 "$2" | tr '\n' ';' | cut -c1-500)"; fi; } # says NAME FILE EXPRESSION

need_sshd() {
  sshd=$(PATH=$PATH:/usr/sbin command -v sshd || true)
  [ -n "$sshd" ] && command -v ssh-keygen >/dev/null || { lacking sshd "openssh-server is not installed"; finish; }
}
# ssh_keys NAME...: of the host, which sshd_config names, and of users; the one called user may log in.
ssh_keys() {
  local key
  for key in "$@"; do ssh-keygen -q -t ed25519 -N '' -C muster-test -f "$work/$key"; done
  cp "$work/user.pub" "$work/authorized_keys"
  # sshd as root insists on its empty folder.
  [ "$(id -u)" -ne 0 ] || mkdir -p -m 755 /run/sshd
}
sshd_config() { # sshd_config PORT FOLDER_OF_KEYS ENVIRONMENT
  cat <<C
Port $1
ListenAddress 127.0.0.1
HostKey $2/host
PidFile none
AuthorizedKeysFile $2/authorized_keys
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
LogLevel VERBOSE
MaxStartups 100
Subsystem sftp internal-sftp
SetEnv $3
C
}
# ssh_knows NAME PORT: there the host has our key.
ssh_knows() { echo "[$1]:$2 $(cut -d' ' -f1,2 "$work/host.pub")" >>"$work/known_hosts"; }
ssh_config() { # ssh_config: how each of the hosts is reached; what differs between them stands before it
  cat <<C
Host *
  HostName 127.0.0.1
  User $(id -un)
  IdentityFile $work/user
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile $work/known_hosts
  GlobalKnownHostsFile /dev/null
C
}
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; } # listens PORT
