// The golden cases as they lie in captures/: CASE/{input files, expected.yaml}.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace muster::diagnose {

struct Case {
  // `outcome` is finding, nothing_wrong or not_enough; `cause` is the one that stands first.
  std::string name, outcome, cause, provenance, source;
  std::vector<std::pair<std::string, std::string>> files;  // name, bytes
};

// Sorted by name; none when the folder is not there. Compressed files and cases without a readable
// expected.yaml are left out.
std::vector<Case> ReadCases(const std::filesystem::path& folder);

std::string ReadWhole(const std::filesystem::path& path);  // "" when it cannot be read

}  // namespace muster::diagnose
