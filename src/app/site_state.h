// Where a site keeps what Muster writes: beside the site file, in .muster/. Runs, signed waivers,
// baselines, the signing key, and the lock that lets one run at a time work on a site.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/run.h"
#include "base/digest.h"
#include "world/world.h"

namespace muster {

struct SitePaths {
  std::string site_file, folder, state;
  std::string RunFolder(const std::string& run) const { return state + "/runs/" + run; }
  std::string Ledger(const std::string& run) const { return RunFolder(run) + "/ledger"; }
  std::string Runs() const { return state + "/runs"; }
  std::string Lock() const { return state + "/lock"; }
  std::string Signatures() const { return state + "/signatures.json"; }
  std::string Key() const { return state + "/signing.key"; }
  std::string Baselines() const { return state + "/baselines"; }
};
SitePaths PathsOf(const std::string& site_file);

// Run names of a site, oldest first. A site that never ran has none.
Result<std::vector<std::string>> ListRuns(Files& files, const SitePaths& paths);
// "r-20261120T031200-7f3a": sorts by time, unique by chance.
std::string NewRunName(TimePoint now, Random& random);

// The site's own signing key, made on first use, readable by its owner only.
Result<SigningKey> SiteKey(World& world, const SitePaths& paths);

// A signed statement of a person: a waiver of a gate, or the sign-off of gate 1.
struct Waiver {
  int gate = 0;
  std::string by, reason;
  TimePoint at, until;
  std::string public_key, signature;

  std::string Canonical() const;  // what is signed
  bool SignatureHolds() const;
  bool Covers(int which, TimePoint now) const {
    return which == gate && now >= at - std::chrono::minutes(5) && now < until;
  }
};
// Waivers whose signature holds; a file that was edited is kCorrupt naming the entry.
Result<std::vector<Waiver>> ReadWaivers(Files& files, const SitePaths& paths);
// Signs and stores. kInvalid when a field is empty, `until` is not in the future or more than 90
// days off.
Result<Waiver> AddWaiver(World& world, const SitePaths& paths, int gate, const std::string& by,
                         const std::string& reason, TimePoint until);

}  // namespace muster
