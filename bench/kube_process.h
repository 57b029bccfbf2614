// What the measurements beside an API server share: CPU seconds of a process, and the cluster that
// a kubeconfig names.
#pragma once

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/config.h"
#include "world/files.h"

namespace muster::kube {

inline double OwnCpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Used so far; 0 for a process that is not there.
inline double CpuSecondsOf(Files& files, const std::string& pid) {
  const std::string stat = files.Read("/proc/" + pid + "/stat").value_or("");
  const auto fields =
      SplitBlank(std::string_view(stat).substr(std::min(stat.size(), stat.rfind(')') + 1)));
  constexpr size_t kUser = 11, kSystem = 12;  // after the bracket
  if (fields.size() <= kSystem) return 0;
  return static_cast<double>(ParseInt(fields[kUser]).value_or(0) +
                             ParseInt(fields[kSystem]).value_or(0)) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Nothing after having said why.
inline std::optional<ClusterConfig> ConfigOrComplaint(Files& files, const std::string& path) {
  auto config = ReadKubeconfig(files, {path});
  if (config.ok()) return std::move(*config);
  fmt::print(stderr, "{}\n", config.error().ToString());
  return std::nullopt;
}

}  // namespace muster::kube
