#include "app/sched_serve.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "app/sched_health.h"
#include "backend/kubernetes/sched/serve.h"
#include "base/strings.h"
#include "kube/connection.h"

namespace muster {

namespace {

// "HOST,PID NAMESPACE" of this process, and "PID,BEGAN" of one; what a Lease's holder is made of.
std::string MachineWords(World& world) {
  std::error_code ignored;
  const std::string ns = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  const std::string boot(
      Trim(world.files.Read("/proc/sys/kernel/random/boot_id", 200).value_or("unknown")));
  return boot + "," + ns;
}
std::string ProcessWords(World& world, const std::string& pid) {
  const auto stat = world.files.Read("/proc/" + pid + "/stat", 4096);
  if (!stat.ok()) return "";
  const size_t bracket = stat->rfind(')');
  if (bracket == std::string::npos) return "";
  const auto rest = SplitBlank(std::string_view(*stat).substr(bracket + 1));
  constexpr size_t kStartTime = 19;
  if (rest.size() <= kStartTime || rest[0] == "Z") return "";
  return fmt::format("{},{}", stat->substr(0, stat->find(' ')), rest[kStartTime]);
}

SchedServed SoFar(const kubesched::Serve& serve) {
  SchedServed served;
  const auto& stats = serve.stats();
  served.bound = stats.bound, served.conflicts = stats.conflicts, served.failed = stats.failed;
  served.deleted = stats.deleted, served.said = stats.said;
  served.longest_turn_ms = std::chrono::ceil<std::chrono::milliseconds>(stats.longest_turn).count();
  if (const kubesched::Core* core = serve.core()) {
    served.gangs_placed = core->stats().gangs_placed, served.evicted = core->stats().evicted;
    served.running = static_cast<int>(core->engine().running_jobs());
    served.waiting = static_cast<int>(core->engine().pending_jobs());
  }
  if (const kueue::Admission* kueue = serve.kueue()) {
    served.admitted = kueue->stats().admitted, served.preempted = kueue->stats().evicted;
  }
  return served;
}

void Tell(SchedHealth& health, const kubesched::Serve& serve, Duration now) {
  if (!health.WantsToHear(now)) return;
  health.Turned(now, {.leading = serve.leading(),
                      .known = serve.known(),
                      .heard = serve.heard_at(),
                      .served = SoFar(serve)});
}

}  // namespace

std::string SchedulerIdentity(World& world) {
  const std::string host(Trim(world.files.Read("/proc/sys/kernel/hostname", 300).value_or("?")));
  return fmt::format("{}/{}/{}/{:x}", host, MachineWords(world), ProcessWords(world, "self"),
                     world.random.Next());
}

bool HolderHasEnded(World& world, const std::string& holder) {
  const auto parts = Split(holder, '/');
  if (parts.size() != 4 || parts[1] != MachineWords(world)) return false;
  const std::string process(parts[2]);
  const std::string pid = process.substr(0, process.find(','));
  // Where /proc hides the processes of others (hidepid), one that cannot be seen may well run.
  if (pid.empty() || ProcessWords(world, "1").empty()) return false;
  return ProcessWords(world, pid) != process;
}

Result<SchedServed> ServeSchedule(World& world, const SchedServeOptions& options,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& note) {
  TRY(const kube::ClusterConfig config, kube::FindCluster(world.files, kube::ClusterEnvironment(),
                                                          options.kubeconfig, options.context));
  kube::Connection connection(world, config);
  note(fmt::format("serving {}", config.server));
  return ServeSchedule(world, connection.client(), options, stop, note);
}

Result<SchedServed> ServeSchedule(World& world, kube::Client& client,
                                  const SchedServeOptions& options,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& note) {
  kubesched::ServeOptions serve_options;
  serve_options.core.schedulers = {options.schedulers.begin(), options.schedulers.end()};
  if (!options.levels.empty()) serve_options.core.levels = options.levels;
  serve_options.kueue = options.kueue;
  serve_options.wait_for_pods_ready = options.wait_for_pods_ready;
  serve_options.volcano_jobs = options.volcano_jobs;
  serve_options.lease.ns = options.lease_namespace;
  serve_options.lease.name = options.lease_name;
  serve_options.lease.identity = SchedulerIdentity(world);
  serve_options.lease.has_ended = [&world](const std::string& holder) {
    return HolderHasEnded(world, holder);
  };
  kubesched::Serve serve(client, serve_options, note);
  note("serving as " + serve_options.lease.identity);
  serve.Start();
  while (!stop() && !serve.fatal() && !(options.once && serve.idle())) {
    serve.Turn(std::chrono::milliseconds(500));
    if (options.health != nullptr) Tell(*options.health, serve, client.clock().Monotonic());
  }
  const std::optional<Error> fatal = serve.fatal();
  const SchedServed served = SoFar(serve);
  const auto released = std::make_shared<bool>(false);  // its answer may come after us
  const Duration until = client.clock().Monotonic() + std::chrono::seconds(5);
  serve.Stop([released] { *released = true; });
  while (!*released && client.clock().Monotonic() < until)
    client.Poll(std::chrono::milliseconds(100));
  if (fatal) return Fail(*fatal);
  return served;
}

}  // namespace muster
