#include "app/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/capture.h"
#include "app/derive.h"
#include "base/strings.h"
#include "catalogue/expectation.h"

namespace muster {

namespace {

Result<std::vector<std::string>> NodesOf(const Site& site, const CheckOptions& options) {
  for (const std::string& name : options.nodes) {
    if (site.cluster.FindNode(name) == nullptr)
      return Fail(Code::kInvalid, fmt::format("site {} has no node {}", site.name, name));
  }
  return options.nodes.empty() ? site.ScopeNodes("").value() : options.nodes;
}

Status KnownCodes(const Catalogue& catalogue, const std::vector<std::string>& codes) {
  for (const std::string& code : codes) {
    if (catalogue.Find(code) == nullptr)
      return Fail(
          Code::kInvalid,
          fmt::format("--only {}: there is no such criterion; `muster explain {}` names near ones",
                      code, code));
  }
  return {};
}

void KeepOnly(GateResult& result, const std::vector<std::string>& codes) {
  if (codes.empty()) return;
  const auto other = [&](const auto& item) {
    return std::none_of(codes.begin(), codes.end(),
                        [&](const std::string& c) { return EqualsIgnoreCase(c, item.code); });
  };
  std::erase_if(result.verdicts, other);
  std::erase_if(result.not_applicable, other);
  result.level = Combine(result.verdicts);  // nothing left is UNKNOWN
}

// On a large site nearly all of the memory is verdicts that nobody reads.
void LetPassesGo(GateResult& result) {
  result.more_passes =
      std::erase_if(result.verdicts, [](const Verdict& v) { return v.level == Level::kPass; });
  result.verdicts.shrink_to_fit();
}

std::vector<int> GatesOf(const CheckOptions& options, const Catalogue& catalogue) {
  if (!options.gates.empty()) return options.gates;
  std::vector<int> gates = {1, 2, 3, 4, 5};
  if (!options.only.empty()) {
    gates.clear();
    for (const std::string& code : options.only) gates.push_back(catalogue.Find(code)->gate);
    std::sort(gates.begin(), gates.end());
    gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
  }
  return gates;
}

}  // namespace

Result<std::vector<GateResult>> CheckSite(SiteContext& context, const CheckOptions& options,
                                          Progress& progress) {
  TRY_VOID(KnownCodes(*context.catalogue, options.only));
  TRY(const std::vector<std::string> nodes, NodesOf(context.site(), options));
  std::vector<GateResult> results;
  for (const int gate : GatesOf(options, *context.catalogue)) {
    const Duration began = context.world.clock.Monotonic();
    Evidence evidence = LookAtGate(context, gate, nodes, "", false, false, progress);
    GateResult result =
        JudgeEvidence(context.site(), *context.catalogue, gate, nodes,
                      std::move(evidence).TakeAll(), context.world.clock.Now(), Proofs::kNotRun);
    KeepOnly(result, options.only);
    if (!options.keep_passes) LetPassesGo(result);
    result.took = context.world.clock.Monotonic() - began;
    results.push_back(std::move(result));
  }
  return results;
}

Result<std::vector<GateResult>> CheckCapture(World& world, const Catalogue& catalogue,
                                             const CheckOptions& options) {
  TRY_VOID(KnownCodes(catalogue, options.only));
  TRY(const CaptureSet set, ReadCapture(world.files, options.replay));
  const auto site_of = [&]() -> Result<Site> {
    if (options.replay_site.empty()) return ParseSite(set.site_text, options.replay + "/site.yaml");
    TRY(LoadedSite loaded, ReadSiteFile(world.files, options.replay_site));
    return std::move(loaded.site);
  };
  TRY(const Site site, site_of());
  TRY(const std::vector<std::string> nodes, NodesOf(site, options));
  Observations all;
  TimePoint latest{};
  for (const Reading& reading : set.readings) {
    latest = std::max(latest, reading.at);
    if (auto seen = Understand(reading)) all.insert(all.end(), seen->begin(), seen->end());
  }
  std::vector<GateResult> results;
  for (const int gate : GatesOf(options, catalogue)) {
    Observations observations = all;
    Observations derived = Derive(site, gate, nodes, all);
    observations.insert(observations.end(), derived.begin(), derived.end());
    // Judged as of the moment it was captured: a field report does not grow stale on its way here.
    GateResult result =
        JudgeEvidence(site, catalogue, gate, nodes, observations, latest, Proofs::kNotRun);
    KeepOnly(result, options.only);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace muster
