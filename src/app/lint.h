// `muster lint`: manifests and sbatch scripts of files and folders, held to the platform contract
// before anything is applied. Reads only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/lint/lint.h"
#include "manifest/gangs.h"
#include "model/site.h"
#include "world/files.h"

namespace muster {

struct LintReport {
  std::vector<LintFinding> findings;
  std::vector<ManifestNote> notes;      // what is read and not acted on by Muster's own scheduler
  std::vector<std::string> unreadable;  // "file:line:column: what"
  std::vector<std::string>
      not_judged;  // "file:line: Site lab": objects of kinds that no rule knows
  size_t files = 0, documents = 0;
  int errors = 0, warnings = 0, infos = 0;
  std::string patch;  // of every finding that has a repair; applies with patch -p0
  int repaired = 0;   // findings that the patch takes away

  // Nothing that a rule is about was read: no findings then say nothing.
  bool Empty() const { return documents == not_judged.size(); }
};

// Folders are searched for .yaml, .yml, .json, .sh and .sbatch (a .sh without #SBATCH lines is
// passed over). kNotFound for a path that is not there; kInvalid when nothing was found to read.
Result<LintReport> LintPaths(Files& files, const std::vector<std::string>& paths,
                             const std::optional<Site>& site);
// Writes the repaired files (atomically, one by one); the paths that were changed.
Result<std::vector<std::string>> ApplyRepairs(Files& files, const LintReport& report);

}  // namespace muster
