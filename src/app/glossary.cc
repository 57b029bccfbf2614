#include "app/glossary.h"

#include <algorithm>
#include <span>

#include "base/strings.h"
#include "catalogue/embedded.h"

namespace muster {

std::span<const EmbeddedFile> EmbeddedGlossary();  // written by cmake/embed.cmake

namespace {

// Markdown's marks of weight and code, taken away.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '*' && c != '`') plain += c;
  }
  return std::string(Trim(plain));
}

void AddNames(std::string_view text, std::vector<std::string>& names) {
  for (const std::string_view part : Split(text, ',')) {
    if (std::string name = Plain(part); !name.empty()) names.push_back(std::move(name));
  }
}

// "rail", "LID, GUID", "bus bandwidth (busbw)", and a "(host channel adapter)" behind the name.
std::vector<std::string> NamesIn(std::string_view bold, std::string_view behind) {
  std::vector<std::string> names;
  const size_t open = bold.find('(');
  AddNames(bold.substr(0, open), names);
  for (const std::string_view text :
       {open == std::string_view::npos ? "" : bold.substr(open), Trim(behind)}) {
    if (text.size() > 2 && text.front() == '(' && text.back() == ')')
      AddNames(text.substr(1, text.size() - 2), names);
  }
  return names;
}

// The terms of one entry: each "**bold** (...):" begins one.
void ReadEntry(std::string_view entry, const std::string& section,
               std::vector<GlossaryTerm>& terms) {
  size_t at = 0;
  while (true) {
    const size_t begin = entry.find("**", at);
    const size_t end = begin == std::string_view::npos ? begin : entry.find("**", begin + 2);
    if (end == std::string_view::npos) break;
    at = end + 2;
    const size_t colon = entry.find(':', at);
    if (colon == std::string_view::npos) break;
    const std::string_view behind = Trim(entry.substr(at, colon - at));
    if (!behind.empty() && (behind.front() != '(' || behind.back() != ')')) continue;
    GlossaryTerm term;
    term.names = NamesIn(entry.substr(begin + 2, end - begin - 2), behind);
    if (term.names.empty()) continue;
    term.name = term.names.front();
    term.meaning = Plain(entry.substr(colon + 1));
    term.section = section;
    terms.push_back(std::move(term));
  }
}

}  // namespace

std::vector<GlossaryTerm> ParseGlossary(std::string_view markdown) {
  std::vector<GlossaryTerm> terms;
  std::string section, entry;
  const auto finish = [&] {
    ReadEntry(entry, section, terms);
    entry.clear();
  };
  for (const std::string_view line : Lines(markdown)) {
    if (const auto head = After(line, "## ")) {
      finish();
      section = std::string(Trim(*head));
    } else if (const auto item = After(line, "- ")) {
      finish();
      entry = std::string(*item);
    } else if (!entry.empty() && StartsWith(line, "  ")) {
      entry += " " + std::string(Trim(line));
    } else {
      finish();
    }
  }
  finish();
  return terms;
}

const std::vector<GlossaryTerm>& Glossary() {
  static const std::vector<GlossaryTerm> kTerms = [] {
    std::vector<GlossaryTerm> terms;
    for (const EmbeddedFile& file : EmbeddedGlossary()) {
      for (GlossaryTerm& term : ParseGlossary(file.text)) terms.push_back(std::move(term));
    }
    return terms;
  }();
  return kTerms;
}

std::optional<GlossaryTerm> FindTerm(std::string_view name) {
  for (const GlossaryTerm& term : Glossary()) {
    for (const std::string& known : term.names) {
      if (EqualsIgnoreCase(known, Trim(name))) return term;
    }
  }
  return std::nullopt;
}

}  // namespace muster
