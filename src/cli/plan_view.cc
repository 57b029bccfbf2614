#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/words.h"
#include "base/strings.h"
#include "cli/views.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

std::string SkippedLines(const Context& context, const std::vector<NotApplicable>& skipped) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const NotApplicable& n : skipped) {
    const auto same = std::find_if(by_reason.begin(), by_reason.end(),
                                   [&](const auto& r) { return r.first == n.reason; });
    if (same == by_reason.end()) {
      by_reason.push_back({n.reason, {n.code}});
    } else {
      same->second.push_back(n.code);
    }
  }
  std::string text;
  for (const auto& [reason, codes] : by_reason)
    text += Dim(context, fmt::format("  n/a     {}: {}", reason, Join(codes, " "))) + "\n";
  return text;
}

namespace {

// What was asked of a tool about an act, and what it said.
std::string PreviewLines(const ActPreview& preview) {
  std::string text = fmt::format("          would change: {}\n",
                                 !preview.known     ? "UNKNOWN: " + Printable(preview.text)
                                 : !preview.changes ? "nothing"
                                                    : "as follows");
  if (!preview.argv.empty())
    text += fmt::format("          asked: {}\n",
                        Printable(muster::Command{.argv = preview.argv}.ToString()));
  if (!preview.known) return text;
  for (const std::string_view line : Lines(preview.text))
    text += fmt::format("            {}\n", Printable(std::string(line)));
  return text;
}

}  // namespace

Document PlanView(const Context& context, const std::vector<GatePlan>& plan,
                  const std::map<std::string, ActPreview>& previews) {
  Document doc;
  doc.kind = "BringupPlan";
  Json gates = Json::array();
  std::string text;
  for (const GatePlan& g : plan) {
    text += fmt::format("gate {}  {}   {}{}\n", g.gate, Bold(context, g.name),
                        Counted(g.criteria, "criterion", "criteria"),
                        g.already_open ? "   (open now)" : "");
    Json acts = Json::array();
    for (const Act& act : g.acts) {
      text += fmt::format("  act     {} [{}]{}: {}\n", act.name, act.kind,
                          act.destructive ? " DESTRUCTIVE" : "",
                          Printable(muster::Command{.argv = act.argv}.ToString()));
      if (!act.probe.empty())
        text += fmt::format("          done already? {}\n",
                            Printable(muster::Command{.argv = act.probe}.ToString()));
      acts.push_back({{"name", act.name},
                      {"kind", act.kind},
                      {"argv", act.argv},
                      {"probe", act.probe},
                      {"destructive", act.destructive}});
      const auto preview = previews.find(act.name);
      if (preview == previews.end()) continue;
      text += PreviewLines(preview->second);
      acts.back()["preview"] = {{"argv", preview->second.argv},
                                {"known", preview->second.known},
                                {"changes", preview->second.changes},
                                {"text", preview->second.text}};
    }
    for (const std::string& read : g.reads) text += fmt::format("  read    {}\n", read);
    for (const std::string& proof : g.proofs) text += fmt::format("  prove   {}\n", proof);
    Json skipped = Json::array();
    text += SkippedLines(context, g.not_applicable);
    for (const NotApplicable& n : g.not_applicable)
      skipped.push_back({{"code", n.code}, {"reason", n.reason}});
    gates.push_back({{"id", g.gate},
                     {"name", g.name},
                     {"criteria", g.criteria},
                     {"acts", acts},
                     {"reads", g.reads},
                     {"proofs", g.proofs},
                     {"not_applicable", skipped},
                     {"already_open", g.already_open}});
    doc.cases.push_back({"plan", fmt::format("gate {}", g.gate), Level::kPass, ""});
  }
  *doc.json = {{"gates", std::move(gates)}};
  doc.table = text;
  return doc;
}

}  // namespace muster::cli
