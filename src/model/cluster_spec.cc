// The one-line spec of a cluster: "nodes=4,gpus=8,...". Apart from cluster.cc, which builds.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "model/cluster.h"

namespace muster {

namespace {

struct IntKey {
  std::string_view name;
  int ClusterSpec::* field;
  int lowest, highest;
};
constexpr IntKey kIntKeys[] = {
    {"nodes", &ClusterSpec::nodes, 1, 1024},  {"gpus", &ClusterSpec::gpus, 0, 16},
    {"numa", &ClusterSpec::numa, 1, 8},       {"rails", &ClusterSpec::rails, 0, 16},
    {"leaves", &ClusterSpec::leaves, 0, 256}, {"spines", &ClusterSpec::spines, 0, 128},
};
const std::vector<std::string> kKeys = {"nodes",  "gpus",   "numa", "rails",
                                        "leaves", "spines", "rate", "model"};

// Gb/s of 4X links: QDR, FDR10, FDR, EDR, HDR100 (2X), HDR, NDR200 (2X), NDR, XDR, and the Ethernet
// speeds.
constexpr double kLowestRate = 10, kHighestRate = 1600;

Status SetKey(ClusterSpec& spec, std::string_view key, std::string_view value) {
  for (const IntKey& known : kIntKeys) {
    if (known.name != key) continue;
    const auto number = ParseInt(value);
    if (!number.ok() || *number < known.lowest || *number > known.highest) {
      return Fail(Code::kInvalid, fmt::format("{}={}: expected a whole number from {} to {}", key,
                                              Printable(value), known.lowest, known.highest));
    }
    spec.*known.field = static_cast<int>(*number);
    return {};
  }
  if (key == "rate") {
    const auto number = ParseDouble(value);
    if (!number.ok() || *number < kLowestRate || *number > kHighestRate) {
      return Fail(Code::kInvalid,
                  fmt::format("rate={}: expected a link rate in Gb/s from {} to {}, as 400",
                              Printable(value), kLowestRate, kHighestRate));
    }
    spec.rate_gbit_per_s = *number;
    return {};
  }
  if (key == "model") {
    if (value.empty())
      return Fail(Code::kInvalid, "model=: expected a GPU model, as NVIDIA H100 80GB HBM3");
    spec.gpu_model = std::string(value);
    return {};
  }
  const auto near = Nearest(key, kKeys);
  return Fail(Code::kInvalid, fmt::format("unknown key \"{}\"{}; the keys are {}", Printable(key),
                                          near ? fmt::format(", did you mean \"{}\"?", *near) : "",
                                          fmt::join(kKeys, ", ")));
}

// What was not said follows from what was: enough leaves of 32 host ports, half as many spines,
// none without NICs.
void FillTree(ClusterSpec& spec, const std::set<std::string, std::less<>>& said) {
  const bool flat = said.contains("leaves") && spec.leaves == 0;
  if (flat && !said.contains("rails")) spec.rails = 0;
  if (!said.contains("leaves")) {
    const int nics = spec.nodes * spec.rails;
    int leaves = std::clamp((nics + 31) / 32, 2, 128);
    if (leaves > spec.rails && spec.rails > 0)
      leaves = (leaves + spec.rails - 1) / spec.rails * spec.rails;
    spec.leaves = nics == 0 ? 0 : leaves;
  }
  if (!said.contains("spines")) {
    spec.spines = spec.leaves == 0 ? 0 : spec.leaves == 1 ? 0 : std::clamp(spec.leaves / 2, 2, 32);
  }
}

Status CheckTogether(const ClusterSpec& spec) {
  if (spec.leaves == 0 && spec.spines > 0) {
    return Fail(
        Code::kInvalid,
        fmt::format("spines={} with leaves=0: spines join leaves, there are none", spec.spines));
  }
  if (spec.leaves > 1 && spec.spines == 0) {
    return Fail(Code::kInvalid,
                fmt::format("leaves={} with spines=0: nothing would join the leaves", spec.leaves));
  }
  // A port number has eight bits, and 255 means "all" (InfiniBand Architecture 1.2.1, 4.1.1
  // and 13.2.5).
  const Cluster cluster = BuildCluster(spec);
  for (const Link& link : cluster.links) {
    for (const PortRef* end : {&link.a, &link.b}) {
      if (end->port > 254) {
        return Fail(Code::kInvalid, fmt::format("{} would need port {}; a switch has at most 254: "
                                                "ask for more leaves or fewer nodes",
                                                end->device, end->port));
      }
    }
  }
  return {};
}

}  // namespace

Result<ClusterSpec> ParseClusterSpec(std::string_view text) {
  ClusterSpec spec;
  std::set<std::string, std::less<>> said;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view item = Trim(part);
    if (item.empty() && Trim(text).empty()) break;  // an empty spec is the default lab
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return Fail(
          Code::kInvalid,
          fmt::format("\"{}\" is not key=value; a spec reads nodes=4,gpus=8", Printable(item)));
    }
    const std::string_view key = Trim(item.substr(0, equals));
    TRY_VOID(SetKey(spec, key, Trim(item.substr(equals + 1))));
    if (!said.insert(std::string(key)).second) {
      return Fail(Code::kInvalid, fmt::format("\"{}\" is said twice", key));
    }
  }
  FillTree(spec, said);
  TRY_VOID(CheckTogether(spec));
  return spec;
}

std::string FormatClusterSpec(const ClusterSpec& spec) {
  return fmt::format("nodes={},gpus={},numa={},rails={},leaves={},spines={},rate={},model={}",
                     spec.nodes, spec.gpus, spec.numa, spec.rails, spec.leaves, spec.spines,
                     spec.rate_gbit_per_s, spec.gpu_model);
}

}  // namespace muster
