// The run loop: gate after gate, each written to the ledger before the next is touched.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "app/acts.h"
#include "app/bringup.h"
#include "base/check.h"

namespace muster {

namespace {

// Why a gate may not be looked at now; empty = it may. `open` holds what is known of the gates
// before it.
std::string BlockedBy(const GateInfo& gate, const std::map<int, bool>& open,
                      const Catalogue& catalogue) {
  for (const int need : gate.needs) {
    const auto known = open.find(need);
    if (known != open.end() && known->second) continue;
    const GateInfo* info = catalogue.Gate(need);
    return fmt::format("gate {} {} is not open", need, info == nullptr ? "" : info->name);
  }
  return "";
}

GateResult Blocked(int gate, std::string why, TimePoint now) {
  GateResult result;
  result.gate = gate;
  result.blocked_by = std::move(why);
  result.judged_at = now;
  return result;
}

std::string WaivedBy(const std::vector<Waiver>& waivers, int gate, TimePoint now) {
  for (auto waiver = waivers.rbegin(); waiver != waivers.rend(); ++waiver) {
    if (waiver->Covers(gate, now))
      return fmt::format("{} until {}: {}", waiver->by, FormatTime(waiver->until), waiver->reason);
  }
  return "";
}

std::string Summary(const GateResult& result) {
  if (!result.blocked_by.empty()) return result.blocked_by;
  if (!result.suspects.empty())
    return fmt::format("suspect {}", result.suspects.front().subject.ToString());
  return fmt::format("{} checks", result.verdicts.size());
}

class Runner {
 public:
  Runner(SiteContext& context, const BringupOptions& options, RunLedger& ledger, Progress& progress,
         Run& run)
      : context_(context), options_(options), ledger_(ledger), progress_(progress), run_(run) {}

  Status Gates(std::map<int, bool> open, const std::vector<Waiver>& waivers) {
    for (int gate = run_.header.from; gate <= run_.header.to; ++gate) {
      TRY_VOID(GoOn(gate));
      const GateRecord* done = run_.Find(gate);
      if (done == nullptr || !done->result) TRY_VOID(OneGate(gate, open, waivers));
      open[gate] = run_.Find(gate)->result->open();
    }
    return {};
  }

 private:
  // Between two writes of the ledger a run may stop: what was written is whole, and `resume` looks
  // again at the gate that was not judged.
  Status GoOn(int gate) const {
    if (!progress_.Stopped()) return {};
    return Fail(Code::kCancelled,
                fmt::format("run {} was interrupted at gate {}; what was judged stands. Continue "
                            "with: muster bringup resume --site {}",
                            run_.header.run, gate, context_.paths.site_file));
  }

  Status OneGate(int gate, const std::map<int, bool>& open, const std::vector<Waiver>& waivers) {
    const Clock& clock = context_.world.clock;
    const GateInfo* info = context_.catalogue->Gate(gate);
    CHECK(info != nullptr, "the catalogue has eight gates");
    std::vector<ActRecord> earlier;
    if (const GateRecord* before = run_.Find(gate)) earlier = before->acts;
    std::erase_if(run_.gates, [&](const GateRecord& r) { return r.gate == gate; });
    GateRecord& record = run_.gates.emplace_back();
    record.gate = gate;
    record.began = clock.Now();
    TRY_VOID(ledger_.GateBegins(gate, record.began));

    const Duration began = clock.Monotonic();
    std::string blocked = BlockedBy(*info, open, *context_.catalogue);
    if (blocked.empty() && !run_.header.look_only) {
      TRY(const ActsOutcome acts,
          DoActs(context_.site().acts, earlier, gate, options_.approve_destructive, ledger_,
                 context_.world.processes, progress_));
      record.acts = acts.records;
      TRY_VOID(GoOn(gate));
      blocked = acts.blocked_by;
    }
    GateResult result = Blocked(gate, blocked, clock.Now());
    if (!blocked.empty()) progress_.GateBegins(gate, info->name, 0);
    if (blocked.empty()) {
      record.evidence = LookAtGate(context_, gate, run_.header.nodes, run_.header.run,
                                   !run_.header.look_only, options_.keep_readings, progress_);
      TRY_VOID(GoOn(gate));  // a look that was cut short is not judged
      TRY_VOID(ledger_.Seen(gate, record.evidence));
      result = JudgeEvidence(context_.site(), *context_.catalogue, gate, run_.header.nodes,
                             record.evidence.All(), clock.Now(),
                             run_.header.look_only ? Proofs::kNotRun : Proofs::kRun);
      result.took = clock.Monotonic() - began;
    }
    if (result.level != Level::kPass && result.level != Level::kWarn) {
      result.waived_by = WaivedBy(waivers, gate, clock.Now());
    }
    TRY_VOID(ledger_.Judged(result));
    progress_.GateEnds(gate, result.level, Summary(result));
    record.result = std::move(result);
    return {};
  }

