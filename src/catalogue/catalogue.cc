#include "catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 4> kTypes = {"bool", "int", "real", "text"};

// The text of a list with only some of its items ("- " behind `indent`); what is no item stays.
template <typename Keep>
std::string KeepItems(std::string_view text, std::string_view indent, Keep&& keep) {
  const std::string dash = std::string(indent) + "- ";
  std::string kept, item;
  const auto end_item = [&] {
    if (!item.empty() && keep(item)) kept += item;
    item.clear();
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const bool deeper = line.starts_with(std::string(indent) + ' ') || Trim(line).empty();
    if (line.starts_with(dash)) {
      end_item();
      item = line;
    } else if (!item.empty() && deeper) {
      item += line;
    } else {
      end_item();
      kept += line;
    }
  }
  end_item();
  return kept;
}

std::vector<std::string> WordsAfter(std::string_view text, std::string_view mark) {
  std::vector<std::string> words;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at)) {
    at += mark.size();
    words.emplace_back(text.substr(at, text.find_first_of(" ,}\n", at) - at));
  }
  return words;
}

// Reads as little as one criterion needs (the library reads some 6 MB/s, the whole would take most
// of what `explain` has). When the slice does not stand alone the caller reads everything, so this
// can only be slow, never wrong.
std::optional<Criterion> LoadSliced(std::string_view code) {
  const std::string mark = fmt::format("code: {}\n", code);
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    if (!file.name.starts_with("criteria/") || !Contains(file.text, mark)) continue;
    const std::string criteria = KeepItems(file.text, "  ", [&](std::string_view item) {
      return Contains(item, mark) || Contains(item, "&");
    });
    const auto facts_wanted = WordsAfter(criteria, "fact: ");
    const auto names_wanted = WordsAfter(criteria, "expect: ");
    const auto names_in_features = WordsAfter(criteria, "expects.");
    const auto any = [](const std::vector<std::string>& words, std::string_view format_before,
                        std::string_view item) {
      return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return Contains(item, fmt::format("{}{},", format_before, word));
      });
    };
    const std::string facts =
        KeepItems(FindEmbedded("facts.yaml").value_or(""), "",
                  [&](std::string_view item) { return any(facts_wanted, "id: ", item); });
    const std::string gates =
        KeepItems(FindEmbedded("gates.yaml").value_or(""), "", [&](std::string_view item) {
          return Contains(item, fmt::format("prefix: {}\n", code.substr(0, code.find('-'))));
        });
    const std::string settings =
        KeepItems(FindEmbedded("settings.yaml").value_or(""), "  ", [&](std::string_view item) {
          return any(names_wanted, "name: ", item) || any(names_in_features, "name: ", item);
        });
    const EmbeddedFile files[] = {{"facts.yaml", facts},
                                  {"gates.yaml", gates},
                                  {"settings.yaml", settings},
                                  {file.name, criteria}};
    // Gates that were left out are not there to be needed; their order was checked with the whole.
    const auto catalogue = ParseCatalogue(files);
    if (!catalogue.ok()) return std::nullopt;
    if (const Criterion* found = catalogue->Find(code)) return *found;
  }
  return std::nullopt;
}

}  // namespace

std::string_view ToString(FactType type) { return kTypes.at(static_cast<size_t>(type)); }
Result<FactType> ParseFactType(std::string_view text) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == text) return static_cast<FactType>(i);
  }
  return Fail(Code::kInvalid, fmt::format("unknown type \"{}\", expected one of {}", text,
                                          fmt::join(kTypes, ", ")));
}

const FactInfo* Catalogue::Fact(std::string_view id) const {
  for (const FactInfo& fact : facts) {
    if (fact.id == id) return &fact;
  }
  return nullptr;
}
const GateInfo* Catalogue::Gate(int id) const {
  for (const GateInfo& gate : gates) {
    if (gate.id == id) return &gate;
  }
  return nullptr;
}
const Criterion* Catalogue::Find(std::string_view code) const {
  for (const Criterion& criterion : criteria) {
    if (EqualsIgnoreCase(criterion.code, code)) return &criterion;
  }
  return nullptr;
}
const Setting* Catalogue::FindSetting(std::string_view name) const {
  for (const Setting& setting : settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}
const GpuModel* Catalogue::ModelOf(std::string_view gpu_name) const {
  if (gpu_name.empty()) return nullptr;
  for (const GpuModel& model : gpu_models) {
    if (Contains(gpu_name, model.match)) return &model;
  }
  return nullptr;
}

Result<const Catalogue*> LoadEmbedded() {
  static const Result<Catalogue> loaded = ParseCatalogue(EmbeddedCatalogue());
  if (!loaded.ok()) return Fail(Error(loaded.error()).Context("reading the built-in catalogue"));
  return &*loaded;
}

Result<Criterion> LoadEmbeddedCriterion(std::string_view code) {
  std::string upper(code);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (auto found = LoadSliced(upper)) return std::move(*found);
  TRY(const Catalogue* const all, LoadEmbedded());
  if (const Criterion* criterion = all->Find(code)) return *criterion;
  std::vector<std::string> codes;
  for (const Criterion& criterion : all->criteria) codes.push_back(criterion.code);
  std::string what = fmt::format("no criterion has the code {}", Shorten(Printable(code), 40));
  if (const auto near = Nearest(code, codes)) what += fmt::format(", did you mean {}", *near);
  return Fail(Code::kNotFound, std::move(what));
}

}  // namespace muster
