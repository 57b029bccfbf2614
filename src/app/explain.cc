#include "app/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/explain_reference.h"
#include "app/glossary.h"
#include "app/lab_cases.h"
#include "base/strings.h"
#include "catalogue/catalogue.h"
#include "catalogue/expectation.h"
#include "diagnose/lint/lint.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

std::string_view CompareWord(Compare compare) {
  switch (compare) {
    case Compare::kEqual:
      return "=";
    case Compare::kNotEqual:
      return "not";
    case Compare::kAtLeast:
      return ">=";
    case Compare::kAtMost:
      return "<=";
    case Compare::kGreater:
      return ">";
    case Compare::kLess:
      return "<";
    case Compare::kIn:
      return "one of";
    case Compare::kNotIn:
      return "none of";
    case Compare::kContains:
      return "contains";
    case Compare::kTrue:
      return "true";
    case Compare::kFalse:
      return "false";
  }
  return "=";
}

std::string ThresholdText(Compare compare, const Threshold& threshold) {
  if (compare == Compare::kTrue || compare == Compare::kFalse)
    return std::string(CompareWord(compare));
  if (!threshold.expect.empty())
    return fmt::format("{} {} (the site says)", CompareWord(compare), threshold.expect);
  std::vector<std::string> values;
  for (const Value& value : threshold.values) values.push_back(FormatValue(value, threshold.unit));
  return fmt::format("{} {}", CompareWord(compare), Join(values, ", "));
}

void AddField(Explanation& e, std::string name, std::string text) {
  if (!text.empty()) e.fields.emplace_back(std::move(name), std::move(text));
}

Explanation OfCriterion(const Criterion& c) {
  Explanation e{c.code, c.title, "criterion", {}};
  AddField(e, "gate", std::to_string(c.gate));
  AddField(e, "why", c.why);
  AddField(e, "measured by", c.measured_by);
  AddField(e, "fact", fmt::format("{} of every {}", c.fact, ToString(c.subject)));
  AddField(e, "pass",
           c.measure == Measure::kAllEqual ? "all equal" : ThresholdText(c.compare, c.pass));
  if (c.warn) AddField(e, "warn", ThresholdText(c.compare, *c.warn));
  if (c.advisory) AddField(e, "advisory", "a miss is WARN, never FAIL");
  AddField(e, "fresh for", FormatDuration(c.fresh_for));
  AddField(e, "applies",
           c.applies_when.empty() ? "everywhere"
                                  : Join(c.applies_when, ", ") +
                                        (c.otherwise.empty() ? "" : "; otherwise: " + c.otherwise));
  AddField(e, "source", c.source);
  AddField(e, "fix", c.fix);
  AddField(e, "next", RenderNext(c.next, nullptr, nullptr));
  AddField(e, "runbook", c.runbook);
  AddField(e, "owner", c.owner);
  AddField(e, "since", c.since);
  return e;
}

// The lines of one entry of a faults file: from its "- {id: xid-79," to the next entry. Reading the
// whole file for one of its entries takes twenty times as long.
std::string_view EntryText(std::string_view file, std::string_view id) {
  const std::string head = fmt::format("\n- {{id: {},", id);
  const size_t begin = file.find(head);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = file.substr(begin + 1);
  // Lines of the entry are indented; what begins in the first column is the next thing.
  for (size_t end = rest.find('\n'); end != std::string_view::npos;
       end = rest.find('\n', end + 1)) {
    if (end + 1 < rest.size() && rest[end + 1] != ' ') return rest.substr(0, end + 1);
  }
  return rest;
}

// "XID-79", "SXID-12028": an entry of the faults files, as flat text.
std::optional<Explanation> OfXid(const std::string& code) {
  const bool sxid = StartsWith(code, "SXID-");
  const auto number = ParseInt(std::string_view(code).substr(sxid ? 5 : 4));
  const auto file = FindEmbedded(sxid ? "faults/sxids.yaml" : "faults/xids.yaml");
  if (!number.ok() || !file) return std::nullopt;
  const auto root = ParseYaml(
      EntryText(*file, fmt::format("{}-{}", sxid ? "sxid" : "xid", *number)), "catalogue");
  if (!root.ok() || root->items.empty()) return std::nullopt;
  Explanation e{code, "", sxid ? "sxid" : "xid", {}};
  for (const YamlEntry& entry : root->items.front().entries) {
    if (entry.key == "code" || entry.key == "id") continue;
    std::string value = entry.value.text;
    for (const YamlNode& part : entry.value.items) value += (value.empty() ? "" : ", ") + part.text;
    if (entry.key == "meaning" || (entry.key == "mnemonic" && e.title.empty())) e.title = value;
    AddField(e, entry.key, value);
  }
  return e;
}

