// Which criteria hold for a site, with the site's own thresholds, and of which subjects.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/expectation.h"

namespace muster {

namespace {

bool Answers(const Site& site, const Expectation& expect, SubjectKind kind, std::string_view name,
             std::span<const std::string> scope_nodes) {
  const auto subjects = SubjectsOf(site, kind, scope_nodes);
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject& s) { return expect(s, name).has_value(); });
}

std::string_view Plural(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::kBudget:
      return "facility budget";
    case SubjectKind::kPdu:
      return "PDU";
    case SubjectKind::kHca:
    case SubjectKind::kRail:
      return "network adapter";
    case SubjectKind::kGpu:
      return "GPU";
    case SubjectKind::kPair:
      return "second node";
    case SubjectKind::kPort:
      return "link";
    default:
      return ToString(kind);
  }
}

}  // namespace

std::vector<Subject> SubjectsFor(const Criterion& criterion, const Site& site,
                                 std::span<const std::string> scope_nodes,
                                 const ObservationIndex& index) {
  std::vector<Subject> expected = SubjectsOf(site, criterion.subject, scope_nodes);
  if (!criterion.when_observed) return expected;
  const std::vector<Subject> seen = index.SubjectsWith(criterion.subject, criterion.fact);
  std::vector<Subject> subjects;
  if (criterion.subject == SubjectKind::kPair) {
    std::set<std::string> names;
    for (const Subject& node : SubjectsOf(site, SubjectKind::kNode, scope_nodes))
      names.insert(node.id);
    for (const Subject& pair : seen) {
      const size_t at = pair.id.find("--");
      if (at != std::string::npos && names.contains(pair.id.substr(0, at)) &&
          names.contains(pair.id.substr(at + 2)))
        subjects.push_back(pair);
    }
    return subjects;
  }
  for (Subject& subject : expected) {
    if (std::binary_search(seen.begin(), seen.end(), subject))
      subjects.push_back(std::move(subject));
  }
  return subjects;
}

Applicability Applicable(const Catalogue& catalogue, const Site& site, int gate,
                         std::span<const std::string> scope_nodes) {
  Applicability result;
  std::set<std::string> features = site.Features();
  const size_t nodes = scope_nodes.empty() ? site.cluster.nodes.size() : scope_nodes.size();
  if (nodes == 2) features.insert("two_nodes");
  if (!scope_nodes.empty() && nodes < 2) features.erase("multi_node");
  const Expectation expect = MakeExpectation(site, catalogue);
  for (const Criterion& criterion : catalogue.criteria) {
    if (gate != 0 && criterion.gate != gate) continue;
    const auto holds = [&](std::string_view name) {
      const bool negated = name.starts_with('!');
      if (negated) name.remove_prefix(1);
      const auto expects = After(name, "expects.");
      const bool there = expects ? Answers(site, expect, criterion.subject, *expects, scope_nodes)
                                 : features.contains(std::string(name));
      return there != negated;
    };
    const bool applies = std::all_of(criterion.applies_when.begin(), criterion.applies_when.end(),
                                     [&](const std::string& term) {
                                       const auto names = Split(term, '|');
                                       return std::any_of(names.begin(), names.end(), holds);
                                     });
    if (!applies) {
      result.not_applicable.push_back({&criterion, criterion.otherwise});
      continue;
    }
    if (SubjectsOf(site, criterion.subject, scope_nodes).empty()) {
      result.not_applicable.push_back(
          {&criterion, fmt::format("the site has no {}", Plural(criterion.subject))});
      continue;
    }
    Criterion ours = criterion;
    const auto replace = [&](const std::string& key, Threshold& threshold) {
      const auto it = site.thresholds.find(key);
      if (it == site.thresholds.end()) return false;
      const Quantity& q = it->second;
      const bool bare = threshold.unit == Unit::kRatio && q.unit == Unit::kCount;
      if (q.unit != threshold.unit && !bare) return false;  // CheckThresholds has said so
      threshold.values = {Value(q.value)};
      threshold.expect.clear();
      return true;
    };
    replace(ours.code, ours.pass);
    Threshold warn = ours.pass;
    if (replace(ours.code + ".warn", warn)) ours.warn = warn;
    result.criteria.push_back(std::move(ours));
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> CheckThresholds(const Catalogue& catalogue,
                                                                 const Site& site) {
  std::vector<std::pair<std::string, std::string>> problems;
  std::vector<std::string> known;
  for (const Setting& setting : catalogue.settings) known.push_back(setting.name);
  for (const Criterion& criterion : catalogue.criteria) known.push_back(criterion.code);
  for (const auto& [key, quantity] : site.thresholds) {
    std::string_view name = key;
    if (name.ends_with(".warn")) name.remove_suffix(5);
    const Criterion* criterion = catalogue.Find(name);
    const Setting* setting = catalogue.FindSetting(key);
    if (criterion == nullptr && setting == nullptr) {
      std::string what = fmt::format("{} is neither a criterion nor a setting", key);
      if (const auto near = Nearest(name, known)) what += fmt::format(", did you mean {}", *near);
      problems.emplace_back(key, std::move(what));
      continue;
    }
    const Unit unit = setting != nullptr ? setting->value.unit : criterion->pass.unit;
    if (criterion != nullptr && unit == Unit::kNone) {
      problems.emplace_back(key, fmt::format("{} is not held to a number", key));
    } else if (quantity.unit != unit && !(unit == Unit::kRatio && quantity.unit == Unit::kCount)) {
      problems.emplace_back(
          key, fmt::format("{} is in {}, found {}", key,
                           unit == Unit::kCount ? "bare numbers" : std::string(ToString(unit)),
                           FormatQuantity(quantity)));
    }
  }
  return problems;
}

}  // namespace muster
