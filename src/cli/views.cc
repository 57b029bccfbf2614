#include "cli/views.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/words.h"
#include "base/strings.h"
#include "cli/table.h"
#include "evidence/worse.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

namespace {

struct Counts {
  size_t pass = 0, warn = 0, fail = 0, unknown = 0;
};
Counts CountOf(const GateResult& result) {
  Counts c;
  c.pass = result.more_passes;
  for (const Verdict& v : result.verdicts) {
    if (v.level == Level::kPass) ++c.pass;
    if (v.level == Level::kWarn) ++c.warn;
    if (v.level == Level::kFail) ++c.fail;
    if (v.level == Level::kUnknown) ++c.unknown;
  }
  return c;
}

std::string CountText(size_t pass, size_t warn, size_t fail, size_t unknown) {
  std::vector<std::string> parts;
  if (pass > 0) parts.push_back(fmt::format("{} pass", pass));
  if (warn > 0) parts.push_back(fmt::format("{} warn", warn));
  if (fail > 0) parts.push_back(fmt::format("{} FAIL", fail));
  if (unknown > 0) parts.push_back(fmt::format("{} unknown", unknown));
  return parts.empty() ? "-" : Join(parts, "  ");
}

std::string OriginNote(Origin origin) {
  switch (origin) {
    case Origin::kRehearsed:
      return "rehearsed";
    case Origin::kReplayed:
      return "replayed";
    case Origin::kLive:
      return "live";
  }
  return "live";
}

Origin OriginOf(const GateResult& result) {
  for (const Verdict& v : result.verdicts) {
    if (v.origin != Origin::kLive) return v.origin;
  }
  return Origin::kLive;
}

// The catalogue writes "--site site.yaml"; a person pastes the command where that file has another
// name.
std::string Pasteable(std::string next, const std::string& site_file) {
  if (site_file.empty()) return next;
  const size_t named = next.find("--site site.yaml");
  if (named != std::string::npos) next.replace(named, 16, "--site " + site_file);
  const size_t words = next.find(" -- ");
  if (StartsWith(next, "muster lab exec ") && words != std::string::npos)
    next.insert(words, " --site " + site_file);
  return next;
}

// The reason and its detail, without the criterion and the subject: what several verdicts share
// when one thing could not be seen. Empty when the verdict says no more than its reason.
std::string CauseOf(const Verdict& v) {
  if (v.level != Level::kUnknown || !v.reason) return "";
  const std::string mark = fmt::format(" is {} (", ToString(*v.reason));
  const size_t at = v.text.find(mark);
  return at == std::string::npos ? "" : v.text.substr(at + 4);
}

// UNKNOWN for one cause over several criteria is one finding, said once; those verdicts leave
// `rest`.
std::string SharedCauses(const Context& context, std::vector<const Verdict*>& rest) {
  std::map<std::string, std::vector<const Verdict*>> by_cause;
  for (const Verdict* v : rest) {
    if (std::string cause = CauseOf(*v); !cause.empty()) by_cause[cause].push_back(v);
  }
  std::string text;
  for (const auto& [cause, verdicts] : by_cause) {
    std::set<std::string> codes, subjects;
    for (const Verdict* v : verdicts) {
      codes.insert(v->code);
      subjects.insert(v->subject.ToString());
    }
    if (codes.size() < 2) continue;
    const std::string others =
        subjects.size() == 1 ? "" : fmt::format(" and {} more", subjects.size() - 1);
    text += fmt::format("  {}  {}  {}{}: {}\n", LevelWord(context, Level::kUnknown),
                        fmt::join(codes, " "), verdicts.front()->subject.ToString(), others,
                        Printable(cause));
    std::erase_if(rest, [&, same = &cause](const Verdict* v) { return CauseOf(*v) == *same; });
  }
  return text;
}

// Verdicts that want attention, one line for each (code, level): many subjects share a line.
std::string Findings(const Context& context, const GateResult& result,
                     const std::string& site_file) {
  constexpr size_t kNamed = 3;
  std::map<std::pair<int, std::string>, std::vector<const Verdict*>> grouped;
  std::vector<const Verdict*> attention;
  for (const Verdict& v : result.verdicts) {
    if (v.level != Level::kPass && v.level != Level::kNotApplicable) attention.push_back(&v);
  }
  const std::string shared = SharedCauses(context, attention);
  for (const Verdict* v : attention) {
    const int order = v->level == Level::kFail ? 0 : v->level == Level::kUnknown ? 1 : 2;
    grouped[{order, v->code}].push_back(v);
  }
  std::string text;
  for (const auto& [key, verdicts] : grouped) {
    for (size_t i = 0; i < std::min(kNamed, verdicts.size()); ++i) {
      const Verdict& v = *verdicts[i];
      text += fmt::format("  {}  {}  {}: {}\n", LevelWord(context, v.level), v.code,
                          v.subject.ToString(), Printable(v.text));
    }
    if (verdicts.size() > kNamed) {
      text += fmt::format("  {}  {}  ... and {} more like it\n",
                          LevelWord(context, verdicts.front()->level), key.second,
                          verdicts.size() - kNamed);
    }
  }
  text += shared;
  for (size_t i = 0; i < std::min<size_t>(3, result.suspects.size()); ++i) {
    const Suspect& s = result.suspects[i];
    text += fmt::format("  {} {}  ({})\n", i == 0 ? Bold(context, "suspect") : "   then",
                        s.subject.ToString(), Printable(s.why));
    if (i == 0 && !s.next.empty())
      text += fmt::format("  next    {}\n", Pasteable(s.next, site_file));
  }
  return text;
}

std::vector<TestCase> CasesOf(const std::vector<GateResult>& results) {
  std::vector<TestCase> cases;
  for (const GateResult& r : results) {
    const std::string suite = fmt::format("gate {}", r.gate);
    if (!r.blocked_by.empty()) cases.push_back({suite, "blocked", Level::kUnknown, r.blocked_by});
    for (const Verdict& v : r.verdicts)
      cases.push_back({suite, fmt::format("{} {}", v.code, v.subject.ToString()), v.level, v.text});
    for (const NotApplicable& n : r.not_applicable)
      cases.push_back({suite, n.code, Level::kNotApplicable, n.reason});
  }
  return cases;
}

}  // namespace

