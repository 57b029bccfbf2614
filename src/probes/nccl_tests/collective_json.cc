// Wraps nlohmann::json for the file that nccl-tests writes with -J. Its ways: booleans are the
// strings "true", "false" and "unchecked", a NaN is the string "nan", root is a padded string,
// `env` is the whole environment (not read here), and a crash leaves the document unclosed.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "probes/nccl_tests/collective_run.h"
#include "probes/nccl_tests/sweep_check.h"

namespace muster::nccl_tests {
namespace {

using Json = nlohmann::json;

// The member, or a null that every reader below takes for "not there".
const Json& Member(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto at = object.find(key);
  return at == object.end() ? kNothing : *at;
}

std::optional<double> Number(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> Size(const Json& value) {
  const auto number = Number(value);
  if (!number || *number < 0 || *number > 9e15 || std::floor(*number) != *number)
    return std::nullopt;
  return static_cast<uint64_t>(*number);
}

std::string Text(const Json& value) {
  return value.is_string() ? std::string(Trim(value.get_ref<const std::string&>())) : std::string();
}

Result<Timing> ReadTiming(const Json& half, uint64_t bytes) {
  const bool cpu = Member(half, "time").is_null();
  const auto time = Number(Member(half, cpu ? "cpu_time" : "time"));
  const auto algbw = Number(Member(half, "alg_bw")), busbw = Number(Member(half, "bus_bw"));
  if (!time || !algbw || !busbw || *time < 0 || *algbw < 0 || *busbw < 0) {
    return Fail(Code::kParse, "time, alg_bw or bus_bw is missing or not a number");
  }
  // Printed with six decimals.
  if (!cpu && !Agrees(bytes, {*time, 5e-7}, {*algbw, 5e-7})) {
    return Fail(Code::kParse, fmt::format("{} B in {} us is not {} GB/s", bytes, *time, *algbw));
  }
  Timing timing{*time, *algbw, *busbw, std::nullopt};
  const Json& wrong = Member(half, "nwrong");
  if (const auto count = Number(wrong)) {
    timing.wrong = *count;
  } else if (!wrong.is_null()) {
    return Fail(Code::kParse, "nwrong is neither a number nor null");
  }
  return timing;
}

Result<CollectiveRow> ReadRow(const Json& item) {
  CollectiveRow row;
  const auto bytes = Size(Member(item, "size")), count = Size(Member(item, "count"));
  if (!bytes || !count) return Fail(Code::kParse, "size or count is missing or not a whole number");
  row.bytes = *bytes;
  row.count = *count;
  row.type = Text(Member(item, "type"));
  row.redop = Text(Member(item, "redop"));
  row.root = Text(Member(item, "root"));
  for (const bool out : {true, false}) {
    const Json& half = Member(item, out ? "out_of_place" : "in_place");
    if (half.is_null()) continue;
    TRY(Timing timing, ReadTiming(half, row.bytes));
    (out ? row.out_of_place : row.in_place) = timing;
  }
  if (!row.out_of_place && !row.in_place)
    return Fail(Code::kParse, "neither out_of_place nor in_place");
  row.line = fmt::format("size {} bus_bw {:.2f}", row.bytes, row.Busbw());
  return row;
}

void ReadConfig(const Json& config, CollectiveRun& run) {
  const auto low = Size(Member(config, "minimum_bytes")),
             high = Size(Member(config, "maximum_bytes"));
  const auto factor = Size(Member(config, "step_factor")),
             step = Size(Member(config, "step_bytes"));
  if (low && high && (factor || step)) {
    run.sweep = SweepRange{*low, *high, factor ? *factor : *step, factor.has_value(),
                           Number(Member(config, "validation")).value_or(0) > 0};
  }
  const Json& devices = Member(config, "devices");
  if (!devices.is_array()) return;
  for (const Json& item : devices) {
    const auto rank = Size(Member(item, "rank")), device = Size(Member(item, "device"));
    if (!rank || !device || *rank > 1 << 24) {
      run.damage.emplace_back("an entry of config.devices has no rank or device");
      continue;
    }
    run.ranks.push_back({static_cast<int>(*rank),
                         static_cast<int>(Size(Member(item, "group")).value_or(0)),
                         static_cast<int64_t>(Size(Member(item, "pid")).value_or(0)),
                         Text(Member(item, "hostname")), static_cast<int>(*device),
                         Text(Member(item, "device_hex")), Text(Member(item, "device_info"))});
  }
}

CollectiveRun ReadDocument(const Json& document) {
  CollectiveRun run;
  const Json& version = Member(document, "nccl_version");
  if (const auto code = Size(version)) run.nccl_version = fmt::format("{}", *code);
  ReadConfig(Member(document, "config"), run);
  const Json& args = Member(document, "args");
  if (args.is_array() && !args.empty()) {
    const std::string program = Text(args[0]);
    const std::string name = program.substr(program.rfind('/') + 1);
    run.collective = name.substr(0, name.rfind("_perf"));
  }
  const Json& results = Member(document, "results");
  if (results.is_array()) {
    for (const Json& item : results) {
      auto row = ReadRow(item);
      if (row.ok()) {
        run.rows.push_back(*std::move(row));
      } else {
        run.damage.push_back(row.error().message);
      }
    }
  }
  const Json& bounds = Member(document, "out_of_bounds");
  if (const auto count = Size(Member(bounds, "count"))) {
    run.out_of_bounds = static_cast<int64_t>(*count);
    run.out_of_bounds_ok = *count == 0 && Text(Member(bounds, "okay")) == "true";
  }
  run.average_busbw = Number(Member(Member(document, "average_bus_bandwidth"), "bandwidth"));
  if (Text(Member(document, "end_time")).empty()) run.damage.emplace_back("truncated: no end_time");
  CheckWhole(run);
  return run;
}

}  // namespace

Result<CollectiveRun> ParseCollectiveJson(std::string_view text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return Fail(Code::kParse, "the JSON is not closed or not JSON: the run crashed or is not over");
  }
  if (!document.is_object()) return Fail(Code::kParse, "the JSON is no object");
  return ReadDocument(document);
}

}  // namespace muster::nccl_tests
