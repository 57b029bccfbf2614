// Reading and checking catalogue/lint/.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/lint.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

Result<LintSeverity> ParseLintSeverity(std::string_view text) {
  for (const LintSeverity s : {LintSeverity::kInfo, LintSeverity::kWarning, LintSeverity::kError}) {
    if (ToString(s) == text) return s;
  }
  return Fail(Code::kInvalid, "expected error, warning or info");
}

class Loader {
 public:
  explicit Loader(LintRules& into) : into_(into) {}

  void File(const EmbeddedFile& file) {
    auto root = ParseYaml(file.text, file.name);
    if (!root.ok()) {
      findings_.push_back({std::string(file.name), {}, root.error().message});
      return;
    }
    YamlReader top(*root, file.name, findings_);
    top.TextOr("source", "");
    for (const YamlNode& item : top.Items("rules")) Rule(item, file.name);
    Texts(top.Child("examples"), into_.examples);
    Texts(top.Child("kinds"), into_.kinds);
    if (const YamlNode* lists = top.Child("lists")) {
      for (const YamlEntry& e : lists->entries) {
        auto& list = into_.lists[e.key];
        for (const YamlNode& item : e.value.items) list.push_back(item.text);
        for (const std::string_view word : SplitBlank(e.value.text)) list.emplace_back(word);
      }
    }
    if (const YamlNode* types = top.Child("types")) {
      for (const YamlEntry& e : types->entries) {
        auto& fields = into_.types[e.key];
        for (const std::string_view word : SplitBlank(e.value.text)) {
          const size_t colon = word.find(':');
          fields[std::string(word.substr(0, colon))] =
              colon == std::string_view::npos ? "" : std::string(word.substr(colon + 1));
        }
      }
    }
    top.Done();
  }

  Status Finish() { return ToStatus(findings_); }

 private:
  static void Texts(const YamlNode* node, std::map<std::string, std::string, std::less<>>& into) {
    if (node == nullptr) return;
    for (const YamlEntry& e : node->entries) into[e.key] = e.value.text;
  }

  void Rule(const YamlNode& item, std::string_view file) {
    YamlReader r(item, file, findings_);
    LintRule rule;
    rule.code = r.Text("code");
    rule.severity = r.Parsed("severity", &ParseLintSeverity, LintSeverity::kWarning);
    rule.title = r.Text("title");
    rule.why = r.Text("why");
    rule.fix = r.Text("fix");
    rule.source = r.Text("source");
    if (const YamlNode* env = r.Child("env")) {
      YamlReader e(*env, file, findings_);
      LintEnv one;
      one.names = e.TextsOr("names");
      one.values = e.TextsOr("values");
      one.remove = e.BoolOr("remove", false);
      one.set = e.TextOr("set", "");
      e.Done();
      rule.env = std::move(one);
    }
    if (const YamlNode* bad = r.NeedChild("bad")) {
      YamlReader e(*bad, file, findings_);
      rule.bad.of = e.Text("of");
      rule.bad.site = e.TextOr("site", "");
      for (std::string& code : e.TextsOr("also")) rule.bad.also.insert(std::move(code));
      for (const YamlNode& change : e.Items("change")) {
        if (change.items.size() != 2) {
          e.SayAt(change, "expected [what stands there, what it becomes]");
          continue;
        }
        rule.bad.changes.emplace_back(change.items[0].text, change.items[1].text);
      }
      e.Done();
    }
    r.Done();
    if (!StartsWith(rule.code, "LINT-"))
      r.Say(fmt::format("code {}: expected LINT-nnn", rule.code));
    std::string code = rule.code;
    if (!into_.by_code.emplace(std::move(code), std::move(rule)).second)
      r.Say("this code is there twice");
  }

  LintRules& into_;
  YamlFindings findings_;
};

}  // namespace

Result<std::string> LintRules::ExampleText(const LintRule& rule, bool good) const {
  const auto found = examples.find(rule.bad.of);
  if (found == examples.end())
    return Fail(Code::kNotFound, fmt::format("{}: there is no example {}", rule.code, rule.bad.of));
  std::string text = found->second;
  if (good) return text;
  for (const auto& [from, to] : rule.bad.changes) {
    const size_t at = text.find(from);
    if (at == std::string::npos || text.find(from, at + 1) != std::string::npos)
      return Fail(Code::kInvalid,
                  fmt::format("{}: \"{}\" does not stand exactly once in example {}", rule.code,
                              from, rule.bad.of));
    text.replace(at, from.size(), to);
  }
  return text;
}

Result<LintRules> ParseLintRules(std::span<const EmbeddedFile> files) {
  LintRules rules;
  Loader loader(rules);
  for (const EmbeddedFile& file : files) {
    if (StartsWith(file.name, "lint/")) loader.File(file);
  }
  TRY_VOID(loader.Finish());
  return rules;
}

Result<const LintRules*> LoadLintRules() {
  static const Result<LintRules> kRules = ParseLintRules(EmbeddedCatalogue());
  if (!kRules.ok()) return Fail(Error(kRules.error()));
  return &*kRules;
}

}  // namespace muster
