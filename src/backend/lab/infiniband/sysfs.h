// /sys/class/infiniband of a lab node, path by path. Private to this folder.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/state/tool.h"

namespace muster::lab::infiniband {

// Every file with its contents, by path: "/sys/class/infiniband/mlx5_0/ports/1/state".
std::map<std::string, std::string> SysfsTree(const LabState& state, const Node& node,
                                             TimePoint now);
Result<std::string> ReadSysfs(const LabState& state, const Node& node, std::string_view path,
                              TimePoint now);
Result<std::vector<std::string>> ListSysfs(const LabState& state, const Node& node,
                                           std::string_view path, TimePoint now);

}  // namespace muster::lab::infiniband
