// For tests: the golden cases of captures/, read and diagnosed as the command would.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/words/case_files.h"

namespace muster::diagnose::testing {

using diagnose::Case;
// Sorted by name; none when the folder is not there. `folder` is relative to the source tree.
std::vector<Case> ReadCases(const std::string& folder);
// Compressed inputs are left to the command's own tests: nothing here unpacks.
Diagnosis DiagnoseCase(const Case& c);
Diagnosis DiagnoseCaseWith(const Knowledge& knowledge, const Case& c);
Diagnosis DiagnoseText(const std::string& text);
std::string OutcomeName(const Diagnosis& d);

}  // namespace muster::diagnose::testing
