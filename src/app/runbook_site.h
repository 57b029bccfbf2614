// Where a site keeps its runbook runs, and what they say of one another: beside the bring-up runs,
// in .muster/runbooks/. Each run is a folder: its journal, its evidence, and what people ask of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/site_state.h"
#include "engine/file_locks.h"
#include "engine/journal_log.h"
#include "engine/reconcile.h"

namespace muster {

struct RunbookPaths {
  explicit RunbookPaths(const SitePaths& site) : root(site.state + "/runbooks") {}
  std::string root;
  std::string Folder(const std::string& run) const { return root + "/" + run; }
  std::string Journal(const std::string& run) const { return Folder(run) + "/journal"; }
  std::string Requests(const std::string& run) const { return Folder(run) + "/requests"; }
  std::string Evidence(const std::string& run) const { return Folder(run) + "/evidence"; }
  std::string Locks() const { return root + "/locks.json"; }
};

// Names of runs, oldest first.
Result<std::vector<std::string>> ListRunbookRuns(Files& files, const RunbookPaths& paths);

// A run's journal that cannot be read stands as live: its locks are not reclaimed.
engine::Standing StandingOf(Files& files, const RunbookPaths& paths, const std::string& run);
engine::FileLocks SiteLocks(World& world, const RunbookPaths& paths, Actuator& actuator);

// Attempts of other runs, from their journals.
class JournalHistory final : public engine::History {
 public:
  JournalHistory(Files& files, RunbookPaths paths, std::string asking)
      : files_(files), paths_(std::move(paths)), asking_(std::move(asking)) {}
  Result<int> Attempts(const Subject& on, Rung rung, TimePoint since) override;

 private:
  Files& files_;
  RunbookPaths paths_;
  std::string asking_;
};

// What people ask of a run is a file in its requests folder until the run takes it up.
class FolderRequests final : public engine::Requests {
 public:
  FolderRequests(Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}
  std::vector<Request> Take() override;
  static Status Put(World& world, const std::string& folder, const Request& request);

 private:
  Files& files_;
  std::string folder_;
};

// Nodes with our mark, held against the runs.
Result<std::vector<engine::MarkFinding>> ReconcileSite(World& world, const RunbookPaths& paths,
                                                       Actuator& actuator);

}  // namespace muster
