// Gate 6's proof: an all-reduce sweep over the whole scope with NCCL's own log,
// each rail alone, and each pair of neighbours, so that a number is bound to
// its transport and a slow one to its place.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/collective_sweep.h"
#include "app/gpu_specs.h"
#include "app/proofs.h"
#include "catalogue/expectation.h"
#include "measure/collective/derive.h"
#include "measure/collective/localise.h"

namespace muster {

namespace {

constexpr double kSlowRatio = 0.92;  // of the ceiling; below it the slow part is searched for

class Prover {
 public:
  explicit Prover(const ProofContext& context) : context_(context) {}

  Evidence Prove() {
    WholeScope();
    if (context_.nodes.size() > 1 && !context_.progress.Stopped()) {
      Parts(RailSweeps(), "collective.rail_ratio");
      Parts(PairSweeps(), "collective.pair_ratio");
      Search();
    }
    return std::move(evidence_);
  }

 private:
  int Ranks() const { return RanksPerNode(context_.site, context_.nodes); }

  std::vector<Reading> Run(const CollectiveSweep& sweep) const {
    return RunSweep(
        {context_.site, context_.hosts, context_.jobs, context_.world.clock, context_.run}, sweep);
  }

  static const Observation* Find(const Observations& seen, std::string_view fact) {
    const auto found = std::find_if(seen.begin(), seen.end(),
                                    [&](const Observation& o) { return o.fact == fact; });
    return found == seen.end() ? nullptr : &*found;
  }

  void WholeScope() {
    CollectiveSweep sweep{{SubjectKind::kScope, "all"}, context_.nodes, Ranks(), {}};
    sweep.spec.nodes = context_.nodes.size();
    context_.progress.Note(
        fmt::format("all-reduce over {} ranks",
                    sweep.nodes.size() * static_cast<size_t>(sweep.ranks_per_node)));
    std::vector<Reading> readings = Run(sweep);
    for (Reading& reading : readings) {
      Observations seen = Understand(reading).value_or(Observations{});
      evidence_.Add(std::move(reading), std::move(seen), true);
    }
    const Observation* wrong = Find(evidence_.observations, "collective.wrong");
    wrong_ =
        wrong != nullptr && wrong->value() != nullptr && std::get<int64_t>(*wrong->value()) > 0;
    const Observation* plateau = Find(evidence_.observations, "collective.plateau");
    if (plateau == nullptr) return;
    const auto ceiling = CeilingOf(context_.site.cluster, context_.nodes, sweep.ranks_per_node,
                                   {context_.site.roce, 4096}, GpuSpecs());
    Observation ratio = PlateauRatio(*plateau, ceiling, context_.nodes.size(),
                                     Find(evidence_.observations, "collective.algorithm"));
    if (const Value* value = ratio.value()) slow_ = std::get<double>(*value) < kSlowRatio;
    if (ceiling.ok()) healthy_ = ceiling->gbyte_per_s;
    evidence_.derived.push_back(std::move(ratio));
  }

  // One rail alone: the adapters of that rail on every node, one rank a node.
  std::vector<CollectiveSweep> RailSweeps() const {
    std::vector<CollectiveSweep> sweeps;
    for (const Subject& rail : SubjectsOf(context_.site, SubjectKind::kRail, context_.nodes)) {
      std::set<std::string> adapters;
      for (const std::string& name : context_.nodes) {
        const Node* node = context_.site.cluster.FindNode(name);
        for (const Nic& nic : node == nullptr ? std::vector<Nic>{} : node->nics) {
          if (RailSubject(nic.rail) == rail) adapters.insert(nic.device);
        }
      }
      CollectiveSweep sweep{rail, context_.nodes, 1, ShortSweep(context_.nodes.size())};
      sweep.spec.adapters.assign(adapters.begin(), adapters.end());
      sweeps.push_back(std::move(sweep));
    }
    return sweeps;
  }

  std::vector<CollectiveSweep> PairSweeps() const {
    std::vector<CollectiveSweep> sweeps;
    for (const Subject& pair : SubjectsOf(context_.site, SubjectKind::kPair, context_.nodes)) {
      const size_t cut = pair.id.find("--");
      sweeps.push_back(
          {pair, {pair.id.substr(0, cut), pair.id.substr(cut + 2)}, Ranks(), ShortSweep(2)});
    }
    return sweeps;
  }

