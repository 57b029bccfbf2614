#include "app/baseline.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

struct Kind {
  std::string_view figure, regression;
  bool more_is_better;
};
constexpr std::array kKinds = {
    Kind{"busbw", "fabric", true},
    Kind{"busbw_ratio", "fabric", true},
    Kind{"rdma_pair_rate", "fabric", true},
    Kind{"mfu", "training", true},
    Kind{"step_time", "training", false},
    Kind{"ttft_p99", "inference", false},
    Kind{"tpot_p99", "inference", false},
    Kind{"goodput", "inference", true},
    Kind{"alert_latency", "telemetry", false},
};

const Kind* KindOf(std::string_view figure) {
  for (const Kind& kind : kKinds) {
    if (kind.figure == figure) return &kind;
  }
  return nullptr;
}

// The name becomes that of a file, here and in the archive of a run.
bool IsFileName(std::string_view name) {
  return !name.empty() && name.size() <= 60 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ' ';
         });
}

Result<Baseline> Decode(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    Baseline b;
    b.name = json.at("name").get<std::string>();
    b.run = json.at("run").get<std::string>();
    b.scope = json.at("scope").get<std::string>();
    TRY(b.at, ParseTime(json.at("at").get<std::string>()));
    TRY(b.origin, ParseOrigin(json.at("origin").get<std::string>()));
    for (const auto& [name, q] : json.at("figures").items()) {
      TRY(const Unit unit, ParseUnit(q.at("unit").get<std::string>()));
      b.figures[name] = {q.at("value").get<double>(), unit};
    }
    return b;
  } catch (const Json::exception& e) {
    return Fail(Code::kCorrupt, fmt::format("{} is not a baseline: {}", path, e.what()));
  }
}

}  // namespace

std::map<std::string, Quantity> FiguresOfRun(const Run& run) {
  std::map<std::string, Quantity> figures;
  for (const GateRecord& record : run.gates) {
    if (record.result) figures.insert(record.result->figures.begin(), record.result->figures.end());
  }
  return figures;
}

Result<Baseline> BaselineFromRun(const Run& run, const std::string& name) {
  for (const GateRecord& record : run.gates) {
    if (record.result && !record.result->figures.empty() && !record.result->open()) {
      return Fail(Code::kRefused,
                  fmt::format("gate {} of run {} did not open: a run that failed is no baseline",
                              record.gate, run.header.run));
    }
  }
  Baseline baseline{name,      run.header.run,    run.header.scope,
                    run.ended, run.header.origin, FiguresOfRun(run)};
  if (baseline.figures.empty())
    return Fail(Code::kRefused,
                fmt::format("run {} measured nothing that a baseline holds", run.header.run));
  return baseline;
}

Status SaveBaseline(World& world, const SitePaths& paths, const Baseline& b) {
  if (!IsFileName(b.name)) {
    return Fail(Code::kInvalid,
                fmt::format("\"{}\" cannot name a baseline, expected letters, digits, blanks, - _ "
                            "or . and no . in front, at most 60 of them",
                            Printable(b.name)));
  }
  Json json = {{"apiVersion", "muster/v1"},
               {"kind", "Baseline"},
               {"name", b.name},
               {"run", b.run},
               {"scope", b.scope},
               {"at", FormatTime(b.at)},
               {"origin", ToString(b.origin)},
               {"figures", Json::object()}};
  for (const auto& [name, q] : b.figures)
    json["figures"][name] = {{"value", q.value}, {"unit", ToString(q.unit)}};
  TRY_VOID(world.files.MakeFolders(paths.Baselines()));
  return world.files.WriteAtomic(fmt::format("{}/{}.json", paths.Baselines(), b.name),
                                 json.dump(2) + "\n");
}

Result<std::vector<Baseline>> ListBaselines(Files& files, const SitePaths& paths) {
  auto listed = files.List(paths.Baselines());
  if (!listed.ok()) {
    if (listed.error().code == Code::kNotFound) return std::vector<Baseline>{};
    return tl::unexpected(std::move(listed.error()));
  }
  std::vector<Baseline> baselines;
  for (const FileInfo& info : *listed) {
    if (info.is_directory || !info.name.ends_with(".json")) continue;
    const std::string path = fmt::format("{}/{}", paths.Baselines(), info.name);
    TRY(const std::string text, files.Read(path));
    TRY(Baseline baseline, Decode(text, path));
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

std::vector<Drift> CompareToBaseline(const Baseline& baseline,
                                     const std::map<std::string, Quantity>& now, double tolerance) {
  std::vector<Drift> drifts;
  for (const auto& [figure, was] : baseline.figures) {
    const Kind* kind = KindOf(figure);
    Drift drift{figure,    was,  {std::numeric_limits<double>::quiet_NaN(), was.unit}, 0,
                tolerance, true, std::string(kind == nullptr ? "" : kind->regression)};
    const auto found = now.find(figure);
    if (found != now.end() && found->second.unit == was.unit) {
      drift.is = found->second;
      // What was nothing has no share; any change of it is then a whole one.
      const double difference = drift.is.value - was.value;
      drift.change = was.value != 0    ? difference / std::abs(was.value)
                     : difference == 0 ? 0
                                       : std::copysign(1.0, difference);
      const double loss = kind != nullptr && kind->more_is_better ? -drift.change : drift.change;
      drift.worse = !(loss <= tolerance);  // also when it is no number
    }
    drifts.push_back(std::move(drift));
  }
  return drifts;
}

}  // namespace muster
