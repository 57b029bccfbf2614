// What a bring-up run is, as plain values: its header, and for each gate the evidence, the
// verdicts, the suspects, and what opened it. The ledger stores them, `verify` recomputes them, the
// views print them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/observe.h"
#include "base/time.h"
#include "evidence/suspects.h"
#include "evidence/verdict.h"

namespace muster {

struct RunHeader {
  std::string run;  // "r-20261120T031200-7f3a"
  std::string site_name;
  std::string site_text;  // the site file as it was read: the run can be judged again without it
  std::string site_sha256;
  std::string catalogue_sha256;
  std::string version;  // of Muster
  std::string by;       // user@host
  int from = 1, to = 8;
  std::string scope;               // "" = the whole site
  std::vector<std::string> nodes;  // of the scope
  TimePoint at;
  Origin origin = Origin::kLive;
  bool look_only = false;  // no acts and no proofs: what `watch` does
};

// A criterion that does not apply here, and why; decided before anything is judged.
struct NotApplicable {
  std::string code, title, reason;
};

struct ActRecord {
  std::string name;
  std::vector<std::string> argv;
  std::string outcome;  // "", "done", "already so", "failed", "in doubt"
  std::string output;   // the tail of what it printed
  int exit_code = 0;
};

struct GateResult {
  int gate = 0;
  Level level = Level::kUnknown;
  std::string blocked_by;  // not empty: it was not observed, and why
  std::string waived_by;   // not empty: a signed waiver opened it ("name until time: reason")
  std::vector<Verdict> verdicts;
  size_t more_passes = 0;  // that passed and are not in `verdicts` (a look that keeps them not)
  std::vector<NotApplicable> not_applicable;
  std::vector<Suspect> suspects;
  std::map<std::string, std::string>
      components;  // driver, firmware, nccl, topology, ...: what the gate stood on
  std::map<std::string, Quantity> figures;  // busbw, MFU, TTFT, ...: what a baseline holds
  TimePoint judged_at;
  Duration took{};

  bool open() const { return level == Level::kPass || level == Level::kWarn || !waived_by.empty(); }
};

struct GateRecord {
  int gate = 0;
  TimePoint began;
  std::vector<ActRecord> acts;
  Evidence evidence;
  std::optional<GateResult> result;  // nothing: the run stopped before the gate was judged
};

struct Run {
  RunHeader header;
  std::vector<GateRecord> gates;
  bool closed = false;
  Level level = Level::kUnknown;  // of the whole run once closed
  TimePoint ended;
  std::string note;  // what recovery found: a torn tail that was cut, a resume

  const GateRecord* Find(int gate) const;
};

}  // namespace muster