Explanation OfTerm(const GlossaryTerm& term) {
  Explanation e{term.name, term.meaning, "term", {}};
  std::vector<std::string> others;
  for (const std::string& name : term.names) {
    if (name != term.name) others.push_back(name);
  }
  AddField(e, "also", Join(others, ", "));
  AddField(e, "about", term.section);
  return e;
}

std::optional<Explanation> OfLintRule(const std::string& code) {
  const auto rules = LoadLintRules();
  if (!rules.ok()) return std::nullopt;
  const auto found = (*rules)->by_code.find(code);
  if (found == (*rules)->by_code.end()) return std::nullopt;
  const LintRule& rule = found->second;
  Explanation e{rule.code, rule.title, "lint rule", {}};
  AddField(e, "severity", std::string(ToString(rule.severity)));
  AddField(e, "why", rule.why);
  AddField(e, "fix", rule.fix);
  for (const auto& [good, bad] : rule.bad.changes) {
    AddField(e, "bad", std::string(Trim(bad)));
    AddField(e, "good", std::string(Trim(good)));
  }
  AddField(e, "source", rule.source);
  return e;
}

}  // namespace

Result<Explanation> Explain(const std::string& asked) {
  std::string code(Trim(asked));
  std::transform(code.begin(), code.end(), code.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (StartsWith(code, "XID-") || StartsWith(code, "SXID-")) {
    if (auto xid = OfXid(code)) return *xid;
  }
  if (auto reference = ExplainReference(asked)) return *reference;
  if (StartsWith(code, "LINT-")) {
    if (auto rule = OfLintRule(code)) return *rule;
  }
  if (auto criterion = LoadEmbeddedCriterion(code); criterion.ok()) return OfCriterion(*criterion);
  for (const LabFaultInfo& fault : LabFaults()) {
    if (EqualsIgnoreCase(fault.name, asked)) {
      return Explanation{
          fault.name,
          fault.what,
          "lab fault",
          {{"on", fault.on},
           {"noticed by", fault.gate == 0 ? std::string("the checks of its runbook, no gate")
                                          : fmt::format("gate {}", fault.gate)},
           {"source", fault.source},
           {"inject", fmt::format("muster lab inject {}", fault.name)}}};
    }
  }
  TRY(const Catalogue* const catalogue, LoadEmbedded());
  for (const GateInfo& gate : catalogue->gates) {
    if (EqualsIgnoreCase(asked, gate.slug) || code == fmt::format("GATE-{}", gate.id)) {
      Explanation e{fmt::format("gate-{}", gate.id), gate.name, "gate", {}};
      AddField(e, "observed", gate.observed);
      AddField(e, "passes", gate.passes);
      AddField(e, "why", gate.why);
      AddField(e, "needs", fmt::format("{}", fmt::join(gate.needs, ", ")));
      AddField(e, "stale after", "a change of " + Join(gate.staled_by, ", "));
      std::vector<std::string> codes;
      for (const Criterion& c : catalogue->criteria) {
        if (c.gate == gate.id) codes.push_back(c.code);
      }
      AddField(e, "criteria", Join(codes, " "));
      AddField(e, "source", gate.source);
      return e;
    }
  }
  if (const FactInfo* fact = catalogue->Fact(asked)) {
    Explanation e{fact->id, fact->means, "fact", {}};
    AddField(e, "of every", std::string(ToString(fact->on)));
    AddField(e, "seen by", fact->by);
    AddField(e, "unit", std::string(ToString(fact->unit)));
    return e;
  }
  if (const auto term = FindTerm(asked)) return OfTerm(*term);
  const auto near = Nearest(code, ExplainableCodes());
  return Fail(Code::kNotFound, fmt::format("nothing is known of \"{}\"{}", asked,
                                           near ? fmt::format("; did you mean {}?", *near) : ""));
}

std::vector<std::string> ExplainableCodes() {
  std::vector<std::string> codes;
  const auto catalogue = LoadEmbedded();
  if (!catalogue.ok()) return codes;
  for (const Criterion& c : (*catalogue)->criteria) codes.push_back(c.code);
  for (const GateInfo& gate : (*catalogue)->gates) codes.push_back(fmt::format("GATE-{}", gate.id));
  for (const FactInfo& fact : (*catalogue)->facts) codes.push_back(fact.id);
  for (const LabFaultInfo& fault : LabFaults()) codes.push_back(fault.name);
  for (const std::string& name : ReferenceNames()) codes.push_back(name);
  for (const GlossaryTerm& term : Glossary())
    codes.insert(codes.end(), term.names.begin(), term.names.end());
  if (const auto rules = LoadLintRules(); rules.ok()) {
    for (const auto& [code, rule] : (*rules)->by_code) codes.push_back(code);
  }
  return codes;
}

}  // namespace muster
