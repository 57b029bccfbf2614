#include "diagnose/testing/case_set.h"

#include <filesystem>

#include "diagnose/decode.h"

#ifndef MUSTER_SOURCE_DIR
#define MUSTER_SOURCE_DIR "."
#endif

namespace muster::diagnose::testing {

namespace {

void FeedFile(Reader& reader, const std::string& name, const std::string& bytes) {
  Decoder decoder;
  reader.Begin(name);
  for (size_t at = 0; at < bytes.size(); at += 65536)
    if (const auto text = decoder.Decode(std::string_view(bytes).substr(at, 65536)))
      reader.Feed(*text);
  reader.End();
}

}  // namespace

std::vector<Case> ReadCases(const std::string& folder) {
  return diagnose::ReadCases(std::filesystem::path(MUSTER_SOURCE_DIR) / folder);
}

Diagnosis DiagnoseCase(const Case& c) { return DiagnoseCaseWith(*LoadKnowledge().value(), c); }

Diagnosis DiagnoseCaseWith(const Knowledge& knowledge, const Case& c) {
  Reader reader(knowledge);
  for (const auto& [name, bytes] : c.files) FeedFile(reader, name, bytes);
  return Judge(knowledge, reader.Take());
}

Diagnosis DiagnoseText(const std::string& text) {
  return DiagnoseCase({"text", "", "", "", "", {{"text", text}}});
}

std::string OutcomeName(const Diagnosis& d) {
  return d.outcome == Outcome::kFinding   ? "finding"
         : d.outcome == Outcome::kNothing ? "nothing_wrong"
                                          : "not_enough";
}

}  // namespace muster::diagnose::testing
