// The sign-off report of a run (B12): thresholds, measured values, verdicts, suspects, and the
// digest of the evidence; as Markdown, self-contained HTML with plots (inline SVG), JSON and JUnit.
// Pure: a run in, text out.
#pragma once

#include <string>
#include <vector>

#include "app/run.h"
#include "catalogue/catalogue.h"

namespace muster {

struct ReportInput {
  const Run& run;
  const Site& site;
  const Catalogue& catalogue;
  std::string evidence_sha256;               // of the ledger file
  std::map<std::string, Quantity> baseline;  // figures of the recorded baseline; empty = none
  std::vector<std::string> waivers;          // "gate 5 by NAME until DATE: reason"
};

std::string ReportMarkdown(const ReportInput& input);
std::string ReportHtml(const ReportInput& input);
std::string ReportJson(const ReportInput& input);
std::string ReportJunit(const ReportInput& input);

// "gate 6 fabric validation: FAIL, suspect node node-03" for each gate, as the report's summary
// shows it.
std::string GateLine(const GateResult& result, const Catalogue& catalogue);

// Rows of an all-reduce sweep found in the run's evidence, for the plot: (bytes, busbw in GB/s).
// Empty when there is none.
std::vector<std::pair<double, double>> SweepOf(const Run& run);
// The loss of the training gang: (step, loss). Empty when there is none.
std::vector<std::pair<double, double>> LossesOf(const Run& run);

}  // namespace muster
