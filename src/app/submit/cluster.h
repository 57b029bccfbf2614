// What `muster submit` does with a plan, over the real network or a fake one: preview, prove,
// apply, follow. Whoever shows it to a person gives the callbacks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/submit/plan.h"
#include "backend/kubernetes/standing.h"
#include "world/world.h"

namespace muster::submit {

struct ClusterWords {
  std::string kubeconfig, context;
};

struct Steps {
  bool preview_only = false;  // --dry-run
  bool prove = false;         // the twin first
  bool follow = true;
  Duration every = std::chrono::seconds(1);
};
struct Callbacks {
  // A diff, or "unchanged".
  std::function<void(const std::string& title, bool exists, const std::string& diff)> change;
  std::function<void(const std::string& line)> live;  // where it stands; often the same as before
  std::function<void(const std::string& note)> note;
  std::function<bool()> stopped;  // the person has seen enough; the job goes on
};

struct Outcome {
  bool applied = false, proven = false, changed = false;
  Standing standing;  // of the job, as last seen
  Standing twin;      // with `prove`
  std::string server;
};

// kRefused where the twin failed: the job was not submitted, the twin was removed and is gone.
Result<Outcome> SubmitTo(const World& world, const ClusterWords& where, const Plan& plan,
                         const Steps& steps, const Callbacks& say);

}  // namespace muster::submit