Level WorstOf(const std::vector<GateResult>& results) {
  Level worst = Level::kPass;
  for (const GateResult& r : results) worst = Worse(worst, r.level);
  return worst;
}

std::string Age(TimePoint then, TimePoint now) {
  return now - then < std::chrono::seconds(1)
             ? "just now"
             : FormatDuration(std::chrono::floor<std::chrono::seconds>(now - then)) + " ago";
}

Json ToJson(const Verdict& v) {
  Json json = {{"code", v.code},
               {"subject", {{"kind", ToString(v.subject.kind)}, {"id", v.subject.id}}},
               {"verdict", ToString(v.level)}};
  if (v.reason) json["reason"] = ToString(*v.reason);
  json["measured"] = v.measured;
  json["wanted"] = v.wanted;
  json["text"] = v.text;
  json["origin"] = ToString(v.origin);
  return json;
}

Json ToJson(const Suspect& s) {
  return {{"subject", {{"kind", ToString(s.subject.kind)}, {"id", s.subject.id}}},
          {"codes", s.codes},
          {"why", s.why},
          {"next", s.next}};
}

Json ToJson(const GateResult& r, bool with_passes) {
  const Counts c = CountOf(r);
  Json json = {{"id", r.gate},
               {"verdict", ToString(r.level)},
               {"open", r.open()},
               {"counts",
                {{"pass", c.pass},
                 {"warn", c.warn},
                 {"fail", c.fail},
                 {"unknown", c.unknown},
                 {"not_applicable", r.not_applicable.size()}}}};
  if (!r.blocked_by.empty()) json["blocked_by"] = r.blocked_by;
  if (!r.waived_by.empty()) json["waived_by"] = r.waived_by;
  json["suspects"] = Json::array();
  for (const Suspect& s : r.suspects) json["suspects"].push_back(ToJson(s));
  json["verdicts"] = Json::array();
  for (const Verdict& v : r.verdicts) {
    if (with_passes || v.level != Level::kPass) json["verdicts"].push_back(ToJson(v));
  }
  json["not_applicable"] = Json::array();
  for (const NotApplicable& n : r.not_applicable)
    json["not_applicable"].push_back({{"code", n.code}, {"title", n.title}, {"reason", n.reason}});
  json["figures"] = Json::object();
  for (const auto& [name, q] : r.figures)
    json["figures"][name] = {{"value", q.value}, {"unit", ToString(q.unit)}};
  return json;
}

