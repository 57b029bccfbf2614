// The JSON of `dcgmi diag -j` in one plain form, whichever DCGM wrote it: 3.x ("DCGM GPU
// Diagnostic", gpu_ids "0,1,2,3") or 4.x ("DCGM Diagnostic", entity_id, test_summary), single or
// repeated ("iterations").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::dcgm {

// What became of one test on one GPU. kUnreadable: no status, or a word that is not one.
enum class Outcome { kPass, kWarn, kSkip, kFail, kUnreadable };
std::string_view ToString(Outcome outcome);  // "Pass", "Warn", "Skip", "Fail", "?"
// "Pass", "PASS", "pass", "Skip", "SKIPPED", "Not Run", "Fail", "Warn", ...
Outcome ReadOutcome(std::string_view status);

struct DiagResult {
  std::vector<int> gpus;  // empty: the whole node (a CPU entity, a summary)
  Outcome outcome = Outcome::kUnreadable;
  bool nameless = false;   // of a GPU, but without its id
  int64_t complaints = 0;  // warnings, errors, and info lines that state a failure
  std::string first_complaint;
};

struct DiagTest {
  std::string category;  // "Hardware"
  std::string name;      // "memory": lower case, blanks as '_'; 3.x "GPU Memory" is the same test
  std::vector<DiagResult> results;
  bool has_summary = false;
  DiagResult summary;
};

struct DiagDocument {
  int major = 0;              // 3 or 4, by the name of the root; 0 when it has neither
  std::string version;        // of DCGM
  std::string runtime_error;  // set-up failed: there are no results
  std::vector<int> gpus;      // of entity_groups, and all that a result names; sorted
  std::vector<DiagTest> tests;
};

// Takes the document out of whatever stands before and after it. kParse when there is none or when
// it is cut.
Result<DiagDocument> ReadDiag(std::string_view text);

}  // namespace muster::dcgm
