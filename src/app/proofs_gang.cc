// Gate 4's proofs: a gang over every node that must start whole, a gang one GPU too large that must
// not start a single rank, and that both left nothing behind.
#include <algorithm>

#include <fmt/format.h>

#include "app/proofs.h"

namespace muster {

namespace {

Reading NewReading(const ProofContext& context, std::string_view probe, std::string command) {
  Reading reading;
  reading.probe = probe;
  reading.host = context.site.name;
  reading.command = std::move(command);
  reading.at = context.world.clock.Now();
  reading.origin = context.hosts.origin();
  return reading;
}

int MostGpus(const ProofContext& context) {
  size_t most = 0;
  for (const std::string& name : context.nodes) {
    if (const Node* node = context.site.cluster.FindNode(name))
      most = std::max(most, node->gpus.size());
  }
  return static_cast<int>(most);
}

// What happened, as text that goes into the ledger with the observation.
std::string Told(const Result<GangResult>& result) {
  if (!result.ok()) return result.error().ToString();
  std::string text = fmt::format("{} ranks, {}\n", result->ranks.size(),
                                 result->all_started ? "all started" : "not all started");
  for (const RankResult& rank : result->ranks) {
    text += fmt::format("rank {} on {}: exit {} after {}\n", rank.rank, rank.node,
                        rank.result.exit_code, FormatDuration(rank.result.took));
  }
  return text;
}

void AddLeftovers(const ProofContext& context, const std::string& gang, int64_t& count,
                  std::string& first) {
  auto left = context.jobs.Leftovers(gang);
  if (!left.ok()) {
    ++count;
    first = left.error().ToString();
  } else if (!left->empty()) {
    count += static_cast<int64_t>(left->size());
    first = left->front();
  }
}

}  // namespace

Evidence ProveGang(const ProofContext& context) {
  Evidence evidence;
  const Subject site = SiteSubject(context.site.name);
  const int ranks_per_node = std::max(1, MostGpus(context));

  GangSpec fits;
  fits.name = context.run + "-gang-fits";
  fits.nodes = context.nodes;
  // On a large scope one rank a node proves the placement as well as one a GPU.
  fits.ranks_per_node =
      context.nodes.size() * static_cast<size_t>(ranks_per_node) > 64 ? 1 : ranks_per_node;
  fits.gpus_per_rank = ranks_per_node / fits.ranks_per_node;
  fits.argv = {"true"};
  fits.timeout = std::chrono::seconds(60);
  const auto placed = context.jobs.RunGang(fits);
  {
    Reading reading = NewReading(context, "gang_proof",
                                 fmt::format("gang {} of {} x {} ranks: true", fits.name,
                                             fits.nodes.size(), fits.ranks_per_node));
    reading.text = Told(placed);
    ObservationBuilder builder(reading);
    const bool clean =
        placed.ok() && placed->all_started &&
        std::all_of(placed->ranks.begin(), placed->ranks.end(), [](const RankResult& r) {
          return r.result.exit_code == 0 && !r.result.timed_out;
        });
    if (!placed.ok() && placed.error().code != Code::kRefused &&
        placed.error().code != Code::kTimeout) {
      builder.AddUnobserved(site, "gang.placed", UnknownReason::kToolFault,
                            placed.error().ToString());
    } else {
      builder.Add(site, "gang.placed", clean, Unit::kNone, reading.text);
    }
    Observations seen = builder.Take();
    evidence.derived.insert(evidence.derived.end(), seen.begin(), seen.end());
  }
  context.progress.Note(fmt::format(
      "gang of {} ranks: {}", fits.nodes.size() * static_cast<size_t>(fits.ranks_per_node),
      placed.ok() && placed->all_started ? "started whole" : "did not start whole"));

  GangSpec too_large = fits;
  too_large.name = context.run + "-gang-too-large";
  too_large.ranks_per_node = 1;
  too_large.gpus_per_rank = ranks_per_node + 1;
  if (context.site.kind == SiteKind::kKubernetes) {
    // One whole node more than there are: a scheduler that goes pod by pod binds all but one, and
    // is found out. A rank that no node can hold would prove nothing of gangs.
    too_large.nodes.push_back(context.nodes.front());
    too_large.gpus_per_rank = ranks_per_node;
  }
  const auto refused = context.jobs.RunGang(too_large);
  {
    Reading reading =
        NewReading(context, "gang_proof",
                   fmt::format("gang {} asking {} GPUs on each of {} nodes", too_large.name,
                               too_large.gpus_per_rank, too_large.nodes.size()));
    reading.text = Told(refused);
    ObservationBuilder builder(reading);
    if (refused.ok()) {
      builder.Add(site, "gang.refused", refused->ranks.empty() && !refused->all_started,
                  Unit::kNone, reading.text);
    } else if (refused.error().code == Code::kRefused) {
      builder.Add(site, "gang.refused", true, Unit::kNone, reading.text);
    } else {
      builder.AddUnobserved(site, "gang.refused", UnknownReason::kToolFault,
                            refused.error().ToString());
    }
    int64_t left = 0;
    std::string first = "nothing of either gang is left";
    AddLeftovers(context, fits.name, left, first);
    AddLeftovers(context, too_large.name, left, first);
    builder.Add(site, "gang.leftovers", left, Unit::kCount, first);
    Observations seen = builder.Take();
    evidence.derived.insert(evidence.derived.end(), seen.begin(), seen.end());
  }
  return evidence;
}

Evidence ProveGate(int gate, const ProofContext& context) {
  const std::set<std::string> features = context.site.Features();
  switch (gate) {
    case 2:
      return features.contains("rdma") && features.contains("multi_node") ? ProveRdmaPairs(context)
                                                                          : Evidence{};
    case 4:
      return ProveGang(context);
    case 5:
      return features.contains("prometheus") || features.contains("alertmanager")
                 ? ProveAlerting(context)
                 : Evidence{};
    case 6:
      return features.contains("multi_gpu") ||
                     (features.contains("gpus") && features.contains("multi_node"))
                 ? ProveCollective(context)
                 : Evidence{};
    case 7:
      return features.contains("training") ? ProveTraining(context) : Evidence{};
    case 8:
      return features.contains("inference") ? ProveInference(context) : Evidence{};
    default:
      return {};
  }
}

}  // namespace muster
