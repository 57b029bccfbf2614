#include "probes/nccl_tests/collective_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nccl_tests/sweep_check.h"

namespace muster::nccl_tests {

double CollectiveRow::Busbw() const {
  if (out_of_place && in_place) return (out_of_place->busbw + in_place->busbw) / 2;
  if (out_of_place) return out_of_place->busbw;
  return in_place ? in_place->busbw : 0;
}

CollectiveRun ParseCollective(std::string_view text) {
  if (Trim(text).starts_with('{')) {
    auto run = ParseCollectiveJson(text);
    if (run.ok()) return *std::move(run);
    CollectiveRun broken;
    broken.damage.push_back(run.error().message);
    return broken;
  }
  return ParseCollectiveText(text);
}

std::vector<const CollectiveRow*> RowsFrom(const CollectiveRun& run, uint64_t from) {
  std::vector<const CollectiveRow*> rows;
  for (const CollectiveRow& row : run.rows) {
    if (row.bytes >= from) rows.push_back(&row);
  }
  return rows;
}

namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Unobserved WhyIncomplete(const CollectiveRun& run) {
  if (!run.failures.empty()) return {UnknownReason::kToolFault, run.failures.front()};
  return {UnknownReason::kUnparsable, run.damage.empty() ? "not complete" : run.damage.front()};
}

// Wrong results are bad news and are told as soon as one is seen; "none" needs the whole run and a
// check that was on.
void AddWrong(const CollectiveRun& run, const Subject& scope, ObservationBuilder& out) {
  constexpr std::string_view kFact = "collective.wrong";
  double wrong = 0;
  std::string line;
  bool checked = !run.rows.empty();
  for (const CollectiveRow& row : run.rows) {
    double of_row = 0;
    bool known = false;
    for (const auto& half : {row.out_of_place, row.in_place}) {
      if (half && half->wrong) {
        known = true;
        of_row += *half->wrong;
      }
    }
    checked = checked && known;
    if (of_row > 0 && line.empty()) line = row.line;
    wrong += of_row;
  }
  if (run.out_of_bounds.value_or(0) > 0 || (run.out_of_bounds && !run.out_of_bounds_ok)) {
    const auto stated = static_cast<double>(std::max<int64_t>(*run.out_of_bounds, 1));
    wrong = std::max(wrong, stated);
    if (line.empty()) line = fmt::format("# Out of bounds values : {} FAILED", *run.out_of_bounds);
  }
  if (wrong > 0) {
    constexpr double kMost = 9e18;
    out.Add(scope, kFact, static_cast<int64_t>(std::ceil(std::min(wrong, kMost))), Unit::kCount,
            line);
  } else if (!run.complete()) {
    const Unobserved why = WhyIncomplete(run);
    out.AddUnobserved(scope, kFact, why.reason, why.detail);
  } else if (!checked) {
    out.AddUnobserved(scope, kFact, UnknownReason::kNotObserved,
                      "results were not checked in every row (N/A): run with -c 1");
  } else {
    out.Add(scope, kFact, int64_t{0}, Unit::kCount, "# Out of bounds values : 0 OK");
  }
}

}  // namespace

Result<double> Plateau(const CollectiveRun& run) {
  if (!run.complete()) return Fail(Code::kInvalid, WhyIncomplete(run).detail);
  if (run.ranks.size() == 1) {
    return Fail(Code::kInvalid, "one rank has no bus bandwidth: the factor 2(n-1)/n is 0");
  }
  std::vector<double> busbw;
  for (const CollectiveRow* row : RowsFrom(run, kPlateauBytes)) busbw.push_back(row->Busbw());
  if (busbw.empty()) return Fail(Code::kInvalid, "no row of 1 GiB or more");
  return Median(std::move(busbw));
}

void AddObservations(const CollectiveRun& run, const Subject& scope, ObservationBuilder& out) {
  AddWrong(run, scope, out);
  if (!run.complete()) {
    const Unobserved why = WhyIncomplete(run);
    for (std::string_view fact : {"collective.rows", "collective.plateau"}) {
      out.AddUnobserved(scope, fact, why.reason, why.detail);
    }
    return;
  }
  const auto rows = RowsFrom(run, kPlateauBytes);
  out.Add(scope, "collective.rows", static_cast<int64_t>(rows.size()), Unit::kCount,
          rows.empty() ? "no row of 1 GiB or more" : rows.back()->line);
  const auto plateau = Plateau(run);
  if (plateau.ok()) {
    out.Add(scope, "collective.plateau", *plateau, Unit::kGBytePerSec, rows.back()->line);
  } else {
    out.AddUnobserved(scope, "collective.plateau",
                      rows.empty() ? UnknownReason::kTooFewSamples : UnknownReason::kNotObserved,
                      plateau.error().message);
  }
}

}  // namespace muster::nccl_tests
