// Repeated measurement of sets of nodes until each is clearly fast or clearly slow, with the
// bookkeeping of runs, rounds and caps.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/collective/localise.h"

namespace muster {

enum class Speed { kFast, kSlow, kUnknown };  // kUnknown: the search was stopped

class Trial {
 public:
  using Nodes = std::vector<std::string>;
  Trial(const CollectiveMeter& meter, const LocaliseOptions& options, Localisation& out)
      : meter_(meter), options_(options), out_(out) {}

  // From now on sets are measured on one rail alone, against what is healthy for it.
  void OnRail(std::optional<int> rail, double healthy);
  void SetHealthy(double healthy) { healthy_ = healthy; }
  double healthy() const { return healthy_; }
  bool stopped() const { return !out_.note.empty() && stopped_; }

  // One more measurement of each; the sets share no node. False when the search must stop.
  bool Sample(const std::vector<Nodes>& sets);
  // Measures until decided. Sets that share no node are measured together. What was decided before
  // is not asked again.
  std::vector<Speed> Ask(const std::vector<Nodes>& sets);
  Speed Ask(const Nodes& set) { return Ask(std::vector<Nodes>{set}).front(); }
  // Takes `more` fresh measurements of a set and decides by all of them together.
  Speed Confirm(const Nodes& set, int more);

  // Mean over what is healthy; 1 for a set that was not measured.
  double Ratio(const Nodes& set) const;
  bool Known(const Nodes& set) const { return samples_.contains(Key(set)); }
  // Nodes of sets that were found fast.
  const std::set<std::string>& trusted() const { return trusted_; }

 private:
  static std::string Key(const Nodes& set);
  Speed Decide(const std::string& key, bool last) const;
  void Record(const Nodes& set, const Result<double>& value);

  const CollectiveMeter& meter_;
  const LocaliseOptions& options_;
  Localisation& out_;
  std::optional<int> rail_;
  double healthy_ = 0;
  bool stopped_ = false;
  std::map<std::string, std::vector<double>> samples_;
  std::map<std::string, Speed> decided_;
  std::set<std::string> trusted_;
};

}  // namespace muster
