// The report as Markdown, JSON and JUnit.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/baseline.h"
#include "app/report/report.h"
#include "app/report/report_parts.h"
#include "base/strings.h"
#include "probes/nccl_tests/collective_run.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

std::string MarkdownCell(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (c == '<') {
      out += "&lt;";  // Markdown lets HTML through
      continue;
    }
    if (c == '|' || c == '`') out += "\\";
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Between backticks: nothing is markup but the backtick.
std::string MarkdownCode(std::string_view text) {
  std::string out = Printable(text);
  std::replace(out.begin(), out.end(), '`', '\'');
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

std::string MarkdownGate(const GateResult& r, const Catalogue& catalogue) {
  const GateInfo* info = catalogue.Gate(r.gate);
  std::string text = fmt::format("\n## Gate {}: {}: {}\n\n", r.gate,
                                 info == nullptr ? "" : info->name, LevelLabel(r));
  if (!r.blocked_by.empty())
    return text + fmt::format("Not observed: {}.\n", MarkdownCell(r.blocked_by));
  if (info != nullptr) text += fmt::format("Pass criterion: {}\n\n", MarkdownCell(info->passes));
  if (!r.waived_by.empty()) text += fmt::format("**Waived by {}**\n\n", MarkdownCell(r.waived_by));
  text +=
      "| code | criterion | wanted | measured | subjects | verdict |\n|---|---|---|---|---|---|\n";
  for (const CriterionRow& row : RowsOf(r, catalogue)) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.code, MarkdownCell(row.title),
                        MarkdownCell(row.wanted), MarkdownCell(row.measured),
                        MarkdownCell(row.subjects), row.verdict);
  }
  for (const Suspect& s : r.suspects)
    text += fmt::format("\nSuspect: **{}** ({}). Next: `{}`\n", MarkdownCell(s.subject.ToString()),
                        MarkdownCell(s.why), MarkdownCode(s.next));
  if (!r.not_applicable.empty()) {
    text += "\nNot applicable here:\n";
    for (const NotApplicable& n : r.not_applicable)
      text += fmt::format("- {} {}: {}\n", n.code, MarkdownCell(n.title), MarkdownCell(n.reason));
  }
  return text;
}

}  // namespace

std::string ReportMarkdown(const ReportInput& in) {
  const RunHeader& h = in.run.header;
  std::string text = fmt::format("# Acceptance report: site {}\n\n", MarkdownCell(h.site_name));
  if (h.origin == Origin::kRehearsed)
    text +=
        "> **Rehearsed.** Everything here was played on one machine; nothing in it speaks of real "
        "hardware.\n\n";
  text += fmt::format(
      "| | |\n|---|---|\n| verdict | **{}** |\n| run | {} |\n| scope | {} |\n| began | {} |\n| "
      "ended | {} |\n| by | {} |\n| Muster | {} |\n| site file | sha256 {} |\n| evidence | sha256 "
      "{} |\n",
      ToString(in.run.level), h.run,
      h.scope.empty() ? fmt::format("all {} nodes", h.nodes.size()) : MarkdownCell(h.scope),
      FormatTime(h.at), FormatTime(in.run.ended), MarkdownCell(h.by), h.version, h.site_sha256,
      in.evidence_sha256);
  text += "\n## Summary\n\n";
  for (const GateRecord& record : in.run.gates) {
    if (record.result)
      text += fmt::format("- {}\n", MarkdownCell(GateLine(*record.result, in.catalogue)));
  }
  const auto figures = FiguresOfRun(in.run);
  if (!figures.empty()) {
    text += "\n## Measured figures\n\n| figure | measured | baseline |\n|---|---|---|\n";
    for (const auto& [name, q] : figures) {
      const auto was = in.baseline.find(name);
      text += fmt::format("| {} | {} | {} |\n", name, FormatQuantity(q),
                          was == in.baseline.end() ? "-" : FormatQuantity(was->second));
    }
  }
  if (!in.waivers.empty()) {
    text += "\n## Waivers\n\n";
    for (const std::string& waiver : in.waivers)
      text += fmt::format("- {}\n", MarkdownCell(waiver));
  }
  for (const GateRecord& record : in.run.gates) {
    if (record.result) text += MarkdownGate(*record.result, in.catalogue);
  }
  return text +
         fmt::format("\n---\nJudged again from the raw readings with `muster verify {}`.\n", h.run);
}

std::string ReportJson(const ReportInput& in) {
  const RunHeader& h = in.run.header;
  Json json = {{"apiVersion", "muster/v1"},
               {"kind", "AcceptanceReport"},
               {"site", h.site_name},
               {"run", h.run},
               {"verdict", ToString(in.run.level)},
               {"origin", ToString(h.origin)},
               {"scope", h.scope},
               {"nodes", h.nodes},
               {"began", FormatTime(h.at)},
               {"ended", FormatTime(in.run.ended)},
               {"by", h.by},
               {"version", h.version},
               {"site_sha256", h.site_sha256},
               {"evidence_sha256", in.evidence_sha256},
               {"catalogue_sha256", h.catalogue_sha256},
               {"waivers", in.waivers},
               {"gates", Json::array()}};
  for (const GateRecord& record : in.run.gates) {
    if (!record.result) continue;
    const GateResult& r = *record.result;
    Json gate = {{"id", r.gate},
                 {"verdict", ToString(r.level)},
                 {"open", r.open()},
                 {"blocked_by", r.blocked_by},
                 {"waived_by", r.waived_by},
                 {"criteria", Json::array()},
                 {"suspects", Json::array()},
                 {"not_applicable", Json::array()},
                 {"figures", Json::object()}};
    for (const CriterionRow& row : RowsOf(r, in.catalogue)) {
      gate["criteria"].push_back({{"code", row.code},
                                  {"title", row.title},
                                  {"wanted", row.wanted},
                                  {"measured", row.measured},
                                  {"subjects", row.count},
                                  {"verdict", row.verdict},
                                  {"source", row.source}});
    }
    for (const Suspect& s : r.suspects)
      gate["suspects"].push_back(
          {{"subject", s.subject.ToString()}, {"why", s.why}, {"next", s.next}});
    for (const NotApplicable& n : r.not_applicable)
      gate["not_applicable"].push_back({{"code", n.code}, {"reason", n.reason}});
    for (const auto& [name, q] : r.figures)
      gate["figures"][name] = {{"value", q.value}, {"unit", ToString(q.unit)}};
    json["gates"].push_back(std::move(gate));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string GateLine(const GateResult& r, const Catalogue& catalogue) {
  const GateInfo* info = catalogue.Gate(r.gate);
  std::string line =
      fmt::format("gate {} {}: {}", r.gate, info == nullptr ? "" : info->name, LevelLabel(r));
  if (!r.suspects.empty() && r.level != Level::kPass)
    line += fmt::format(", suspect {}", r.suspects.front().subject.ToString());
  return line;
}

std::vector<std::pair<double, double>> SweepOf(const Run& run) {
  std::vector<std::pair<double, double>> points;
  const GateRecord* record = run.Find(6);
  if (record == nullptr) return points;
  for (const Reading& reading : record->evidence.readings) {
    if (!StartsWith(reading.probe, "nccl_tests.")) continue;
    for (const auto& row : nccl_tests::ParseCollective(reading.text).rows) {
      if (row.bytes > 0 && (row.out_of_place || row.in_place))
        points.emplace_back(static_cast<double>(row.bytes), row.Busbw());
    }
    break;  // the first sweep is that of the whole scope
  }
  return points;
}

}  // namespace muster
