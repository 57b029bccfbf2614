#include "probes/infiniband/ibdiagnet.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

// "Bad GUIDs/LIDs Check                     0      0     ": name, then two numbers; generation 2
// may add a comment.
std::optional<IbdiagnetStage> ReadStage(std::string_view line, int generation) {
  const auto words = SplitBlank(line);
  // The first two neighbouring words that are both numbers; names hold digits but no such pair.
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const auto first = ParseInt(words[i]), second = ParseInt(words[i + 1]);
    if (!first.ok() || !second.ok() || *first < 0 || *second < 0) continue;
    IbdiagnetStage stage;
    const size_t end = static_cast<size_t>(words[i].data() - line.data());
    stage.name = std::string(Trim(line.substr(0, end)));
    stage.errors = generation == 1 ? *first : *second;
    stage.warnings = generation == 1 ? *second : *first;
    stage.excerpt = std::string(Trim(line));
    return stage;
  }
  return std::nullopt;
}

int TableHeading(std::string_view line) {
  const auto words = SplitBlank(line);
  if (words.size() >= 3 && words[0] == "STAGE" && words[1] == "Errors" && words[2] == "Warnings") {
    return 1;
  }
  if (words.size() >= 4 && words[0] == "-I-" && words[1] == "Stage" && words[2] == "Warnings" &&
      words[3] == "Errors") {
    return 2;
  }
  return 0;
}

}  // namespace

Ibdiagnet ParseIbdiagnet(std::string_view text) {
  Ibdiagnet result;
  for (const std::string_view line : WholeLines(text)) {
    if (StartsWith(line, "-E-") && result.complaint.empty()) result.complaint = std::string(line);
    if (const int generation = TableHeading(line)) {
      // Of several runs in one text the last counts.
      result = Ibdiagnet{generation, {}, {}, false, std::move(result.complaint)};
      continue;
    }
    if (result.generation == 0) continue;
    if (result.generation == 1) {
      if (StartsWith(line, "-I- Done. Run time was ")) result.complete = true;
      if (!StartsWith(line, "    ")) continue;
    } else {
      if (Contains(line, "You can find detailed errors/warnings in:")) result.complete = true;
      if (!StartsWith(line, "-I- ") || result.complete) continue;
    }
    const std::string_view row = result.generation == 1 ? line : line.substr(4);
    if (Trim(row).empty()) continue;
    if (auto stage = ReadStage(row, result.generation)) {
      result.stages.push_back(std::move(*stage));
    } else {
      result.unread.push_back(std::string(Trim(row)));
    }
  }
  return result;
}

Observations ParseIbdiagnetReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  const Subject fabric{SubjectKind::kFabric, std::string(kFabricId)};
  const Ibdiagnet diag = ParseIbdiagnet(reading.text);
  int64_t errors = 0;
  const IbdiagnetStage* worst = nullptr;
  for (const IbdiagnetStage& stage : diag.stages) {
    errors += stage.errors;
    if (worst == nullptr || stage.errors > worst->errors) worst = &stage;
  }
  const auto unknown = [&](UnknownReason reason, std::string_view detail) {
    builder.AddUnobserved(fabric, "ibdiagnet.errors", reason, detail);
  };
  // Errors that were counted stand, however the run went on; their absence does not.
  if (errors > 0) {
    builder.Add(fabric, "ibdiagnet.errors", errors, Unit::kCount, worst->excerpt);
  } else if (reading.exit_code >= 128) {
    unknown(UnknownReason::kToolFault,
            fmt::format("ibdiagnet ended by a signal (exit {})", reading.exit_code));
  } else if (diag.stages.empty()) {
    unknown(UnknownReason::kUnparsable, "no stage table");
  } else if (!diag.complete) {
    unknown(UnknownReason::kUnparsable, "the output ends before ibdiagnet's last line");
  } else if (!diag.unread.empty()) {
    unknown(UnknownReason::kNotObserved, fmt::format("no result for stage \"{}\"", diag.unread[0]));
  } else if (!diag.complaint.empty()) {
    unknown(UnknownReason::kUnparsable,
            fmt::format("no stage counts an error, and yet: {}", diag.complaint));
  } else {
    builder.Add(fabric, "ibdiagnet.errors", int64_t{0}, Unit::kCount,
                fmt::format("{} stages, 0 errors", diag.stages.size()));
  }
  return builder.Take();
}

}  // namespace muster::infiniband
