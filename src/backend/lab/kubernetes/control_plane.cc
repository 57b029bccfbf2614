#include "backend/lab/kubernetes/control_plane.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab {

namespace {

// "PID (name) S PPID ...": the 22nd field is when it began. The name may hold blanks and brackets.
std::optional<std::pair<int64_t, std::string>> PidAndStart(std::string_view stat) {
  const size_t bracket = stat.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto rest = SplitBlank(stat.substr(bracket + 1));
  const auto pid = ParseInt(stat.substr(0, stat.find(' ')));
  constexpr size_t kStartTime = 19;  // the first after the bracket is the third field
  if (!pid.ok() || *pid <= 1 || rest.size() <= kStartTime) return std::nullopt;
  if (rest[0] == "Z") return std::nullopt;  // it has ended; nobody asked for its exit code yet
  return std::pair{*pid, std::string(rest[kStartTime])};
}

// Before it becomes the program, the process says who it is: there is no moment in which it runs
// and nobody knows.
constexpr const char* kBecome =
    R"(exec </dev/null >>"$1" 2>&1; cat /proc/$$/stat >"$2.new" && mv "$2.new" "$2" || exit 1; shift 2; exec "$@")";
constexpr const char* kDetach = R"(setsid sh -c "$0" "$@" >/dev/null 2>&1 </dev/null &)";

}  // namespace

std::vector<PlaneProcess> ControlPlaneProcesses(const ControlPlaneSpec& spec) {
  const std::string& s = spec.folder;
  const std::string etcd = fmt::format("http://127.0.0.1:{}", spec.etcd_port);
  return {
      {"etcd",
       {spec.binaries + "/etcd", "--name=lab", "--data-dir=" + s + "/etcd",
        "--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
        "--listen-peer-urls=http://127.0.0.1:0", "--log-level=warn",
        "--quota-backend-bytes=4294967296",
        // What is in here may be lost, and it is the disk that would be measured.
        "--unsafe-no-fsync"}},
      {"apiserver",
       {spec.binaries + "/kube-apiserver",
        "--etcd-servers=" + etcd,
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        fmt::format("--secure-port={}", spec.port),
        "--cert-dir=" + s + "/pki",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--token-auth-file=" + s + "/pki/tokens.csv",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=" + s + "/pki/sa.pub",
        "--service-account-signing-key-file=" + s + "/pki/sa.key",
        "--kubelet-preferred-address-types=InternalIP",
        "--endpoint-reconciler-type=none",
        "--event-ttl=10m",
        "--profiling=false",
        "--max-requests-inflight=3000",
        "--max-mutating-requests-inflight=1500",
        "--shutdown-delay-duration=0s"}},
      {"controller-manager",
       {spec.binaries + "/kube-controller-manager", "--kubeconfig=" + s + "/controllers.kubeconfig",
        "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true",
        "--service-account-private-key-file=" + s + "/pki/sa.key",
        "--root-ca-file=" + s + "/pki/apiserver.crt", "--kube-api-qps=2000",
        "--kube-api-burst=4000", "--profiling=false"}},
      {"player", {spec.self, "lab-kubelets", s}},
  };
}

std::string PlaneKubeconfig(const ControlPlaneSpec& spec, const std::string& user,
                            const std::string& token) {
  return fmt::format(
      "apiVersion: v1\nkind: Config\n"
      "clusters: [{{name: lab, cluster: {{server: \"https://127.0.0.1:{}\", "
      "certificate-authority: \"{}/pki/apiserver.crt\"}}}}]\n"
      "users: [{{name: {}, user: {{token: \"{}\"}}}}]\n"
      "contexts: [{{name: lab, context: {{cluster: lab, user: {}}}}}]\ncurrent-context: lab\n",
      spec.port, spec.folder, user, token, user);
}

RecordedProcesses::RecordedProcesses(World& world, std::string folder)
    : world_(world), folder_(std::move(folder)) {}

std::optional<int64_t> RecordedProcesses::Running(const std::string& name) {
  const auto record = world_.files.Read(PidFile(name), 4096);
  if (!record.ok()) return std::nullopt;
  const auto recorded = PidAndStart(*record);
  if (!recorded) return std::nullopt;
  const auto stat = world_.files.Read(fmt::format("/proc/{}/stat", recorded->first), 4096);
  if (!stat.ok() || PidAndStart(*stat) != recorded) return std::nullopt;
  return recorded->first;
}

Status RecordedProcesses::Start(const PlaneProcess& process) {
  if (Running(process.name)) return {};
  TRY_VOID(world_.files.Remove(PidFile(process.name)));
  Command command;
  command.argv = {"sh",
                  "-c",
                  kDetach,
                  kBecome,
                  "muster-lab",
                  folder_ + "/log/" + process.name + ".log",
                  PidFile(process.name)};
  command.argv.insert(command.argv.end(), process.argv.begin(), process.argv.end());
  TRY(const CommandResult ran, world_.processes.Run(command));
  if (ran.exit_code != 0)
    return Fail(Code::kInternal, fmt::format("starting {}: {}", process.name, Printable(ran.err)));
  // The record is written within milliseconds; without it nothing was started.
  for (int look = 0; look < 200; ++look) {
    if (world_.files.Stat(PidFile(process.name)).ok()) return {};
    world_.clock.SleepFor(std::chrono::milliseconds(25));
  }
  return Fail(Code::kInternal, fmt::format("{} did not start; see {}/log/{}.log", process.name,
                                           folder_, process.name));
}

Status RecordedProcesses::Stop(const std::string& name, Duration patience) {
  const auto signal = [&](const char* which, int64_t pid) {
    Command command;
    command.argv = {"sh", "-c", R"(kill -"$0" "$1" 2>/dev/null)", which, std::to_string(pid)};
    return world_.processes.Run(command);
  };
  const Duration until = world_.clock.Monotonic() + patience;
  if (const auto pid = Running(name)) {
    TRY_VOID(signal("TERM", *pid));
  }
  while (Running(name) && world_.clock.Monotonic() < until)
    world_.clock.SleepFor(std::chrono::milliseconds(50));
  for (int look = 0; look < 100; ++look) {
    const auto pid = Running(name);
    if (!pid) return world_.files.Remove(PidFile(name));
    TRY_VOID(signal("KILL", *pid));
    world_.clock.SleepFor(std::chrono::milliseconds(50));
  }
  return Fail(Code::kInternal, fmt::format("{} does not end", name));
}

std::string RecordedProcesses::LogTail(const std::string& name, size_t bytes) {
  const auto text = world_.files.Read(folder_ + "/log/" + name + ".log");
  if (!text.ok()) return "";
  return text->substr(text->size() - std::min(text->size(), bytes));
}

}  // namespace muster::lab
