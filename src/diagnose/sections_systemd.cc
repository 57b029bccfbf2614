// systemctl status: which unit it is stands in its first line, whether it runs three lines below.
#include <array>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

constexpr std::string_view kUnit = ".service - ";

// "● slurmd.service - Slurm node daemon", with whichever mark this systemd draws.
bool BeginsStatus(std::string_view line) {
  const auto words = SplitBlank(line);
  const size_t unit = line.find(kUnit);
  return unit != std::string_view::npos && words.size() > 2 && words[0].size() <= 4 &&
         line.find(words[1]) < unit && EndsWith(words[1], ".service");
}

bool BelongsToStatus(std::string_view line) {
  const std::string_view text = Trim(line);
  return !text.empty() && (Indented(line) || StartsWith(text, "Condition:"));
}

// The rest of the line that begins so.
std::string_view After(std::string_view text, std::string_view key) {
  for (const std::string_view line : Lines(text))
    if (StartsWith(Trim(line), key)) return Trim(Trim(line).substr(key.size()));
  return "";
}

// Below "Condition: " stands "ConditionPathExists=/etc/slurm/slurm.conf was not met".
std::string Unmet(std::string_view text) {
  for (const std::string_view line : Lines(text)) {
    const size_t end = line.find(" was not met");
    if (end == std::string_view::npos) continue;
    std::string_view what = Trim(line.substr(0, end));
    if (const size_t mark = what.rfind(' '); mark != std::string_view::npos)
      what = what.substr(mark + 1);
    return std::string(what) + " was not met";
  }
  return "";
}

void ReadStatus(const Section& s, FactStore& facts) {
  const std::string_view unit = SplitBlank(Lines(s.text).front())[1];
  const std::string_view active = After(s.text, "Active: "), loaded = After(s.text, "Loaded: ");
  if (active.empty()) return AddDamage(s, facts, "systemctl status: no line says whether it runs");
  std::string state = "inactive", why;
  if (StartsWith(active, "active")) {
    state = "active";
  } else if (StartsWith(active, "failed") || active.find("(auto-restart)") != active.npos) {
    state = "failed";
  } else if (StartsWith(loaded, "not-found") || StartsWith(loaded, "masked")) {
    state = "failed";
    why = loaded.substr(0, loaded.find(' '));
  } else if (why = Unmet(s.text); !why.empty()) {
    state = "failed";
  } else if (!StartsWith(active, "inactive")) {
    state = "changing";
  }
  Attributes attributes = {{"unit", std::string(unit.substr(0, unit.rfind('.')))},
                           {"state", state}};
  if (!why.empty()) attributes.emplace_back("why", why);
  // One that failed is the same fact as the journal's line about it.
  const std::string_view id = state == "failed" ? "unread.service" : "service.state";
  facts.Add(s.Make(std::string(id), std::move(attributes), s.Where("Active: "),
                   std::string(unit) + ": " + std::string(active)));
}

constexpr std::array kStatus = {
    SectionKind{"systemctl status", kUnit, BeginsStatus, BelongsToStatus, ReadStatus}};

}  // namespace

std::span<const SectionKind> ServiceSections() { return kStatus; }

}  // namespace muster::diagnose
