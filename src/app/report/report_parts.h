// What the forms of the report share: the rows of a gate, one for each criterion and verdict.
#pragma once

#include <string>
#include <vector>

#include "app/report/report.h"

namespace muster {

struct CriterionRow {
  std::string code, title, wanted, measured, verdict, source;
  std::string subjects;  // "node003", or "32 gpus", or "3 of 32 gpus: node001/gpu3, ..."
  size_t count = 0;
  Level level = Level::kPass;
};
// Verdicts of one criterion and level are one row; what does not pass comes first.
std::vector<CriterionRow> RowsOf(const GateResult& result, const Catalogue& catalogue);
// "PASS", "FAIL", "FAIL (waived)", "NOT OBSERVED".
std::string LevelLabel(const GateResult& result);

}  // namespace muster