Document StatusView(const Context& context, const SiteStatus& status, TimePoint now) {
  Document doc;
  doc.kind = "SiteStatus";
  Json gates = Json::array();
  Table table({"GATE", "", "VERDICT", "CHECKS", "SEEN", ""});
  for (const GateStatus& g : status.gates) {
    const std::string note = !g.waived_by.empty()       ? "waived by " + g.waived_by
                             : !g.stale_because.empty() ? "STALE: " + g.stale_because
                             : !g.blocked_by.empty()    ? g.blocked_by
                             : !g.suspects.empty()
                                 ? "suspect " + g.suspects.front().subject.ToString()
                                 : "";
    table.Row({std::to_string(g.gate), g.name,
               g.run.empty() ? Dim(context, "not run") : LevelWord(context, g.level),
               g.run.empty() ? "-" : CountText(g.passed, g.warned, g.failed, g.unknown),
               g.run.empty() ? "-" : Age(g.judged_at, now), Printable(note)});
    Json json = {{"id", g.gate},
                 {"name", g.name},
                 {"verdict", g.run.empty() ? "unknown" : ToString(g.level)},
                 {"open", g.open}};
    json["run"] = g.run.empty() ? Json(nullptr) : Json(g.run);
    json["judged_at"] = g.run.empty() ? Json(nullptr) : Json(FormatTime(g.judged_at));
    json["origin"] = OriginNote(g.origin);
    json["counts"] = {{"pass", g.passed},
                      {"warn", g.warned},
                      {"fail", g.failed},
                      {"unknown", g.unknown},
                      {"not_applicable", g.not_applicable}};
    if (!g.waived_by.empty()) json["waived_by"] = g.waived_by;
    if (!g.stale_because.empty()) json["stale_because"] = g.stale_because;
    if (!g.blocked_by.empty()) json["blocked_by"] = g.blocked_by;
    json["suspects"] = Json::array();
    for (const Suspect& s : g.suspects) json["suspects"].push_back(ToJson(s));
    gates.push_back(std::move(json));
    doc.cases.push_back({"gates", fmt::format("gate {} {}", g.gate, g.name),
                         g.open                    ? g.level
                         : g.level == Level::kPass ? Level::kUnknown
                                                   : g.level,
                         note});
  }
  *doc.json = {{"site", status.site}, {"gates", std::move(gates)}};
  (*doc.json)["unfinished_run"] =
      status.unfinished_run.empty() ? Json(nullptr) : Json(status.unfinished_run);
  doc.table = fmt::format("site {}\n\n{}", Bold(context, status.site), table.ToString());
  if (!status.unfinished_run.empty()) {
    doc.table += fmt::format(
        "\nrun {} was interrupted; continue it with: muster bringup resume --site SITE\n",
        status.unfinished_run);
  }
  return doc;
}

