#include "app/advise.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

std::set<std::string> WordsOf(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '/') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

// Words that are in every question.
bool SaysNothing(const std::string& word) {
  static const std::set<std::string> kCommon = {"a",    "an",   "the", "is", "are", "my",   "of",
                                                "in",   "on",   "to",  "it", "and", "or",   "not",
                                                "for",  "with", "why", "i",  "job", "jobs", "gpu",
                                                "gpus", "does", "do",  "at", "its", "by",   "no"};
  return kCommon.contains(word);
}

}  // namespace

std::string_view ActsWhen(int acts) {
  constexpr std::array<std::string_view, 7> kStages = {
      "1 before anything is written", "2 admission",     "3 placement",         "4 on the node",
      "5 rendezvous and network",     "6 while it runs", "7 after value exists"};
  return acts >= 1 && acts <= 7 ? kStages[static_cast<size_t>(acts - 1)] : "?";
}

Result<std::vector<Advice>> ParseAdvice(std::string_view text, const std::string& name) {
  TRY(const YamlNode root, ParseYaml(text, name));
  YamlFindings findings;
  YamlReader reader(root, name, findings);
  const YamlNode* sources = reader.NeedChild("sources");
  std::vector<Advice> all;
  for (const YamlNode& item : reader.Items("entries")) {
    YamlReader entry(item, name, findings);
    Advice advice;
    advice.id = entry.Text("id");
    advice.situation = entry.Text("situation");
    advice.words = entry.TextsOr("words");
    advice.control = entry.Text("control");
    advice.acts = static_cast<int>(entry.Int("acts"));
    advice.why = entry.Text("why");
    advice.does_not = entry.Text("does_not");
    advice.validate = entry.Text("validate");
    advice.next = entry.Text("next");
    const std::string source = entry.Text("source");
    const YamlNode* full = sources == nullptr ? nullptr : sources->Find(source);
    if (full == nullptr)
      entry.Say(fmt::format("source {} is not in the list of sources", source));
    else
      advice.source = full->text;
    if (advice.acts < 1 || advice.acts > 7) entry.Say("acts: expected 1 to 7");
    if (advice.words.empty()) entry.Say("words: expected at least one");
    entry.Done();
    all.push_back(std::move(advice));
  }
  reader.Done();
  TRY_VOID(ToStatus(findings));
  return all;
}

Result<std::vector<Advice>> EmbeddedAdvice() {
  const auto text = FindEmbedded("advice.yaml");
  if (!text) return Fail(Code::kInternal, "this binary has no advice.yaml");
  return ParseAdvice(*text, "advice.yaml");
}

std::vector<Advice> Advise(const std::vector<Advice>& all, std::string_view asked) {
  std::vector<Advice> fits = all;
  std::set<std::string> words = WordsOf(asked);
  const bool anything = words.empty();
  std::erase_if(words, SaysNothing);
  for (Advice& advice : fits) {
    std::set<std::string> known = WordsOf(advice.situation + " " + advice.id);
    for (const std::string& word : advice.words) known.merge(WordsOf(word));
    advice.matches = static_cast<size_t>(std::count_if(
        words.begin(), words.end(), [&](const std::string& word) { return known.contains(word); }));
    if (EqualsIgnoreCase(advice.id, Trim(asked))) advice.matches = words.size() + 1;
  }
  if (!anything) {
    size_t most = 0;
    for (const Advice& advice : fits) most = std::max(most, advice.matches);
    // One word of several is a coincidence where another entry knows more of them.
    std::erase_if(fits, [&](const Advice& a) { return a.matches == 0 || a.matches * 2 < most; });
  }
  std::stable_sort(fits.begin(), fits.end(), [&](const Advice& a, const Advice& b) {
    return std::make_tuple(-static_cast<int>(anything ? 0 : a.matches), a.acts) <
           std::make_tuple(-static_cast<int>(anything ? 0 : b.matches), b.acts);
  });
  return fits;
}

}  // namespace muster
