#include "app/report/report_parts.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr size_t kNamedSubjects = 4;

std::string UpperLevel(Level level) {
  switch (level) {
    case Level::kPass:
      return "PASS";
    case Level::kWarn:
      return "WARN";
    case Level::kFail:
      return "FAIL";
    case Level::kUnknown:
      return "UNKNOWN";
    case Level::kNotApplicable:
      return "n/a";
  }
  return "UNKNOWN";
}

std::string SubjectsText(const std::vector<const Verdict*>& verdicts, size_t of, bool name_them) {
  const std::string kind(ToString(verdicts.front()->subject.kind));
  if (verdicts.size() == 1 && of == 1) return verdicts.front()->subject.id;
  std::string text = verdicts.size() == of ? fmt::format("{} {}s", of, kind)
                                           : fmt::format("{} of {} {}s", verdicts.size(), of, kind);
  if (!name_them) return text;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kNamedSubjects, verdicts.size()); ++i)
    names.push_back(verdicts[i]->subject.id);
  if (verdicts.size() > kNamedSubjects) names.push_back("...");
  return text + ": " + Join(names, ", ");
}

// What was measured over the verdicts of a row: one value, or how many different ones.
std::string MeasuredText(const std::vector<const Verdict*>& verdicts) {
  std::map<std::string, size_t> values;
  for (const Verdict* v : verdicts) ++values[v->measured];
  if (values.size() == 1) return values.begin()->first;
  if (values.size() <= 3) {
    std::vector<std::string> parts;
    for (const auto& [value, count] : values) parts.push_back(value);
    return Join(parts, ", ");
  }
  return fmt::format("{} .. {}", values.begin()->first, values.rbegin()->first);
}

}  // namespace

std::vector<CriterionRow> RowsOf(const GateResult& result, const Catalogue& catalogue) {
  std::map<std::string, size_t> judged;
  std::map<std::pair<int, std::string>, std::vector<const Verdict*>> groups;
  for (const Verdict& v : result.verdicts) {
    ++judged[v.code];
    const int order = v.level == Level::kFail      ? 0
                      : v.level == Level::kUnknown ? 1
                      : v.level == Level::kWarn    ? 2
                                                   : 3;
    groups[{order, v.code}].push_back(&v);
  }
  std::vector<CriterionRow> rows;
  for (const auto& [key, verdicts] : groups) {
    const Criterion* criterion = catalogue.Find(key.second);
    CriterionRow row;
    row.code = key.second;
    row.title = criterion == nullptr ? "" : criterion->title;
    row.source = criterion == nullptr ? "" : criterion->source;
    row.wanted = verdicts.front()->wanted;
    row.level = verdicts.front()->level;
    row.measured = row.level == Level::kUnknown ? verdicts.front()->text : MeasuredText(verdicts);
    row.verdict = UpperLevel(row.level);
    row.count = verdicts.size();
    row.subjects = SubjectsText(verdicts, judged[key.second], row.level != Level::kPass);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string LevelLabel(const GateResult& result) {
  if (!result.blocked_by.empty()) return "NOT OBSERVED";
  return UpperLevel(result.level) + (result.waived_by.empty() ? "" : " (waived)");
}

}  // namespace muster
