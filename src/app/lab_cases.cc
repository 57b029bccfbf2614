#include "app/lab_cases.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/lab_actuator.h"
#include "backend/lab/lab_hosts.h"
#include "backend/lab/state/lab_state.h"
#include "base/strings.h"

namespace muster {

namespace {

struct LabOfSite {
  std::string folder;
  lab::LabState state;
  std::unique_ptr<FileLock> lock;  // of those who write
};

Result<LabOfSite> Load(World& world, const std::string& site_file, bool to_write = false) {
  TRY(const LoadedSite site, ReadSiteFile(world.files, site_file));
  if (site.site.kind != SiteKind::kLab)
    return Fail(Code::kInvalid, fmt::format("{} is no lab: faults go into labs only", site_file));
  LabOfSite lab;
  lab.folder = PathsOf(site_file).folder + "/" + site.site.lab_dir;
  if (to_write) {
    TRY(lab.lock, lab::LockLab(world, lab.folder));
  }
  TRY(lab.state, lab::LoadLab(world.files, lab.folder));
  return lab;
}

}  // namespace

std::vector<LabFaultInfo> LabFaults() {
  std::vector<LabFaultInfo> faults;
  for (const lab::FaultKind& kind : lab::FaultTable()) {
    faults.push_back({std::string(kind.name), std::string(ToString(kind.on)),
                      std::string(kind.what), std::string(kind.source), kind.gate});
  }
  return faults;
}

Result<Subject> LabInject(World& world, const std::string& site_file, const std::string& fault,
                          const std::string& on) {
  const lab::FaultKind* kind = lab::FindFaultKind(fault);
  if (kind == nullptr) {
    std::vector<std::string> names;
    for (const lab::FaultKind& known : lab::FaultTable()) names.emplace_back(known.name);
    const auto near = Nearest(fault, names);
    return Fail(Code::kInvalid,
                fmt::format("there is no fault {}{}; `muster lab faults` lists them", fault,
                            near ? fmt::format(", did you mean {}", *near) : ""));
  }
  TRY(LabOfSite lab, Load(world, site_file, true));
  const std::string where =
      on.empty() ? lab::SampleSubject(lab.state, *kind, lab.state.seed + lab.state.faults.size()).id
                 : on;
  TRY_VOID(lab::Inject(lab.state, fault, where, world.clock.Now()));
  TRY_VOID(lab::SaveLab(world.files, lab.state));
  return lab.state.faults.back().on;
}

Result<size_t> LabHeal(World& world, const std::string& site_file, const std::string& fault,
                       const std::string& on) {
  if (!fault.empty() && lab::FindFaultKind(fault) == nullptr)
    return Fail(Code::kInvalid,
                fmt::format("there is no fault {}; `muster lab faults` lists them", fault));
  TRY(LabOfSite lab, Load(world, site_file, true));
  const auto healed = lab::Heal(lab.state, fault, on);
  if (!healed.ok()) return size_t{0};  // there is none of these
  TRY_VOID(lab::SaveLab(world.files, lab.state));
  return static_cast<size_t>(*healed);
}

Result<std::vector<LabFaultNow>> LabFaultsNow(World& world, const std::string& site_file) {
  TRY(const LabOfSite lab, Load(world, site_file));
  std::vector<LabFaultNow> faults;
  for (const lab::Fault& fault : lab.state.faults)
    faults.push_back({fault.kind, fault.on, fault.since});
  return faults;
}

Status LabStartJob(World& world, const std::string& site_file, const LabJobOptions& job) {
  TRY(const LabOfSite lab, Load(world, site_file));
  if (job.gpus < 1) return Fail(Code::kInvalid, "--gpus: expected 1 or more");
  for (const auto& [node, ops] : lab.state.ops) {
    for (const lab::LabJob& known : ops.jobs) {
      const bool ended = known.ends_at != TimePoint{} && known.ends_at <= world.clock.Now();
      if (known.job.id == job.id && !ended)
        return Fail(Code::kConflict, fmt::format("job {} runs already", Printable(job.id)));
    }
  }
  RunningJob running;
  running.id = job.id;
  running.owner = job.owner;
  running.nodes = job.nodes;
  running.gpus = job.gpus;
  running.started = world.clock.Now() - job.since;
  lab::LabActuator actuator(world, lab.folder);
  return actuator.StartJob(running, job.checkpoint_every);
}

Result<std::vector<LabJobNow>> LabJobsNow(World& world, const std::string& site_file) {
  TRY(const LabOfSite lab, Load(world, site_file));
  std::vector<LabJobNow> jobs;
  const TimePoint now = world.clock.Now();
  for (const auto& [node, ops] : lab.state.ops) {
    for (const lab::LabJob& job : ops.jobs) {
      const bool ended = job.ends_at != TimePoint{} && job.ends_at <= now;
      jobs.push_back({job.job.id, job.job.owner, job.job.nodes, job.attempt, job.checkpoint_every,
                      job.DurableAt(ended ? job.ends_at : now), ended});
    }
  }
  return jobs;
}

Status LabSpoil(World& world, const std::string& site_file, const std::string& node,
                const std::string& act, const std::string& how) {
  TRY(const LabOfSite lab, Load(world, site_file));
  TRY(const ActKind kind, ParseActKind(act));
  lab::LabActuator actuator(world, lab.folder);
  return actuator.Spoil(node, kind, how);
}

Result<CommandResult> LabExec(World& world, const std::string& site_file, const std::string& host,
                              const std::vector<std::string>& argv,
                              const std::string& self_binary) {
  TRY(LabOfSite lab, Load(world, site_file));
  lab::LabHosts hosts(std::move(lab.state), world, {self_binary, true});
  TRY(HostPorts ports, hosts.At(host));
  return ports.world.processes.Run({.argv = argv});
}

}  // namespace muster