  SiteContext& context_;
  const BringupOptions& options_;
  RunLedger& ledger_;
  Progress& progress_;
  Run& run_;
};

Level LevelOf(const Run& run) {
  bool unknown = false, warn = false;
  for (const GateRecord& record : run.gates) {
    if (!record.result) return Level::kUnknown;
    if (!record.result->waived_by.empty() || record.result->level == Level::kWarn) {
      warn = true;
    } else if (record.result->level == Level::kFail) {
      return Level::kFail;
    } else if (record.result->level != Level::kPass) {
      unknown = true;
    }
  }
  return unknown ? Level::kUnknown : warn ? Level::kWarn : Level::kPass;
}

// What is open before the first gate of a run that does not begin at 1: the site's standing.
Result<std::map<int, bool>> OpenBefore(const SiteContext& context, int from) {
  std::map<int, bool> open;
  if (from <= 1) return open;
  TRY(const SiteStatus status, StatusOf(context));
  for (const GateStatus& gate : status.gates) {
    if (gate.gate < from) open[gate.gate] = gate.open;
  }
  return open;
}

Result<std::vector<std::string>> NodesOf(const SiteContext& context,
                                         const BringupOptions& options) {
  if (!options.nodes.empty()) {
    for (const std::string& name : options.nodes) {
      if (context.site().cluster.FindNode(name) == nullptr)
        return Fail(Code::kInvalid,
                    fmt::format("site {} has no node {}", context.site().name, name));
    }
    return options.nodes;
  }
  auto nodes = context.site().ScopeNodes(options.scope);
  if (!nodes)
    return Fail(Code::kInvalid,
                fmt::format("site {} has no scope {}", context.site().name, options.scope));
  return *nodes;
}

Status Finish(SiteContext& context, const BringupOptions& options, RunLedger& ledger,
              Progress& progress, Run& run) {
  TRY(auto open, OpenBefore(context, run.header.from));
  TRY(const std::vector<Waiver> waivers, ReadWaivers(context.world.files, context.paths));
  TRY_VOID(Runner(context, options, ledger, progress, run).Gates(std::move(open), waivers));
  run.level = LevelOf(run);
  run.ended = context.world.clock.Now();
  run.closed = true;
  return ledger.Close(run.level, run.ended);
}

Result<std::unique_ptr<FileLock>> LockSite(SiteContext& context, const std::string& run) {
  TRY_VOID(context.world.files.MakeFolders(context.paths.state)
               .Context("making the site's state folder"));
  return context.world.files.Lock(context.paths.Lock(), run)
      .Context(fmt::format("another run works on site {}", context.site().name));
}

}  // namespace

const GateRecord* Run::Find(int gate) const {
  const auto found =
      std::find_if(gates.begin(), gates.end(), [&](const GateRecord& r) { return r.gate == gate; });
  return found == gates.end() ? nullptr : &*found;
}

Result<Run> RunBringup(SiteContext& context, const BringupOptions& options, Progress& progress) {
  if (options.from < 1 || options.to > 8 || options.from > options.to) {
    return Fail(Code::kInvalid,
                fmt::format("gates {} to {} make no sense, expected 1 <= from <= to <= 8",
                            options.from, options.to));
  }
  Run run;
  TRY(run.header.nodes, NodesOf(context, options));  // before anything is made
  run.header.run = NewRunName(context.world.clock.Now(), context.world.random);
  TRY(auto lock, LockSite(context, run.header.run));
  run.header.site_name = context.site().name;
  run.header.site_text = context.file->text;
  run.header.site_sha256 = context.file->sha256;
  run.header.catalogue_sha256 = EmbeddedDigest();
  run.header.version = MUSTER_VERSION;
  run.header.by = options.by;
  run.header.from = options.from;
  run.header.to = options.to;
  run.header.look_only = options.look_only;
  run.header.scope = options.scope;
  // A run over some of the nodes says nothing of the whole site, whatever it is called.
  if (run.header.scope.empty() && run.header.nodes.size() < context.site().cluster.nodes.size()) {
    run.header.scope = fmt::format("nodes {}", fmt::join(run.header.nodes, ","));
  }
  run.header.at = context.world.clock.Now();
  run.header.origin = context.hosts->origin();
  TRY_VOID(context.world.files.MakeFolders(context.paths.RunFolder(run.header.run)));
  TRY(auto ledger,
      CreateLedger(context.world.files, context.paths.Ledger(run.header.run), run.header));
  TRY_VOID(Finish(context, options, *ledger, progress, run));
  return run;
}

Result<Run> ResumeBringup(SiteContext& context, const BringupOptions& options, Progress& progress) {
  TRY(const std::vector<std::string> names, ListRuns(context.world.files, context.paths));
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    auto stored = ReadLedger(context.world.files, context.paths.Ledger(*name));
    if (!stored.ok()) {
      // A run killed before its header was durable never began: there is nothing to resume in it.
      if (stored.error().code == Code::kNotFound) continue;
      return tl::unexpected(std::move(stored.error()));
    }
    if (stored->closed) break;
    TRY(auto lock, LockSite(context, *name));
    Run run;
    TRY(auto ledger, ContinueLedger(context.world.files, context.paths.Ledger(*name), run));
    if (run.header.site_sha256 != context.file->sha256) {
      return Fail(
          Code::kConflict,
          fmt::format(
              "run {} was begun with another site file; put that file back, or start a new run",
              *name));
    }
    TRY_VOID(ledger->Resumed(context.world.clock.Now(), run.note));
    BringupOptions as_before = options;
    as_before.scope = run.header.scope;
    TRY_VOID(Finish(context, as_before, *ledger, progress, run));
    return run;
  }
  return Fail(Code::kNotFound, fmt::format("site {} has no interrupted run", context.site().name));
}

}  // namespace muster
