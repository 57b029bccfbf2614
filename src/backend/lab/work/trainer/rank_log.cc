#include "backend/lab/work/trainer/rank_log.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::lab {
namespace {

using LineJson = nlohmann::ordered_json;

LineJson Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// Text from outside (a node's name, an error) need not be UTF-8.
std::string Line(const LineJson& json) {
  return json.dump(-1, ' ', false, LineJson::error_handler_t::replace) + "\n";
}

std::string Thousands(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

double GiB(uint64_t bytes) { return static_cast<double>(bytes) / (1u << 30); }

}  // namespace

std::string StartLine(const RankIdentity& identity, TimePoint at) {
  return Line({{"event", "start"},
               {"rank", identity.rank},
               {"world", identity.world},
               {"local_rank", identity.local_rank},
               {"node", identity.node},
               {"unix_s", Seconds(at.time_since_epoch())}});
}

std::string ConfigLine(const ModelShape& shape, int tokens_per_step, std::string_view gemm) {
  return Line({{"event", "config"},
               {"flops_per_token", shape.FlopsPerToken()},
               {"parameters", shape.Parameters()},
               {"tokens_per_step", tokens_per_step},
               {"dtype", "fp32"},
               {"gemm", gemm},
               {"smoke", true}});
}

std::string StepLine(const StepRecord& step) {
  LineJson json = {{"event", "step"},
                   {"step", step.step},
                   {"loss", Number(step.loss)},
                   {"local_loss", Number(step.local_loss)},
                   {"grad_norm", Number(step.grad_norm)},
                   {"step_time_s", Seconds(step.step_time)},
                   {"compute_time_s", Seconds(step.compute_time)},
                   {"tokens", step.tokens}};
  if (step.skipped) json["skipped"] = true;
  return Line(json);
}

std::string CheckpointLine(const std::string& folder, const ShardRecord& shard) {
  return Line({{"event", "checkpoint"},
               {"folder", folder},
               {"file", shard.file},
               {"bytes", shard.bytes},
               {"sha256", shard.sha256},
               {"written", true}});
}

std::string CheckpointErrorLine(const std::string& folder, const std::string& file,
                                const Error& error) {
  return Line({{"event", "checkpoint"},
               {"folder", folder},
               {"file", file},
               {"written", false},
               {"error", error.ToString()}});
}

std::string ManifestLine(const std::string& folder, const Status& written) {
  LineJson json = {{"event", "manifest"}, {"folder", folder}, {"written", written.ok()}};
  if (!written.ok()) json["error"] = written.error().ToString();
  return Line(json);
}

std::string ErrorLine(const Error& error) {
  return Line({{"event", "error"}, {"code", ToString(error.code)}, {"what", error.ToString()}});
}

std::string EndLine(const EndRecord& end) {
  return Line({{"event", "end"},
               {"steps", end.steps},
               {"peak_flops", end.peak_flops},
               {"mfu", Number(end.mfu)},
               {"step_time_s", end.step_time_s},
               {"wall_s", Seconds(end.wall)}});
}

std::string TitanLine(const EndRecord& end) {
  const double share = end.memory_bytes > 0 ? 100.0 * static_cast<double>(end.resident_bytes) /
                                                  static_cast<double>(end.memory_bytes)
                                            : 0;
  return fmt::format(
      "step: {:2}  loss: {:7.4f}  grad_norm: {:7.4f}  memory: {:5.2f}GiB({:.2f}%)  tps: {}  "
      "tflops: {:.4f}  mfu: {:.2f}%\n",
      end.steps, end.loss, end.grad_norm, GiB(end.resident_bytes), share,
      Thousands(end.tokens_per_s), end.flops / 1e12, 100 * end.mfu);
}

}  // namespace muster::lab
