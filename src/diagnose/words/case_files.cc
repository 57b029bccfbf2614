#include "diagnose/words/case_files.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "yaml/yaml.h"

namespace muster::diagnose {

namespace fs = std::filesystem;

std::string ReadWhole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Case> ReadCases(const fs::path& folder) {
  std::vector<Case> cases;
  if (!fs::exists(folder)) return cases;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    Case c;
    c.name = entry.path().filename().string();
    for (const auto& file : fs::directory_iterator(entry.path())) {
      const std::string name = file.path().filename().string();
      if (name.ends_with(".gz")) continue;
      if (name != "expected.yaml") {
        c.files.emplace_back(name, ReadWhole(file.path()));
        continue;
      }
      const auto yaml = ParseYaml(ReadWhole(file.path()), name);
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

}  // namespace muster::diagnose