Document RunView(const Context& context, const Run& run, const std::string& site_file) {
  Document doc;
  doc.kind = "BringupRun";
  Json gates = Json::array();
  Table table({"GATE", "", "VERDICT", "CHECKS", "TOOK", ""});
  static constexpr const char* kNames[] = {"facility",  "fabric",    "nodes",
                                           "GPU stack", "telemetry", "fabric validation",
                                           "training",  "inference"};
  std::string findings;
  std::vector<GateResult> results;
  bool rehearsed = false;
  for (const GateRecord& record : run.gates) {
    if (!record.result) continue;
    const GateResult& r = *record.result;
    results.push_back(r);
    rehearsed = rehearsed || OriginOf(r) == Origin::kRehearsed;
    const Counts c = CountOf(r);
    const std::string note = !r.waived_by.empty()    ? "waived by " + r.waived_by
                             : !r.blocked_by.empty() ? r.blocked_by
                                                     : "";
    table.Row({std::to_string(r.gate), kNames[r.gate - 1], LevelWord(context, r.level),
               r.blocked_by.empty() ? CountText(c.pass, c.warn, c.fail, c.unknown) : "-",
               r.blocked_by.empty() ? FormatDuration(r.took) : "-", Printable(note)});
    gates.push_back(ToJson(r, false));
    gates.back()["name"] = kNames[r.gate - 1];
    const std::string found = Findings(context, r, "");
    if (!found.empty())
      findings += fmt::format("\ngate {}  {}\n{}", r.gate, kNames[r.gate - 1], found);
  }
  doc.cases = CasesOf(results);
  *doc.json = {{"run", run.header.run},
               {"site", run.header.site_name},
               {"scope", run.header.scope.empty() ? "all" : run.header.scope},
               {"origin", ToString(run.header.origin)},
               {"verdict", ToString(run.level)},
               {"began", FormatTime(run.header.at)},
               {"ended", FormatTime(run.ended)},
               {"gates", std::move(gates)}};
  doc.brief = findings.empty() ? fmt::format("{}: all gates open\n", run.header.site_name)
                               : findings.substr(1);
  doc.table = fmt::format(
      "site {}   run {}{}\n\n{}{}", Bold(context, run.header.site_name), run.header.run,
      rehearsed ? "   (rehearsed: played on this machine, nothing here speaks of real hardware)"
                : "",
      table.ToString(), findings);
  if (!run.note.empty()) doc.table += fmt::format("\nnote: {}\n", Printable(run.note));
  doc.table += fmt::format(
      "\nevidence  muster verify {} --site {}\nreport    muster bringup report --site {} --run {} "
      "--format html\n",
      run.header.run, site_file, site_file, run.header.run);
  return doc;
}

Document CheckView(const Context& context, const std::vector<GateResult>& results, const Catalogue&,
                   Duration took) {
  Document doc;
  doc.kind = "CheckResult";
  Json gates = Json::array();
  for (const GateResult& r : results) {
    const Counts c = CountOf(r);
    const std::string head =
        fmt::format("gate {}  {:<10} {}   {} n/a\n", r.gate, LevelWord(context, r.level),
                    CountText(c.pass, c.warn, c.fail, c.unknown), r.not_applicable.size());
    const std::string found = Findings(context, r, "");
    doc.table += head + found;
    doc.table += SkippedLines(context, r.not_applicable);
    if (!found.empty()) doc.brief += head + found;
    gates.push_back(ToJson(r, true));
  }
  const Level level = WorstOf(results);
  doc.cases = CasesOf(results);
  *doc.json = {
      {"verdict", ToString(level)}, {"took_s", Seconds(took)}, {"gates", std::move(gates)}};
  if (doc.brief.empty()) doc.brief = fmt::format("{}\n", LevelWord(context, level));
  doc.table += fmt::format("\n{} in {}\n", LevelWord(context, level), FormatDuration(took));
  return doc;
}

}  // namespace muster::cli
