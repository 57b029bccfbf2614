// Recorded acceptance baselines (B11): the figures of a run that was accepted. Later runs are held
// against it; a drift is named as a regression of the fabric, of training or of serving, with its
// noise band.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/site_state.h"

namespace muster {

struct Baseline {
  std::string name, run, scope;
  TimePoint at;
  Origin origin = Origin::kLive;
  std::map<std::string, Quantity> figures;
};

struct Drift {
  std::string figure;
  Quantity was, is;
  double change = 0;       // (is - was) / was
  double tolerance = 0;    // share that is called noise
  bool worse = false;      // beyond the tolerance, in the direction that hurts
  std::string regression;  // "fabric", "training", "inference", "telemetry"
};

// Figures of every judged gate of a run. kRefused when a gate with figures did not open: a failed
// run is no baseline.
Result<Baseline> BaselineFromRun(const Run& run, const std::string& name);
Status SaveBaseline(World& world, const SitePaths& paths, const Baseline& baseline);
Result<std::vector<Baseline>> ListBaselines(Files& files, const SitePaths& paths);
// Compares figure by figure; one that is missing now is a drift with NaN, and worse: what is not
// measured is not accepted.
std::vector<Drift> CompareToBaseline(const Baseline& baseline,
                                     const std::map<std::string, Quantity>& now, double tolerance);
std::map<std::string, Quantity> FiguresOfRun(const Run& run);

}  // namespace muster
