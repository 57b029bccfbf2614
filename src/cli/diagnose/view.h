// A diagnosis for a person and as JSON. Evidence is shown as `file:line` with its text; nothing of
// it reaches a terminal unescaped.
#pragma once

#include "app/diagnose/diagnose.h"
#include "cli/output.h"

namespace muster::cli {

Document DiagnosisView(const Context& context, const DiagnoseResult& result);
// Puts the causes behind a document's verdicts under it: in the table and the short form the first
// few with their next command, in JSON all of them as "diagnosis". Nothing found adds nothing.
void AddDiagnosis(const Context& context, const diagnose::Diagnosis& diagnosis, Document& document);
// 3 a finding, 0 nothing wrong, 4 not enough, 2 nothing that could be read.
ExitCode ExitCodeOf(const DiagnoseResult& result);
// Why parts of the input could not be read, one line each, on stderr.
void TellUnreadable(const Context& context, const DiagnoseResult& result);

}  // namespace muster::cli
