#include "app/lab_cases.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/lab_hosts.h"
#include "backend/lab/state/lab_state.h"
#include "base/strings.h"

namespace muster {

namespace {

struct LabOfSite {
  std::string folder;
  lab::LabState state;
};

Result<LabOfSite> Load(World& world, const std::string& site_file) {
  TRY(const LoadedSite site, ReadSiteFile(world.files, site_file));
  if (site.site.kind != SiteKind::kLab)
    return Fail(Code::kInvalid, fmt::format("{} is no lab: faults go into labs only", site_file));
  LabOfSite lab;
  lab.folder = PathsOf(site_file).folder + "/" + site.site.lab_dir;
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
  TRY(LabOfSite lab, Load(world, site_file));
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
  TRY(LabOfSite lab, Load(world, site_file));
  const size_t healed = std::erase_if(lab.state.faults, [&](const lab::Fault& f) {
    return (fault.empty() || f.kind == fault) && (on.empty() || f.on.id == on);
  });
  TRY_VOID(lab::SaveLab(world.files, lab.state));
  return healed;
}

Result<std::vector<LabFaultNow>> LabFaultsNow(World& world, const std::string& site_file) {
  TRY(const LabOfSite lab, Load(world, site_file));
  std::vector<LabFaultNow> faults;
  for (const lab::Fault& fault : lab.state.faults)
    faults.push_back({fault.kind, fault.on, fault.since});
  return faults;
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
