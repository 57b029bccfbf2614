// What the parts of host_acts.h share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/host/host_acts.h"

namespace muster::host::detail {

using K = ActKind;

inline bool Has(const std::vector<ActKind>& kinds, ActKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}
inline bool OfService(ActKind kind) {
  return Has({K::kServiceStart, K::kServiceStop, K::kServiceRestart}, kind);
}
inline bool OfModule(ActKind kind) { return Has({K::kModuleLoad, K::kModuleReload}, kind); }
inline bool OfGpu(ActKind kind) {
  return Has({K::kGpuReset, K::kPersistence, K::kClocks, K::kPowerCap, K::kEccMode, K::kMigSet,
              K::kMigClear},
             kind);
}

inline std::string Param(const Action& action, const std::string& name) {
  const auto it = action.params.find(name);
  return it == action.params.end() ? "" : it->second;
}
inline std::string At(const Fingerprint& print, const std::string& key) {
  const auto it = print.find(key);
  return it == print.end() ? "" : it->second;
}

// A word that no tool could take for an option, a path or more than one word.
bool IsWord(std::string_view text, std::string_view more);
// "name=version" for apt, of every component that the order names.
Result<std::vector<std::string>> PinsOf(const Action& action, const PackageNames& packages,
                                        const std::string& driver_now);
std::string NameOf(std::string_view pin);

}  // namespace muster::host::detail
