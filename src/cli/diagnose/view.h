// A diagnosis for a person and as JSON. Evidence is shown as `file:line` with its text; nothing of
// it reaches a terminal unescaped.
#pragma once

#include "app/diagnose/diagnose.h"
#include "cli/output.h"

namespace muster::cli {

Document DiagnosisView(const Context& context, const DiagnoseResult& result);
// 3 a finding, 0 nothing wrong, 4 not enough, 2 nothing that could be read.
ExitCode ExitCodeOf(const DiagnoseResult& result);
// Why parts of the input could not be read, one line each, on stderr.
void TellUnreadable(const Context& context, const DiagnoseResult& result);

}  // namespace muster::cli
