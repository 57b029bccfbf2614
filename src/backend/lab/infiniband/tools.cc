#include "backend/lab/infiniband/tools.h"

#include <array>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "backend/lab/infiniband/sysfs.h"

namespace muster::lab {

namespace {

// ibdiagnet leaves its report beside what it prints.
Result<std::string> ReadDiagnetFile(const LabState& state, const Node& node, std::string_view path,
                                    TimePoint now) {
  if (path != "/tmp/ibdiagnet.log") {
    return Fail(Code::kNotFound, fmt::format("{}: No such file or directory", path));
  }
  return infiniband::Ibdiagnet({state, &node, {}, now}).out;
}

Result<std::vector<std::string>> ListDiagnetFiles(const LabState&, const Node&,
                                                  std::string_view path, TimePoint) {
  return Fail(Code::kNotFound, fmt::format("{}: No such file or directory", path));
}

}  // namespace

std::span<const Tool> InfinibandTools() {
  static constexpr std::array<Tool, 12> kTools = {{{"ibstat", infiniband::Ibstat},
                                                   {"ibstatus", infiniband::Ibstatus},
                                                   {"iblinkinfo", infiniband::Iblinkinfo},
                                                   {"ibnetdiscover", infiniband::Ibnetdiscover},
                                                   {"ibswitches", infiniband::Ibswitches},
                                                   {"ibhosts", infiniband::Ibhosts},
                                                   {"perfquery", infiniband::Perfquery},
                                                   {"ibqueryerrors", infiniband::Ibqueryerrors},
                                                   {"sminfo", infiniband::Sminfo},
                                                   {"saquery", infiniband::Saquery},
                                                   {"ibdiagnet", infiniband::Ibdiagnet},
                                                   {"ib_write_bw", infiniband::IbWriteBw}}};
  return kTools;
}

std::span<const LabFile> InfinibandFiles() {
  static constexpr std::array<LabFile, 2> kFiles = {
      {{"/sys/class/infiniband", infiniband::ReadSysfs, infiniband::ListSysfs},
       {"/tmp/ibdiagnet.", ReadDiagnetFile, ListDiagnetFiles}}};
  return kFiles;
}

}  // namespace muster::lab
