#include "sched/packing/openb.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::packing {

namespace {

constexpr int64_t kMostAmount = 1'000'000'000;  // of CPU thousandths and MiB: no sum overflows

// One row of a list, read by the names of the header.
class Rows {
 public:
  static Result<Rows> Open(std::string_view text, std::initializer_list<std::string_view> needed) {
    Rows rows;
    rows.lines_ = Lines(text);
    if (rows.lines_.empty()) return Fail(Code::kParse, "line 1: a header line was expected");
    for (const std::string_view name : Split(rows.lines_[0], ','))
      rows.header_.push_back(Trim(name));
    for (const std::string_view name : needed)
      if (!rows.At(name))
        return Fail(Code::kParse, fmt::format("line 1: there is no column {}", name));
    return rows;
  }
  // False at the end; lines with nothing in them are passed over.
  Result<bool> Next() {
    while (++line_ < lines_.size()) {
      if (Trim(lines_[line_]).empty()) continue;
      fields_ = Split(lines_[line_], ',');
      if (fields_.size() != header_.size())
        return Fail(Code::kParse, fmt::format("line {}: {} fields, the header has {}", line_ + 1,
                                              fields_.size(), header_.size()));
      return true;
    }
    return false;
  }
  std::string_view Text(std::string_view column) const {
    const auto at = At(column);
    return at ? Trim(fields_[*at]) : std::string_view();
  }
  // A whole number of 0 to `most`; an empty field is 0.
  Result<int64_t> Number(std::string_view column, int64_t most) const {
    const std::string_view text = Text(column);
    if (text.empty()) return 0;
    const auto number = ParseInt(text);
    if (!number.ok() || *number < 0 || *number > most)
      return Fail(Code::kParse, Where(column) + fmt::format("{} is no whole number from 0 to {}",
                                                            Printable(Shorten(text, 40)), most));
    return *number;
  }
  std::string Where(std::string_view column) const {
    return fmt::format("line {}, column {}: ", line_ + 1, column);
  }

 private:
  std::optional<size_t> At(std::string_view column) const {
    const auto found = std::find(header_.begin(), header_.end(), column);
    if (found == header_.end()) return std::nullopt;
    return static_cast<size_t>(found - header_.begin());
  }
  std::vector<std::string_view> lines_, header_, fields_;
  size_t line_ = 0;
};

}  // namespace

Result<OpenbNodes> ParseOpenbNodes(std::string_view text) {
  TRY(Rows rows, Rows::Open(text, {"cpu_milli", "memory_mib", "gpu", "model"}));
  OpenbNodes read;
  while (true) {
    TRY(const bool more, rows.Next());
    if (!more) break;
    Residual node;
    TRY(node.cpu_milli, rows.Number("cpu_milli", kMostAmount));
    TRY(node.memory_mib, rows.Number("memory_mib", kMostAmount));
    TRY(const int64_t gpus, rows.Number("gpu", kMaxGpus));
    node.gpus = static_cast<int>(gpus);
    if (node.gpus == 0) {
      ++read.without_gpus;
      continue;
    }
    std::fill_n(node.gpu_left.begin(), node.gpus, static_cast<int16_t>(kWholeGpu));
    const std::string model(rows.Text("model"));
    const auto known = std::find(read.models.begin(), read.models.end(), model);
    node.model = static_cast<int>(known - read.models.begin());
    if (known == read.models.end()) {
      if (read.models.size() == kMaxModels)
        return Fail(Code::kParse,
                    rows.Where("model") + fmt::format("more than {} GPU models", kMaxModels));
      read.models.push_back(model);
    }
    read.nodes.push_back(node);
  }
  if (read.nodes.empty()) return Fail(Code::kParse, "no node of the list has GPUs");
  return read;
}

Result<std::vector<Demand>> ParseOpenbPods(std::string_view text,
                                           const std::vector<std::string>& models) {
  TRY(Rows rows, Rows::Open(text, {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}));
  std::vector<Demand> pods;
  while (true) {
    TRY(const bool more, rows.Next());
    if (!more) break;
    Demand pod;
    TRY(pod.cpu_milli, rows.Number("cpu_milli", kMostAmount));
    TRY(pod.memory_mib, rows.Number("memory_mib", kMostAmount));
    TRY(const int64_t gpus, rows.Number("num_gpu", kMaxGpus));
    TRY(const int64_t milli, rows.Number("gpu_milli", kWholeGpu));
    pod.gpus = static_cast<int>(gpus);
    pod.gpu_milli = pod.gpus == 0 ? 0 : static_cast<int>(milli);
    if (pod.gpus > 0 && (milli == 0 || (pod.gpus > 1 && milli != kWholeGpu)))
      return Fail(Code::kParse,
                  rows.Where("gpu_milli") + fmt::format("{} of {} GPUs", milli, gpus));
    const std::string_view spec = rows.Text("gpu_spec");
    if (!spec.empty() && pod.gpus > 0) {
      for (const std::string_view name : Split(spec, '|')) {
        const auto known = std::find(models.begin(), models.end(), name);
        if (known != models.end()) pod.models |= 1u << (known - models.begin());
      }
      if (pod.models == 0)
        return Fail(Code::kParse, rows.Where("gpu_spec") +
                                      "no node has such GPUs: " + Printable(Shorten(spec, 60)));
    }
    pods.push_back(pod);
  }
  if (pods.empty()) return Fail(Code::kParse, "the list has no pods");
  return pods;
}

}  // namespace muster::packing
