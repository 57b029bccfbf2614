#include "diagnose/testing/case_set.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "diagnose/decode.h"
#include "yaml/yaml.h"

#ifndef MUSTER_SOURCE_DIR
#define MUSTER_SOURCE_DIR "."
#endif

namespace muster::diagnose::testing {

namespace {

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

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
  namespace fs = std::filesystem;
  std::vector<Case> cases;
  const fs::path root = fs::path(MUSTER_SOURCE_DIR) / folder;
  if (!fs::exists(root)) return cases;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    Case c;
    c.name = entry.path().filename().string();
    for (const auto& file : fs::directory_iterator(entry.path())) {
      const std::string name = file.path().filename().string();
      if (name.ends_with(".gz")) continue;
      if (name != "expected.yaml") {
        c.files.emplace_back(name, ReadAll(file.path()));
        continue;
      }
      const auto yaml = ParseYaml(ReadAll(file.path()), name);
      if (!yaml.ok()) continue;
      const auto text = [&](std::string_view key) {
        const YamlNode* node = yaml->Find(key);
        return node == nullptr ? std::string() : node->text;
      };
      c.outcome = text("outcome");
      c.cause = text("cause");
      c.provenance = text("provenance");
      c.source = text("source");
    }
    std::sort(c.files.begin(), c.files.end());
    if (!c.files.empty()) cases.push_back(std::move(c));
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Diagnosis DiagnoseCase(const Case& c) {
  const Knowledge& knowledge = *LoadKnowledge().value();
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
