#include "diagnose/lint/lint.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "diagnose/lint/context.h"

namespace muster {

std::string_view ToString(LintSeverity severity) {
  switch (severity) {
    case LintSeverity::kInfo:
      return "info";
    case LintSeverity::kWarning:
      return "warning";
    case LintSeverity::kError:
      return "error";
  }
  return "error";
}

std::string ToString(const LintFinding& f) {
  return fmt::format("{}:{}:{}: {} {}: {}{}", f.file, f.at.line, f.at.column, f.code,
                     ToString(f.severity), f.text,
                     f.fix.empty() ? "" : fmt::format(" ({})", f.fix));
}

LintSite SiteOf(const Cluster& cluster) {
  LintSite site;
  for (const Node& node : cluster.nodes) {
    if (node.gpus.empty()) continue;
    site.known = true;
    site.gpus_per_node = static_cast<int>(node.gpus.size());
    site.numa_domains = std::max(1, node.numa_domains);
    for (const Nic& nic : node.nics) site.adapters.push_back(nic.device);
    break;
  }
  return site;
}

std::vector<LintFinding> Lint(const LintInput& input, const LintRules& rules,
                              const LintSite& site) {
  std::vector<LintFinding> found;
  lint::Context context(input, rules, site, found);
  lint::CheckFields(context);
  lint::CheckGang(context);
  lint::CheckIndexedJobs(context);
  lint::CheckDiscovery(context);
  lint::CheckLaunch(context);
  lint::CheckNetwork(context);
  lint::CheckShape(context);
  lint::CheckPods(context);
  lint::CheckEnv(context);
  lint::CheckKueue(context);
  lint::CheckKubelet(context);
  lint::CheckSbatch(context);
  const auto key = [](const LintFinding& f) {
    return std::tie(f.file, f.at.line, f.at.column, f.code, f.text);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const LintFinding& a, const LintFinding& b) { return key(a) < key(b); });
  // A merge key shows one place twice: one finding is enough.
  found.erase(
      std::unique(found.begin(), found.end(),
                  [&](const LintFinding& a, const LintFinding& b) { return key(a) == key(b); }),
      found.end());
  return found;
}

}  // namespace muster
