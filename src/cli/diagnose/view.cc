#include "cli/diagnose/view.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;
using diagnose::CauseKind;
using diagnose::Finding;
using diagnose::Outcome;

std::string_view Sureness(double confidence) {
  return confidence >= 0.85 ? "very likely" : confidence >= 0.65 ? "likely" : "possible";
}

std::string_view KindWord(CauseKind kind) {
  switch (kind) {
    case CauseKind::kRoot:
      return "root";
    case CauseKind::kConsequence:
      return "consequence";
    case CauseKind::kQuestion:
      return "question";
  }
  return "root";
}

std::string_view OutcomeWord(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNothing:
      return "nothing_wrong";
    case Outcome::kFinding:
      return "finding";
    case Outcome::kNotEnough:
      return "not_enough";
  }
  return "not_enough";
}

Json FindingJson(const Finding& f) {
  Json json = {
      {"cause", f.cause->id},        {"layer", f.cause->layer}, {"kind", KindWord(f.cause->kind)},
      {"title", Printable(f.title)}, {"on", Printable(f.on)},   {"confidence", f.confidence}};
  json["evidence"] = Json::array();
  for (const auto& line : f.evidence)
    json["evidence"].push_back({{"file", Printable(line.at.file)},
                                {"line", line.at.line},
                                {"text", line.text},
                                {"count", line.count}});
  json["beside"] = Json::array();
  for (const auto& line : f.beside)
    json["beside"].push_back(
        {{"file", Printable(line.at.file)}, {"line", line.at.line}, {"text", line.text}});
  json["against"] = f.against;
  json["settle"] = f.cause->settle;
  json["next"] = Printable(f.next);
  if (!f.cause->runbook.empty()) json["runbook"] = f.cause->runbook;
  json["source"] = f.cause->source;
  if (!f.explained_by.empty()) json["explained_by"] = f.explained_by;
  return json;
}

std::string FindingText(const Context& context, const Finding& f, size_t number) {
  const bool question = f.cause->kind == CauseKind::kQuestion;
  std::string text = fmt::format("\n{}. {}\n", number, Bold(context, Printable(f.title)));
  text += fmt::format("   layer {} · {} ({:.0f} %) · {}\n", f.cause->layer,
                      question ? "a question" : Sureness(f.confidence), f.confidence * 100,
                      f.cause->id);
  for (const auto& line : f.evidence) {
    text += fmt::format("   {}  {}{}\n", Printable(line.at.ToString()), line.text,
                        line.count > 1 ? fmt::format("  (x{})", line.count) : "");
  }
  for (const auto& line : f.beside)
    text += fmt::format("   beside it: {}  {}\n", Printable(line.at.ToString()), line.text);
  for (const std::string& against : f.against) text += fmt::format("   against: {}\n", against);
  text += fmt::format("   settles it: {}\n   next: {}\n", f.cause->settle, Printable(f.next));
  if (!f.cause->runbook.empty())
    text += fmt::format("   runbook: muster runbook show {}\n", f.cause->runbook);
  return text;
}

// Causes, then what follows from them, then what is open.
std::string FindingsText(const Context& context, const std::vector<Finding>& findings) {
  constexpr size_t kCauses = 12, kQuestions = 4;
  std::string causes, follow, open;
  size_t number = 0, questions = 0;
  for (const Finding& f : findings) {
    if (f.cause->kind == CauseKind::kQuestion) continue;
    if (!f.explained_by.empty())
      follow += fmt::format("   {} (from {})\n", Printable(f.title), f.explained_by);
    else if (number < kCauses)
      causes += FindingText(context, f, ++number);
  }
  for (const Finding& f : findings) {
    if (f.cause->kind != CauseKind::kQuestion) continue;
    if (++questions <= kQuestions) open += FindingText(context, f, ++number);
  }
  if (questions > kQuestions) open += fmt::format("   and {} more\n", questions - kQuestions);
  if (!follow.empty()) causes += "\nfollows from it:\n" + follow;
  if (!open.empty()) causes += "\nnot settled:\n" + open;
  return causes;
}

}  // namespace

