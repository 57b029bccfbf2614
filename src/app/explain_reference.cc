#include "app/explain_reference.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

struct Book {
  std::string_view file, kind, number_prefix;
};
constexpr std::array kBooks = {
    Book{"reference/dcgm_errors.yaml", "DCGM error", "DCGM-ERROR-"},
    Book{"reference/dcgm_fields.yaml", "DCGM field", "DCGM-FIELD-"},
    Book{"reference/nccl_variables.yaml", "NCCL variable", ""},
    Book{"reference/fabric_counters.yaml", "fabric counter", ""},
};
constexpr std::string_view kStart = "- {id: ";

// The entries of a book as text, each from "- {id: " to the next.
std::vector<std::string_view> EntryTexts(std::string_view text) {
  std::vector<std::string_view> entries;
  size_t at = text.find("\n- {id: ");
  while (at != std::string_view::npos) {
    const size_t next = text.find("\n- {id: ", at + 1);
    const size_t end = next == std::string_view::npos ? text.size() : next + 1;
    entries.push_back(text.substr(at + 1, end - at - 1));
    at = next;
  }
  return entries;
}

std::string_view IdOf(std::string_view entry) {
  const std::string_view rest = entry.substr(kStart.size());
  return rest.substr(0, rest.find_first_of(",}"));
}

// The quoted or bare text of `key: value` in an entry of flat values; empty without the key.
std::string_view FlatValue(std::string_view entry, std::string_view key) {
  const std::string mark = fmt::format("{}: ", key);
  size_t at = entry.find(mark);
  while (at != std::string_view::npos && at > 0 && entry[at - 1] != ' ')
    at = entry.find(mark, at + 1);
  if (at == std::string_view::npos) return {};
  std::string_view rest = entry.substr(at + mark.size());
  if (rest.empty() || rest.front() != '"') return rest.substr(0, rest.find_first_of(",}\n"));
  rest.remove_prefix(1);
  return rest.substr(0, rest.find('"'));
}

std::string_view ShortName(std::string_view id) {
  for (const std::string_view prefix : {"DCGM_FI_DEV_", "DCGM_FI_", "DCGM_FR_"}) {
    if (StartsWith(id, prefix)) return id.substr(prefix.size());
  }
  return id;
}

bool IsAsked(const Book& book, std::string_view entry, std::string_view asked) {
  const std::string_view id = IdOf(entry), also = FlatValue(entry, "also");
  if (EqualsIgnoreCase(id, asked) || EqualsIgnoreCase(ShortName(id), asked)) return true;
  if (!also.empty() && (EqualsIgnoreCase(also, asked) || EqualsIgnoreCase(ShortName(also), asked)))
    return true;
  return !book.number_prefix.empty() && asked.size() > book.number_prefix.size() &&
         EqualsIgnoreCase(asked.substr(0, book.number_prefix.size()), book.number_prefix) &&
         asked.substr(book.number_prefix.size()) == FlatValue(entry, "value");
}

// "source" names a line of the file's `sources`; what is shown is that line.
std::string SourceText(std::string_view book, std::string_view name) {
  const std::string mark = fmt::format("\n  {}: ", name);
  const size_t at = book.find(mark);
  if (at == std::string_view::npos) return std::string(name);
  const std::string_view rest = book.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

std::optional<Explanation> Read(const Book& book, std::string_view text, std::string_view entry) {
  const auto parsed = ParseYaml(entry, std::string(book.file));
  if (!parsed.ok() || parsed->items.size() != 1) return std::nullopt;
  Explanation e{std::string(IdOf(entry)), "", std::string(book.kind), {}};
  for (const YamlEntry& field : parsed->items.front().entries) {
    if (field.key == "means") {
      e.title = field.value.text;
    } else if (field.key == "source") {
      e.fields.emplace_back("source", SourceText(text, field.value.text));
    } else if (field.key == "also") {
      e.fields.emplace_back("also named", field.value.text);
    } else if (field.key == "value") {
      e.fields.emplace_back("number", field.value.text);
    } else if (field.key != "id") {
      e.fields.emplace_back(field.key, field.value.text);
    }
  }
  return e;
}

}  // namespace

std::optional<Explanation> ExplainReference(std::string_view asked) {
  asked = Trim(asked);
  if (asked.empty()) return std::nullopt;
  for (const Book& book : kBooks) {
    const auto text = FindEmbedded(book.file);
    if (!text) continue;
    for (const std::string_view entry : EntryTexts(*text)) {
      if (IsAsked(book, entry, asked)) return Read(book, *text, entry);
    }
  }
  return std::nullopt;
}

std::vector<std::string> ReferenceNames() {
  std::vector<std::string> names;
  for (const Book& book : kBooks) {
    const auto text = FindEmbedded(book.file);
    if (!text) continue;
    for (const std::string_view entry : EntryTexts(*text)) names.emplace_back(IdOf(entry));
  }
  return names;
}

}  // namespace muster
