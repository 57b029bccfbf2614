// How one gate is looked at and judged: shared by run, check, watch, the exam
// and replay.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/bringup.h"
#include "app/derive.h"
#include "app/look_for_facts.h"
#include "base/strings.h"
#include "catalogue/expectation.h"

namespace muster {

namespace {

// A level-3 diagnostic takes the GPUs for minutes: only a run that was asked
// for does that.
bool LoadsGpus(const Probe& probe) { return probe.id == "dcgm.diag"; }

// Facts that are known only by starting something (catalogue/facts.yaml, `by`).
bool NeedsProof(const Catalogue& catalogue, const Criterion& criterion) {
  const FactInfo* fact = catalogue.Fact(criterion.fact);
  if (fact == nullptr) return false;
  for (const std::string_view proof :
       {"gang_proof", "alert_proof", "dcgm.", "rdma.", "nccl_", "measure", "openai"}) {
    if (StartsWith(fact->by, proof)) return true;
  }
  return false;
}

}  // namespace

Evidence LookAtGate(SiteContext& context, int gate, const std::vector<std::string>& nodes,
                    const std::string& run, bool with_proofs, bool keep_readings,
                    Progress& progress) {
  std::vector<PlannedRead> reads = PlanReads(context.site(), gate, nodes);
  if (!with_proofs) std::erase_if(reads, [](const PlannedRead& r) { return LoadsGpus(*r.probe); });
  const GateInfo* info = context.catalogue->Gate(gate);
  progress.GateBegins(gate, info == nullptr ? "" : info->name, reads.size());
  Evidence evidence = Observe(*context.hosts, reads, {keep_readings, context.site().window},
                              context.world.clock, progress);
  if (with_proofs && !progress.Stopped()) {
    const ProofContext proof{context.site(),
                             *context.hosts,
                             *context.jobs,
                             *context.endpoints,
                             context.world,
                             progress,
                             nodes,
                             context.paths.RunFolder(run),
                             run,
                             context.own_training};
    evidence.Append(ProveGate(gate, proof));
  }
  Observations derived = Derive(context.site(), gate, nodes, evidence.observations);
  evidence.derived.insert(evidence.derived.end(), std::make_move_iterator(derived.begin()),
                          std::make_move_iterator(derived.end()));
  return evidence;
}

Observations LookForFacts(SiteContext& context, int gate, const std::vector<std::string>& nodes,
                          const std::set<std::string>& facts) {
  std::vector<PlannedRead> reads = PlanReads(context.site(), gate, nodes);
  std::erase_if(reads, [&](const PlannedRead& read) {
    const auto& gives = read.probe->facts;
    return LoadsGpus(*read.probe) ||
           std::none_of(gives.begin(), gives.end(),
                        [&](std::string_view fact) { return facts.contains(std::string(fact)); });
  });
  SilentProgress silent;
  Evidence evidence =
      Observe(*context.hosts, reads, {false, context.site().window}, context.world.clock, silent);
  evidence.derived = Derive(context.site(), gate, nodes, evidence.observations);
  return std::move(evidence).TakeAll();
}

GateResult JudgeGate(const SiteContext& context, int gate, const std::vector<std::string>& nodes,
                     const Evidence& evidence, TimePoint now) {
  return JudgeEvidence(context.site(), *context.catalogue, gate, nodes, evidence.All(), now);
}

GateResult JudgeEvidence(const Site& site, const Catalogue& catalogue, int gate,
                         const std::vector<std::string>& nodes, const Observations& observations,
                         TimePoint now, Proofs proofs) {
  GateResult result;
  result.gate = gate;
  result.judged_at = now;
  const ObservationIndex index(observations);
  const Expectation expect = MakeExpectation(site, catalogue);
  const Applicability applicability = Applicable(catalogue, site, gate, nodes);
  for (const auto& skipped : applicability.not_applicable) {
    result.not_applicable.push_back(
        {skipped.criterion->code, skipped.criterion->title, skipped.reason});
  }
  bool left_out = false;
  std::set<std::string_view> spoken_of;  // a capture may hold what a look would not start
  for (const Observation& o : observations) spoken_of.insert(o.fact);
  for (const Criterion& criterion : applicability.criteria) {
    if (proofs == Proofs::kNotRun && NeedsProof(catalogue, criterion) &&
        !spoken_of.contains(criterion.fact)) {
      left_out = true;
      result.not_applicable.push_back(
          {criterion.code, criterion.title,
           "takes a proof or a load test, which a look does not start: muster "
           "bringup run"});
      continue;
    }
    for (const Subject& subject : SubjectsFor(criterion, site, nodes, index)) {
      result.verdicts.push_back(Judge(criterion, subject, index, expect, now));
    }
  }
  result.level = Combine(result.verdicts);
  // A gate of which nothing applies (a workstation has no fabric) is open
  // because that was decided, and said, before looking.
  if (result.verdicts.empty() && !result.not_applicable.empty() && !left_out)
    result.level = Level::kPass;
  result.suspects = FindSuspects(result.verdicts, catalogue, site);
  result.components = ComponentsOf(observations);
  result.figures = FiguresOf(observations);
  return result;
}

}  // namespace muster
