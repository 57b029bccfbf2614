// Bring-up: the eight gates in order. Each is acted for (if the site says so),
// observed, proven, judged, localised when it fails, and written to the ledger
// before the next one is touched. Nothing advances past a gate that did not
// open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/ledger.h"
#include "app/proofs.h"
#include "app/site_file.h"
#include "app/site_state.h"
#include "backend/actuator.h"
#include "catalogue/catalogue.h"

namespace muster {

// Everything a use case on one site needs, made once by OpenSite.
struct SiteContext {
  std::unique_ptr<LoadedSite> file;  // behind a pointer: hosts and jobs borrow the site inside
  SitePaths paths;
  const Catalogue* catalogue = nullptr;  // the embedded one
  World world;                           // this machine
  std::unique_ptr<Hosts> hosts;
  std::unique_ptr<Jobs> jobs;
  std::unique_ptr<Endpoints> endpoints;
  std::vector<std::string> own_training = {};    // ProofContext::own_training
  std::unique_ptr<Actuator> actuator = nullptr;  // nothing: this kind of site is only looked at

  const Site& site() const { return file->site; }
};
struct OpenOptions {
  std::string self_binary;          // path of muster itself: the lab's ranks are processes of it
  bool modelled_telemetry = false;  // lab: answer Prometheus from the model,
                                    // start nothing (exam, very large labs)
};
Result<SiteContext> OpenSite(const std::string& site_file, World world, const OpenOptions& options);

struct BringupOptions {
  int from = 1, to = 8;
  std::string scope;                 // a scope of the site
  std::vector<std::string> nodes;    // or node names; empty = all
  std::string by;                    // user@host
  bool approve_destructive = false;  // acts marked destructive run only with it
  bool keep_readings = true;
  bool look_only = false;  // no acts, no proofs, nothing that loads a GPU: what `watch` does
};

// One gate, looked at now: what applies is judged, suspects are named. No acts.
// Used by run, check and watch.
GateResult JudgeGate(const SiteContext& context, int gate, const std::vector<std::string>& nodes,
                     const Evidence& evidence, TimePoint now);
// A look without proofs leaves out, before judging, the criteria that only a
// proof can answer, and says so; a gate of which nothing is left then is
// UNKNOWN.
enum class Proofs { kRun, kNotRun };
GateResult JudgeEvidence(const Site& site, const Catalogue& catalogue, int gate,
                         const std::vector<std::string>& nodes, const Observations& observations,
                         TimePoint now, Proofs proofs = Proofs::kRun);
// Observes and proves one gate.
Evidence LookAtGate(SiteContext& context, int gate, const std::vector<std::string>& nodes,
                    const std::string& run, bool with_proofs, bool keep_readings,
                    Progress& progress);

// Runs the gates under the site's lock; kConflict names the run that holds it.
// The ledger is closed when it returns a Run; kCancelled, with the ledger whole
// and open, when the progress said Stopped.
Result<Run> RunBringup(SiteContext& context, const BringupOptions& options, Progress& progress);
// Continues the newest run that is not closed; kNotFound when there is none.
Result<Run> ResumeBringup(SiteContext& context, const BringupOptions& options, Progress& progress);

// The site's standing: for each gate its newest result over all runs, whether
// it is stale, and what opens it.
struct GateStatus {
  int gate = 0;
  std::string name;
  Level level = Level::kUnknown;
  std::string run;  // empty: never judged
  TimePoint judged_at;
  std::string waived_by, stale_because, blocked_by;
  std::vector<Suspect> suspects;
  size_t passed = 0, warned = 0, failed = 0, unknown = 0, not_applicable = 0;
  Origin origin = Origin::kLive;
  bool open = false;  // passes now: judged so, not stale, or waived
};
struct SiteStatus {
  std::string site;
  std::vector<GateStatus> gates;
  std::string unfinished_run;  // a run that can be resumed
  std::vector<Waiver> waivers;
};
Result<SiteStatus> StatusOf(const SiteContext& context);

// What a run would do, without doing it: acts rendered, reads and proofs
// listed, criteria counted.
struct GatePlan {
  int gate = 0;
  std::string name;
  std::vector<Act> acts;
  std::vector<std::string> reads;  // "iblinkinfo on fabric"
  std::vector<std::string> proofs;
  size_t criteria = 0;
  std::vector<NotApplicable> not_applicable;
  bool already_open = false;
};
Result<std::vector<GatePlan>> PlanBringup(const SiteContext& context,
                                          const BringupOptions& options);

// Judges a stored run again from its raw readings. `differences` is empty when
// every verdict came out the same.
struct Verification {
  size_t gates = 0, verdicts = 0, readings = 0;
  std::vector<std::string> differences;
  bool same_catalogue = true;
};
Result<Verification> VerifyRun(Files& files, const std::string& ledger_path,
                               const Catalogue& catalogue);

}  // namespace muster
