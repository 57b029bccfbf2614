// The report as JUnit, for systems that collect test results: a suite a gate, a case a verdict.
#include <algorithm>

#include <fmt/format.h>

#include "app/report/report.h"
#include "base/strings.h"
#include "measure/training/rank_report.h"

namespace muster {

namespace {

std::string Suite(const GateResult& r, const Catalogue& catalogue) {
  const GateInfo* info = catalogue.Gate(r.gate);
  const auto count = [&](Level level) {
    return std::count_if(r.verdicts.begin(), r.verdicts.end(),
                         [&](const Verdict& v) { return v.level == level; });
  };
  const size_t blocked = r.blocked_by.empty() ? 0 : 1;
  std::string xml = fmt::format(
      "  <testsuite name=\"gate {} {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n",
      r.gate, EscapeXml(info == nullptr ? "" : info->name),
      r.verdicts.size() + r.not_applicable.size() + blocked, count(Level::kFail),
      static_cast<size_t>(count(Level::kUnknown)) + blocked, r.not_applicable.size(),
      Seconds(r.took));
  if (blocked != 0)
    xml += fmt::format(
        "    <testcase classname=\"gate {}\" name=\"observed\"><error "
        "message=\"{}\"/></testcase>\n",
        r.gate, EscapeXml(r.blocked_by));
  for (const Verdict& v : r.verdicts) {
    xml += fmt::format("    <testcase classname=\"gate {}.{}\" name=\"{}\"", r.gate, v.code,
                       EscapeXml(v.subject.ToString()));
    if (v.level == Level::kPass) {
      xml += "/>\n";
    } else {
      const char* tag = v.level == Level::kFail      ? "failure"
                        : v.level == Level::kUnknown ? "error"
                                                     : "system-out";
      xml +=
          v.level == Level::kWarn
              ? fmt::format("><system-out>warning: {}</system-out></testcase>\n", EscapeXml(v.text))
              : fmt::format("><{} message=\"{}\"/></testcase>\n", tag, EscapeXml(v.text));
    }
  }
  for (const NotApplicable& n : r.not_applicable) {
    xml += fmt::format(
        "    <testcase classname=\"gate {}.{}\" name=\"{}\"><skipped message=\"{}\"/></testcase>\n",
        r.gate, n.code, EscapeXml(n.title), EscapeXml(n.reason));
  }
  return xml + "  </testsuite>\n";
}

}  // namespace

std::string ReportJunit(const ReportInput& in) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const GateRecord& record : in.run.gates) {
    if (record.result) xml += Suite(*record.result, in.catalogue);
  }
  return xml + "</testsuites>\n";
}

std::vector<std::pair<double, double>> LossesOf(const Run& run) {
  std::vector<std::pair<double, double>> points;
  const GateRecord* record = run.Find(7);
  if (record == nullptr) return points;
  for (const Reading& reading : record->evidence.readings) {
    if (reading.probe != "measure.training") continue;
    // The logs of all ranks stand one after the other; the first rank's is enough, the loss is the
    // gang's.
    const size_t second = reading.text.find("\n== rank ", 1);
    const auto report =
        training::ParseRankLog(0, "", 0, std::string_view(reading.text).substr(0, second));
    for (const training::StepReport& step : report.steps)
      points.emplace_back(static_cast<double>(step.step), step.loss);
  }
  return points;
}

}  // namespace muster
