#include "backend/lab/kubernetes/pod_shell.h"

#include <array>

#include <fmt/format.h>

#include "backend/lab/kubernetes/pod_names.h"
#include "backend/lab/kubernetes/pod_status.h"

namespace muster::lab {

namespace {

// Mounts are private to the namespace that unshare made. Arguments: folder, host name, hosts,
// resolv.conf (empty: left as it is), then the command.
constexpr const char* kEnterPod = R"(dir=$1 name=$2 hosts=$3 resolv=$4; shift 4
fail() { echo "$1" >&2; echo "$1" >"$dir/start-error"; exit 128; }
mkdir -p "$dir" && rm -f "$dir/start-error" && printf %s "$hosts" >"$dir/hosts" || exit 128
mount --bind "$dir/hosts" /etc/hosts && hostname "$name" || fail "the pod's host name cannot be set"
if [ -n "$resolv" ]; then
  printf %s "$resolv" >"$dir/resolv.conf" && mount --bind "$dir/resolv.conf" /etc/resolv.conf ||
    fail "the pod's resolv.conf cannot be set"
fi
command -v -- "$1" >/dev/null || fail "exec: \"$1\": executable file not found in \$PATH"
exec "$@")";

constexpr std::array kUnshare = {"unshare", "--mount", "--uts"};
// All of a pod's processes end with its first; that one ends with the player.
constexpr std::array kOwnProcesses = {"--pid", "--fork", "--kill-child", "--mount-proc"};
constexpr std::array kTied = {"setpriv", "--pdeathsig", "KILL"};

}  // namespace

std::vector<std::string> FindWayIn(Processes& processes,
                                   const std::function<void(const std::string&)>& note) {
  for (const bool own_processes : {true, false}) {
    for (const bool as_root : {true, false}) {  // root already, or root of a user namespace
      std::vector<std::string> enter(kTied.begin(), kTied.end());
      enter.insert(enter.end(), kUnshare.begin(), kUnshare.end());
      if (!as_root) enter.emplace_back("--map-root-user");
      if (own_processes) enter.insert(enter.end(), kOwnProcesses.begin(), kOwnProcesses.end());
      Command probe;
      probe.argv = enter;
      probe.argv.emplace_back("true");
      probe.timeout = std::chrono::seconds(10);
      const auto ran = processes.Run(probe);
      if (!ran.ok() || ran->exit_code != 0) continue;
      if (!own_processes && note)
        note("no process namespaces here: what a pod's command leaves behind may outlive it");
      return enter;
    }
  }
  if (note)
    note(
        "no mount namespaces here (unshare, setpriv): pods' commands have this machine's name, "
        "resolve no names of the cluster, and share the address 127.0.0.1");
  return {};
}

std::string HostsFile(const kube::Pod& pod, const std::string& ip) {
  const std::string full = FullHostnameOf(pod), own = HostnameOf(pod);
  return fmt::format(
      "# Kubernetes-managed hosts file, as a kubelet writes it.\n"
      "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n{}\t{}{}\n",
      ip, full, full == own ? "" : "\t" + own);
}

std::string ResolvFile(const kube::Pod& pod, const std::string& nameserver) {
  if (nameserver.empty()) return "";
  return fmt::format(
      "search {}.svc.cluster.local svc.cluster.local cluster.local\nnameserver {}\n"
      "options ndots:5\n",
      pod.meta.ns, nameserver);
}

Command InPod(const PodShell& shell, const kube::Pod& pod, const kube::Container& container,
              const std::string& ip, const std::string& folder) {
  Command command;
  command.env = EnvironmentOf(pod, container, ip);
  if (!shell.enter.empty()) command.env.try_emplace("HOSTNAME", HostnameOf(pod));
  std::vector<std::string> own = container.command;
  own.insert(own.end(), container.args.begin(), container.args.end());
  for (std::string& word : own) word = ExpandVariables(word, command.env);
  if (own.empty() || shell.enter.empty()) {
    command.argv = std::move(own);
    return command;
  }
  command.argv = shell.enter;
  for (const std::string& word :
       {std::string("sh"), std::string("-c"), std::string(kEnterPod), std::string("muster-pod"),
        folder, HostnameOf(pod), HostsFile(pod, ip), ResolvFile(pod, shell.nameserver)})
    command.argv.push_back(word);
  command.argv.insert(command.argv.end(), own.begin(), own.end());
  return command;
}

}  // namespace muster::lab
