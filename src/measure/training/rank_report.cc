#include "measure/training/rank_report.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::training {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOurs = "{\"event\":";

// A number, or the words that stand for those JSON has not.
Result<double> Figure(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return Fail(Code::kParse, fmt::format("{} is missing", key));
  if (found->is_number()) return found->get<double>();
  if (found->is_string()) {
    const auto& word = found->get_ref<const std::string&>();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
  }
  return Fail(Code::kParse, fmt::format("{} is not a number", key));
}

// A finite number above zero: times and speeds.
Result<double> Positive(const Json& json, const char* key) {
  TRY(const double figure, Figure(json, key));
  if (!std::isfinite(figure) || figure <= 0)
    return Fail(Code::kParse, fmt::format("{} is not above zero", key));
  return figure;
}

Result<std::string> Text(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string())
    return Fail(Code::kParse, fmt::format("{} is not text", key));
  return found->get<std::string>();
}

Result<bool> Flag(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_boolean())
    return Fail(Code::kParse, fmt::format("{} is not true or false", key));
  return found->get<bool>();
}

Result<int64_t> Whole(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer())
    return Fail(Code::kParse, fmt::format("{} is not a whole number", key));
  return found->get<int64_t>();
}

Status TakeStep(const Json& json, std::string_view line, RankReport& report) {
  StepReport step;
  TRY(step.step, Whole(json, "step"));
  TRY(step.loss, Figure(json, "loss"));
  TRY(step.local_loss, Figure(json, "local_loss"));
  TRY(step.step_time_s, Positive(json, "step_time_s"));
  TRY(step.compute_time_s, Positive(json, "compute_time_s"));
  TRY(step.tokens, Positive(json, "tokens"));
  if (!report.steps.empty() && step.step != report.steps.back().step + 1) {
    return Fail(Code::kParse,
                fmt::format("step {} follows step {}", step.step, report.steps.back().step));
  }
  step.line = std::string(line);
  report.steps.push_back(std::move(step));
  return {};
}

Status TakeShard(const Json& json, RankReport& report) {
  ShardReport shard;
  TRY(shard.folder, Text(json, "folder"));
  TRY(shard.file, Text(json, "file"));
  TRY(shard.written, Flag(json, "written"));
  if (Contains(shard.file, "/")) return Fail(Code::kParse, "file names a folder");
  if (shard.written) {
    TRY(const int64_t bytes, Whole(json, "bytes"));
    TRY(shard.sha256, Text(json, "sha256"));
    if (bytes < 0 || shard.sha256.size() != 64) return Fail(Code::kParse, "bytes or sha256");
    shard.bytes = static_cast<uint64_t>(bytes);
  } else {
    TRY(shard.error, Text(json, "error"));
  }
  report.shard = std::move(shard);
  return {};
}

Status TakeStart(const Json& json, RankReport& report) {
  TRY(const int64_t rank, Whole(json, "rank"));
  if (rank != report.rank) {
    return Fail(Code::kParse,
                fmt::format("the log of rank {} says that it is rank {}", report.rank, rank));
  }
  TRY(report.started_unix_s, Positive(json, "unix_s"));
  return {};
}

Status TakeConfig(const Json& json, RankReport& report) {
  TRY(report.flops_per_token, Positive(json, "flops_per_token"));
  TRY(report.smoke, Flag(json, "smoke"));
  return {};
}

Status Take(const Json& json, std::string_view line, RankReport& report) {
  TRY(const std::string event, Text(json, "event"));
  if (event == "start") return TakeStart(json, report);
  if (event == "config") return TakeConfig(json, report);
  if (event == "step") return TakeStep(json, line, report);
  if (event == "checkpoint") return TakeShard(json, report);
  if (event == "manifest") {
    TRY(report.manifest_written, Flag(json, "written"));
  } else if (event == "error") {
    TRY(std::string what, Text(json, "what"));
    report.errors.push_back(std::move(what));
  } else if (event == "end") {
    TRY(const int64_t steps, Whole(json, "steps"));
    TRY(report.peak_flops, Positive(json, "peak_flops"));
    if (report.steps.empty() || report.steps.back().step != steps)
      return Fail(Code::kParse, fmt::format("the end says {} steps, the log has not", steps));
    report.ended = true;
  }
  return {};
}

}  // namespace

RankReport ParseRankLog(int rank, std::string node, int exit_code, std::string_view text) {
  RankReport report;
  report.rank = rank;
  report.node = std::move(node);
  report.exit_code = exit_code;
  for (const std::string_view raw : Lines(text)) {
    const std::string_view line = Trim(raw);
    // A cut first line is shorter than the mark of our lines.
    const bool ours = StartsWith(line, kOurs) || (!line.empty() && StartsWith(kOurs, line));
    if (!ours) continue;
    const Json json = Json::parse(line, nullptr, false);
    const Status taken = json.is_object() ? Take(json, line, report)
                                          : Status(Fail(Code::kParse, "not a whole JSON object"));
    if (!taken.ok() && report.damage.empty()) {
      report.damage =
          fmt::format("rank {}: {}: {}", rank, taken.error().message, Shorten(Printable(line), 80));
    }
  }
  return report;
}

std::vector<int> NamedMissing(const RankReport& report) {
  constexpr std::string_view kWords = "missing rank ";
  std::vector<int> ranks;
  for (const std::string& error : report.errors) {
    const size_t at = error.find(kWords);
    if (at == std::string::npos) continue;
    for (const std::string_view word :
         Split(std::string_view(error).substr(at + kWords.size()), ',')) {
      if (const auto n = ParseInt(Trim(word)); n.ok() && *n >= 0 && *n < 1'000'000)
        ranks.push_back(static_cast<int>(*n));
    }
  }
  return ranks;
}

}  // namespace muster::training
