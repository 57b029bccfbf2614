#include "probes/dcgm/diag.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/dcgm/diag_document.h"

namespace muster::dcgm {
namespace {

// What level 3 owes on every data-centre GPU (NvidiaValidationSuite.cpp of DCGM 3.3.9 and 4.6.0).
constexpr std::array<std::string_view, 7> kOwed = {
    "software",         "memory",          "pcie",          "diagnostic",
    "memory_bandwidth", "targeted_stress", "targeted_power"};

bool IsOwed(std::string_view name) {
  return std::find(kOwed.begin(), kOwed.end(), name) != kOwed.end();
}

// 3.x prints the software test as nine tests of the category Deployment.
std::string_view Family(const DiagTest& test) {
  if (EqualsIgnoreCase(test.category, "Deployment")) return "software";
  return test.name;
}

int Rank(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return 0;
    case Outcome::kWarn:
      return 1;
    case Outcome::kSkip:
      return 2;
    case Outcome::kFail:
      return 3;
    case Outcome::kUnreadable:
      return 4;
  }
  return 4;
}

// What one GPU went through.
struct GpuRecord {
  std::map<std::string_view, Outcome> owed;  // worst of each owed test
  Outcome worst = Outcome::kPass;
  std::string witness;     // the test that made it the worst
  std::string unreadable;  // a test whose status cannot be read
  int64_t hidden = 0;
  std::string hidden_text;
};

// `covers`: the result is this GPU's own, so it pays what the level owes; a summary or a nameless
// result only adds bad news.
void Note(GpuRecord& record, const DiagTest& test, const DiagResult& result, bool covers) {
  const std::string_view family = Family(test);
  const Outcome outcome = result.outcome;
  if (outcome == Outcome::kUnreadable) {
    if (record.unreadable.empty()) record.unreadable = test.name;
    return;
  }
  if (covers && IsOwed(family)) {
    auto [found, fresh] =
        record.owed.try_emplace(*std::find(kOwed.begin(), kOwed.end(), family), outcome);
    if (!fresh && Rank(outcome) > Rank(found->second)) found->second = outcome;
  }
  if (outcome == Outcome::kPass && result.complaints > 0) {
    record.hidden += result.complaints;
    if (record.hidden_text.empty())
      record.hidden_text = fmt::format("{}: Pass, {}", test.name, result.first_complaint);
  }
  if (outcome == Outcome::kSkip && !(covers && IsOwed(family))) return;
  if (Rank(outcome) > Rank(record.worst) || record.witness.empty()) {
    record.worst = outcome;
    record.witness = result.complaints > 0 ? fmt::format("{}: {}, {}", test.name, ToString(outcome),
                                                         result.first_complaint)
                                           : fmt::format("{}: {}", test.name, ToString(outcome));
  }
}

// The summary speaks for the node only in what no GPU's own result already says.
bool SummaryAdds(const DiagTest& test) {
  if (!test.has_summary) return false;
  const bool any_gpu = std::any_of(test.results.begin(), test.results.end(),
                                   [](const auto& r) { return !r.gpus.empty(); });
  if (!any_gpu || test.summary.complaints > 0) return true;
  return std::none_of(test.results.begin(), test.results.end(),
                      [&](const auto& r) { return Rank(r.outcome) >= Rank(test.summary.outcome); });
}

using Records = std::map<int, GpuRecord>;

void NoteTest(const DiagTest& test, Records& records) {
  for (const DiagResult& result : test.results) {
    if (result.gpus.empty())
      for (auto& [index, record] : records) Note(record, test, result, !result.nameless);
    for (int gpu : result.gpus) Note(records[gpu], test, result, true);
  }
  if (SummaryAdds(test))
    for (auto& [index, record] : records) Note(record, test, test.summary, false);
}

void AddGpu(ObservationBuilder& out, const Subject& gpu, const GpuRecord& record) {
  std::string missing;
  for (auto name : kOwed)
    if (!record.owed.contains(name)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  const bool failed = record.worst == Outcome::kFail;
  // A failure is a failure whatever else is missing; everything short of it needs the whole
  // document.
  if (!failed && !record.unreadable.empty()) {
    out.AddUnobserved(gpu, "dcgm.result", UnknownReason::kUnparsable,
                      fmt::format("the status of test {} cannot be read", record.unreadable));
  } else if (!failed && !missing.empty()) {
    out.AddUnobserved(gpu, "dcgm.result", UnknownReason::kNotObserved,
                      fmt::format("the document has no result of {}", missing));
  } else {
    out.Add(gpu, "dcgm.result", std::string(ToString(record.worst)), Unit::kNone, record.witness);
  }
  if (record.hidden > 0 || (record.unreadable.empty() && missing.empty()))
    out.Add(
        gpu, "dcgm.hidden_errors", record.hidden, Unit::kCount,
        record.hidden > 0 ? record.hidden_text : std::string("no warning inside a passed test"));
  else
    out.AddUnobserved(gpu, "dcgm.hidden_errors", UnknownReason::kNotObserved,
                      missing.empty()
                          ? fmt::format("the status of test {} cannot be read", record.unreadable)
                          : fmt::format("the document has no result of {}", missing));
}

bool Ran(const DiagTest& test) {
  auto ran = [](const DiagResult& r) {
    return r.outcome != Outcome::kSkip && r.outcome != Outcome::kUnreadable;
  };
  return std::any_of(test.results.begin(), test.results.end(), ran) ||
         (test.results.empty() && test.has_summary && ran(test.summary));
}

Observations Nothing(const Reading& reading, UnknownReason reason, std::string_view detail) {
  ObservationBuilder out(reading);
  for (std::string_view fact : {"dcgm.result", "dcgm.hidden_errors", "dcgm.tests_run"})
    out.AddUnobserved(NodeSubject(reading.host), fact, reason, detail);
  return out.Take();
}

}  // namespace

Observations ParseDiag(const Reading& reading) {
  const auto document = ReadDiag(reading.text);
  if (!document.ok()) {
    // The reason is often on a line of its own: "Error: unable to establish a connection to the
    // specified host: localhost".
    const auto lines = Lines(reading.text);
    const auto said = std::find_if(lines.begin(), lines.end(),
                                   [](auto line) { return StartsWith(Trim(line), "Error:"); });
    if (said != lines.end()) return Nothing(reading, UnknownReason::kToolFault, *said);
    return Nothing(reading, UnknownReason::kUnparsable,
                   fmt::format("{} (exit code {})", document.error().message, reading.exit_code));
  }
  if (!document->runtime_error.empty())
    return Nothing(reading, UnknownReason::kToolFault, document->runtime_error);
  if (document->gpus.empty())
    return Nothing(reading, UnknownReason::kNotObserved, "the diagnostic names no GPU");

  Records records;
  for (int gpu : document->gpus) records[gpu];
  for (const auto& test : document->tests) NoteTest(test, records);
  ObservationBuilder out(reading, document->version);
  for (const auto& [index, record] : records) AddGpu(out, GpuSubject(reading.host, index), record);
  const auto ran = std::count_if(document->tests.begin(), document->tests.end(), Ran);
  out.Add(NodeSubject(reading.host), "dcgm.tests_run", static_cast<int64_t>(ran), Unit::kCount,
          fmt::format("{} of {} tests ran", ran, document->tests.size()));
  return out.Take();
}

}  // namespace muster::dcgm
