// The field's words, offline: docs/glossary.md is in the binary, and this reads it. One text for
// people who read the documents and people who ask `muster explain busbw`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct GlossaryTerm {
  std::string name;                // the first of its names
  std::vector<std::string> names;  // "bus bandwidth", "busbw"
  std::string meaning;             // without marks
  std::string section;             // "Collectives and training"
};

// The terms of a glossary in the form of docs/glossary.md: "- **name, name (short)**: meaning",
// with more "**name**: meaning" in the same entry. Pure; what is not in this form is passed over.
std::vector<GlossaryTerm> ParseGlossary(std::string_view markdown);
// Of the document in the binary.
const std::vector<GlossaryTerm>& Glossary();
// By any of its names, case aside.
std::optional<GlossaryTerm> FindTerm(std::string_view name);

}  // namespace muster
