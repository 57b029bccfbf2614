#include "measure/collective/derive.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace muster {
namespace {

Observation From(const Observation& parent, Subject subject, std::string_view fact, Unit unit) {
  Observation derived = parent;
  derived.subject = std::move(subject);
  derived.fact = fact;
  derived.unit = unit;
  return derived;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

const double* Number(const Observation& observation) {
  return observation.value() == nullptr ? nullptr : std::get_if<double>(observation.value());
}

}  // namespace

Observation PlateauRatio(const Observation& plateau, const Result<Ceiling>& ceiling, size_t nodes,
                         const Observation* algorithm) {
  Observation ratio = From(plateau, plateau.subject, "collective.plateau_ratio", Unit::kRatio);
  const double* value = Number(plateau);
  if (value == nullptr) return ratio;  // with the plateau's own reason
  if (!ceiling.ok() || ceiling->gbyte_per_s <= 0) {
    ratio.seen =
        Unobserved{UnknownReason::kNotObserved,
                   ceiling.ok() ? "the ceiling is 0" : "no ceiling: " + ceiling.error().message};
    return ratio;
  }
  const std::string* name = nullptr;
  if (algorithm != nullptr && algorithm->value() != nullptr)
    name = std::get_if<std::string>(algorithm->value());
  if (HidesAdapters(nodes, name == nullptr ? "" : *name)) {
    ratio.seen = Unobserved{UnknownReason::kNotObserved,
                            fmt::format("two nodes on {}: a tree prints more than the adapters "
                                        "carry, measure with NCCL_ALGO=Ring",
                                        name == nullptr ? "an unknown algorithm" : *name)};
    return ratio;
  }
  ratio.seen = Value(*value / ceiling->gbyte_per_s);
  ratio.excerpt =
      fmt::format("{:.1f} of {:.1f} GB/s: {}", *value, ceiling->gbyte_per_s, ceiling->basis);
  return ratio;
}

Observations RatiosToMedian(std::span<const PartPlateau> parts, std::string_view fact) {
  std::vector<double> values;
  for (const PartPlateau& part : parts) {
    if (const double* value = Number(part.plateau)) values.push_back(*value);
  }
  Observations ratios;
  const double median = values.empty() ? 0 : Median(values);
  for (const PartPlateau& part : parts) {
    Observation ratio = From(part.plateau, part.subject, fact, Unit::kRatio);
    const double* value = Number(part.plateau);
    if (value != nullptr && (values.size() < 2 || median <= 0)) {
      ratio.seen = Unobserved{UnknownReason::kTooFewSamples,
                              fmt::format("{} measured: no other to compare with", values.size())};
    } else if (value != nullptr) {
      ratio.seen = Value(*value / median);
      ratio.excerpt =
          fmt::format("{:.1f} GB/s, the median of {} is {:.1f}", *value, values.size(), median);
    }
    ratios.push_back(std::move(ratio));
  }
  return ratios;
}

std::vector<std::string> CurveOddities(const nccl_tests::CollectiveRun& run) {
  std::vector<std::string> odd;
  auto rows = nccl_tests::RowsFrom(run, uint64_t{1} << 20);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  double best = 0;
  const nccl_tests::CollectiveRow* before = nullptr;
  for (const auto* row : rows) {
    if (row->Busbw() < 0.85 * best) {
      odd.push_back(fmt::format("{} B: {:.1f} GB/s, though smaller messages reached {:.1f}",
                                row->bytes, row->Busbw(), best));
    }
    best = std::max(best, row->Busbw());
    if (before != nullptr && row->bytes > before->bytes && row->out_of_place &&
        before->out_of_place && row->out_of_place->time_us < 0.9 * before->out_of_place->time_us) {
      odd.push_back(fmt::format("{} B take {:.0f} us, less than the {:.0f} us of {} B", row->bytes,
                                row->out_of_place->time_us, before->out_of_place->time_us,
                                before->bytes));
    }
    before = row;
  }
  double low = 0, high = 0;
  for (const auto* row : nccl_tests::RowsFrom(run, nccl_tests::kPlateauBytes)) {
    low = low <= 0 ? row->Busbw() : std::min(low, row->Busbw());
    high = std::max(high, row->Busbw());
    if (!row->out_of_place || !row->in_place) continue;
    const double gap = std::abs(row->out_of_place->busbw - row->in_place->busbw);
    if (gap > 0.1 * std::max(row->out_of_place->busbw, row->in_place->busbw)) {
      odd.push_back(fmt::format("{} B: {:.1f} GB/s out of place, {:.1f} in place", row->bytes,
                                row->out_of_place->busbw, row->in_place->busbw));
    }
  }
  if (low < 0.9 * high)
    odd.push_back(fmt::format("rows of 1 GiB and more run from {:.1f} to {:.1f} GB/s", low, high));
  return odd;
}

}  // namespace muster
