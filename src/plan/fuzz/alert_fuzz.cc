// Any body is a list of alerts or is refused; what is taken has all that the rest relies on.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/alert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const muster::Cluster cluster = [] {
    muster::ClusterSpec spec;
    return muster::BuildCluster(spec);
  }();
  static const auto books = muster::LoadEmbeddedRunbooks().value();
  static const auto pointers = [] {
    std::vector<const muster::Runbook*> list;
    for (const muster::Runbook& book : books) list.push_back(&book);
    return list;
  }();
  const auto alerts =
      muster::ParseAlerts(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!alerts.ok()) return 0;
  for (const muster::Alert& alert : *alerts) {
    if (alert.name.empty() || alert.fingerprint.empty()) std::abort();
    const auto match = muster::MatchAlert(alert, pointers, cluster);
    if (match.why_not.empty() && cluster.FindNode(match.on.Host()) == nullptr) std::abort();
  }
  return 0;
}
