// Takes back a commit in a repository of the site's, on this machine: `git revert` in a worktree
// beside it, then the branch moves forward to it. A conflict, a dirty tree or a branch that moved
// leaves everything as it was. Pushed only where the step asks for it, and never by force.
#pragma once

#include <string>
#include <vector>

#include "backend/actuator.h"
#include "backend/host/act_place.h"
#include "backend/host/git_history.h"
#include "model/site.h"

namespace muster::host {

struct RepositoryOptions {
  std::string folder;        // where relative paths of the site file are meant from
  std::string state_folder;  // where its acts are written down
  int wait_s = 20;           // for a revert's end, before it is said to be begun
};

class RepositoryActuator final : public Actuator {
 public:
  // Borrowed. `here` are the processes of this machine.
  RepositoryActuator(const Site& site, Processes& here, RepositoryOptions options)
      : site_(site), here_(here), options_(std::move(options)) {}

  Origin origin() const override { return Origin::kLive; }
  std::vector<ActKind> Can() const override;
  Status CheckAct(const Action& action) const override;
  std::vector<std::string> Render(const Action& action) const override;
  // kUnavailable for a tree with changes that are in no commit, for a commit that is not on the
  // branch, for a detached HEAD.
  Result<Fingerprint> Before(const Action& action) override;
  DidResult Do(const Order& order) override;
  // A revert that stands on the branch: on the remote's where it was to be pushed.
  ProbeResult Probe(const Order& order) override;

  // It holds no nodes, and no work runs in it.
  Result<Hold> ReadHold(const std::string& node) override;
  Result<Fleet> ReadFleet() override { return Fleet{}; }
  Result<std::vector<RunningJob>> JobsOn(const std::string& node) override;

 private:
  struct Tree {
    std::string path, remote;  // remote: "" = it is not pushed
  };
  Result<Tree> TreeOf(const Action& action) const;
  ActPlace PlaceOf(const Action& action) const;
  // What git prints; kUnavailable with what it complains of.
  Result<std::string> Git(const std::string& path, Words words);
  // The full id of the commit; kUnavailable where it is not on the branch.
  Result<std::string> CommitOn(const std::string& path, const std::string& name,
                               const std::string& tip);
  // The commit that reverts `id` on the way to `tip`.
  Result<std::optional<std::string>> Reverted(const std::string& path, const std::string& id,
                                              const std::string& tip);
  // Where the branch ends: here, or at the remote.
  Result<std::string> TipOf(const Tree& tree, const std::string& branch);

  const Site& site_;
  Processes& here_;
  const RepositoryOptions options_;
};

}  // namespace muster::host