  // Sweeps whose nodes overlap wait for each other; the others run side by
  // side.
  void Parts(const std::vector<CollectiveSweep>& sweeps, std::string_view fact) {
    std::vector<PartPlateau> parts;
    std::vector<bool> done(sweeps.size(), false);
    for (size_t left = sweeps.size(); left > 0 && !context_.progress.Stopped();) {
      std::vector<size_t> round;
      std::set<std::string> busy;
      for (size_t i = 0; i < sweeps.size(); ++i) {
        const auto taken = [&](const std::string& node) { return busy.contains(node); };
        if (done[i] || std::any_of(sweeps[i].nodes.begin(), sweeps[i].nodes.end(), taken)) continue;
        busy.insert(sweeps[i].nodes.begin(), sweeps[i].nodes.end());
        round.push_back(i);
        done[i] = true;
      }
      left -= round.size();
      std::vector<std::vector<Reading>> readings(round.size());
      ForEachParallel(round.size(), context_.hosts.Parallel(), [&](size_t k) {
        readings[k] = Run(sweeps[round[k]]);
        context_.progress.ReadingDone(
            fmt::format("all-reduce on {}", sweeps[round[k]].subject.ToString()));
      });
      for (size_t k = 0; k < round.size(); ++k)
        KeepPart(sweeps[round[k]].subject, std::move(readings[k]), parts);
    }
    Observations ratios = RatiosToMedian(parts, fact);
    evidence_.derived.insert(evidence_.derived.end(), ratios.begin(), ratios.end());
  }

  // The table of a part is kept as evidence; its plateau is about the part, not
  // the scope, so it is compared and not judged.
  void KeepPart(const Subject& subject, std::vector<Reading> readings,
                std::vector<PartPlateau>& parts) {
    Reading& table = readings.front();
    const Observations seen = Understand(table).value_or(Observations{});
    if (const Observation* plateau = Find(seen, "collective.plateau"))
      parts.push_back({subject, *plateau});
    const Observation* wrong = Find(seen, "collective.wrong");
    if (wrong_ && wrong != nullptr && subject.kind == SubjectKind::kPair) {
      Observation of_pair = *wrong;
      of_pair.subject = subject;
      of_pair.fact = "collective.pair_wrong";
      evidence_.derived.push_back(std::move(of_pair));
    }
    table.probe = "part." + table.probe;
    evidence_.readings.push_back(std::move(table));
  }

  // Slow as a whole, and neither a rail nor a pair of neighbours says why:
  // halves and pairs are measured until it is known.
  void Search() {
    const auto below = [](const Observation& o) {
      return (o.fact == "collective.rail_ratio" || o.fact == "collective.pair_ratio") &&
             o.value() != nullptr && std::get<double>(*o.value()) < 0.95;
    };
    if (!slow_ || std::any_of(evidence_.derived.begin(), evidence_.derived.end(), below)) return;
    context_.progress.Note("slow as a whole: searching for the part");
    CollectiveMeter meter;
    meter.set = [&](const std::vector<std::string>& nodes) -> Result<double> {
      CollectiveSweep sweep{{SubjectKind::kScope, fmt::format("part-{}", ++searched_)},
                            nodes,
                            Ranks(),
                            ShortSweep(nodes.size())};
      const Observations seen = Understand(Run(sweep).front()).value_or(Observations{});
      const Observation* plateau = Find(seen, "collective.plateau");
      if (plateau == nullptr || plateau->value() == nullptr)
        return Fail(Code::kUnavailable, "the run gave no plateau");
      return std::get<double>(*plateau->value());
    };
    LocaliseOptions options;
    // Healthy fabrics show 0.96 of the ceiling (NVIDIA/nccl-tests issue 290: 46
    // to 48 GB/s of 50 a NIC).
    options.healthy = 0.96 * healthy_;
    options.max_runs = 60;
    const Localisation found = LocaliseSlowCollective(context_.nodes, meter, options);
    Reading reading;
    reading.probe = "measure.localise";
    reading.host = "all";
    reading.command = fmt::format("all-reduce over subsets, {} runs", found.runs.size());
    reading.at = context_.world.clock.Now();
    reading.origin = context_.hosts.origin();
    reading.text = found.note + "\n";
    ObservationBuilder builder(reading);
    for (const SlowSuspect& suspect : found.suspects) {
      reading.text += fmt::format("{}: {}\n", suspect.subject.ToString(), suspect.evidence);
      if (suspect.subject.kind == SubjectKind::kPair)
        builder.Add(suspect.subject, "collective.pair_ratio", suspect.ratio, Unit::kRatio,
                    suspect.evidence);
    }
    Observations seen = builder.Take();
    evidence_.derived.insert(evidence_.derived.end(), seen.begin(), seen.end());
    evidence_.readings.push_back(std::move(reading));
  }

  const ProofContext& context_;
  Evidence evidence_;
  bool slow_ = false, wrong_ = false;
  double healthy_ = 0;
  int searched_ = 0;
};

}  // namespace

Evidence ProveCollective(const ProofContext& context) { return Prover(context).Prove(); }

}  // namespace muster