Document DiagnosisView(const Context& context, const DiagnoseResult& result) {
  const diagnose::Diagnosis& d = result.diagnosis;
  Document doc;
  doc.kind = "Diagnosis";
  Json& json = *doc.json;
  json["outcome"] = OutcomeWord(d.outcome);
  json["summary"] = Printable(d.summary);
  json["findings"] = Json::array();
  doc.table = Bold(context, Printable(d.summary)) + "\n";
  doc.brief = Printable(d.summary) + "\n";
  for (const Finding& f : d.findings) {
    json["findings"].push_back(FindingJson(f));
    const Level level = f.cause->kind == CauseKind::kQuestion ? Level::kUnknown : Level::kFail;
    doc.cases.push_back({f.cause->layer, f.cause->id, level, Printable(f.title)});
  }
  doc.table += FindingsText(context, d.findings);
  json["bring"] = Json::array();
  if (!d.bring.empty()) doc.table += "\nwhat would help:\n";
  for (const std::string& bring : d.bring) {
    json["bring"].push_back(Printable(bring));
    doc.table += fmt::format("   {}\n", Printable(bring));
  }
  json["read"] = Json::object();
  for (const auto& [what, count] : result.evidence.recognised) json["read"][what] = count;
  json["files"] = result.readable;
  json["lines"] = result.evidence.lines;
  json["unreadable"] = Json::array();
  for (const auto& [name, why] : result.unreadable)
    json["unreadable"].push_back({{"file", Printable(name)}, {"why", Printable(why)}});
  if (doc.cases.empty())
    doc.cases = {{"diagnose", "outcome",
                  d.outcome == Outcome::kNothing ? Level::kPass : Level::kUnknown, d.summary}};
  return doc;
}

void AddDiagnosis(const Context& context, const diagnose::Diagnosis& diagnosis,
                  Document& document) {
  if (diagnosis.outcome != Outcome::kFinding) return;
  constexpr size_t kShown = 3;
  Json json = {{"outcome", OutcomeWord(diagnosis.outcome)},
               {"summary", Printable(diagnosis.summary)},
               {"findings", Json::array()},
               {"bring", diagnosis.bring}};
  std::string text;
  size_t shown = 0, more = 0;
  for (const Finding& f : diagnosis.findings) {
    json["findings"].push_back(FindingJson(f));
    if (f.cause->kind == CauseKind::kQuestion || !f.explained_by.empty()) continue;
    if (shown == kShown) {
      ++more;
      continue;
    }
    ++shown;
    text += fmt::format("  {}  ({}, {:.0f} %)\n    next: {}\n", Bold(context, Printable(f.title)),
                        f.cause->id, f.confidence * 100, Printable(f.next));
  }
  if (more > 0) text += fmt::format("  and {} more\n", more);
  (*document.json)["diagnosis"] = std::move(json);
  document.table += "\nwhat is behind it:\n" + text;
  document.brief += "what is behind it:\n" + text;
}

ExitCode ExitCodeOf(const DiagnoseResult& result) {
  if (result.diagnosis.outcome == Outcome::kFinding) return ExitCode::kFail;
  if (result.readable == 0) return ExitCode::kUsage;
  if (result.diagnosis.outcome == Outcome::kNotEnough) return ExitCode::kUnknown;
  // What could not be read may hold what is wrong.
  return result.unreadable.empty() ? ExitCode::kDone : ExitCode::kUnknown;
}

void TellUnreadable(const Context& context, const DiagnoseResult& result) {
  for (const auto& [name, why] : result.unreadable)
    context.err << fmt::format("muster: {}: {}\n", Printable(name), Printable(why));
}

}  // namespace muster::cli
