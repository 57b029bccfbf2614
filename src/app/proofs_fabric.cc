// Proofs of the fabric: RDMA between neighbours for gate 2, an alert for gate 5.
#include <algorithm>

#include <fmt/format.h>

#include "app/proofs.h"
#include "catalogue/expectation.h"
#include "probes/prometheus/alert_proof.h"
#include "probes/rdma/ib_write_bw.h"

namespace muster {

namespace {

struct PairPlan {
  std::string a, b;
  std::vector<rdma::PairRail> rails;
};

// The rails both ends have, in order.
std::vector<rdma::PairRail> RailsOf(const Node& a, const Node& b) {
  std::vector<rdma::PairRail> rails;
  for (const Nic& nic : a.nics) {
    const auto other = std::find_if(b.nics.begin(), b.nics.end(),
                                    [&](const Nic& n) { return n.rail == nic.rail; });
    if (other != b.nics.end()) rails.push_back({nic.device, other->device});
  }
  return rails;
}

std::vector<PairPlan> PlanPairs(const ProofContext& context) {
  std::vector<PairPlan> plans;
  for (const Subject& pair : SubjectsOf(context.site, SubjectKind::kPair, context.nodes)) {
    const size_t cut = pair.id.find("--");
    const Node* a = context.site.cluster.FindNode(pair.id.substr(0, cut));
    const Node* b = context.site.cluster.FindNode(pair.id.substr(cut + 2));
    if (a == nullptr || b == nullptr) continue;
    plans.push_back({a->name, b->name, RailsOf(*a, *b)});
  }
  return plans;
}

// Rounds in which no node is in two pairs, so that no pair disturbs another.
std::vector<std::vector<const PairPlan*>> Rounds(const std::vector<PairPlan>& plans) {
  std::vector<std::vector<const PairPlan*>> rounds;
  std::vector<std::set<std::string>> busy;
  for (const PairPlan& plan : plans) {
    size_t r = 0;
    while (r < rounds.size() && (busy[r].contains(plan.a) || busy[r].contains(plan.b))) ++r;
    if (r == rounds.size()) {
      rounds.emplace_back();
      busy.emplace_back();
    }
    rounds[r].push_back(&plan);
    busy[r].insert(plan.a);
    busy[r].insert(plan.b);
  }
  return rounds;
}

Reading ReadPair(const ProofContext& context, const PairPlan& plan, int tcp_port) {
  const Node* server_node = context.site.cluster.FindNode(plan.a);
  auto server = context.hosts.At(plan.a);
  auto client = context.hosts.At(plan.b);
  if (server.ok() && client.ok()) {
    rdma::PairOptions options;
    options.server_address = server_node->address.empty() ? plan.a : server_node->address;
    options.tcp_port = tcp_port;
    return rdma::CollectPair(*server, *client, plan.rails, options);
  }
  Reading reading;
  reading.probe = "rdma.ib_write_bw";
  reading.host = plan.a;
  reading.at = context.world.clock.Now();
  reading.fault = Unobserved{UnknownReason::kUnreachable,
                             server.ok() ? client.error().ToString() : server.error().ToString()};
  return reading;
}

}  // namespace

Evidence ProveRdmaPairs(const ProofContext& context) {
  Evidence evidence;
  const std::vector<PairPlan> plans = PlanPairs(context);
  for (const auto& round : Rounds(plans)) {
    std::vector<Reading> readings(round.size());
    ForEachParallel(round.size(), context.hosts.Parallel(), [&](size_t i) {
      readings[i] = ReadPair(context, *round[i], 18515 + static_cast<int>(i % 1000));
      readings[i].origin = context.hosts.origin();
      context.progress.ReadingDone(fmt::format("ib_write_bw {} to {}", round[i]->a, round[i]->b));
    });
    for (Reading& reading : readings) {
      Observations seen = rdma::ParsePairReading(reading);
      evidence.Add(std::move(reading), std::move(seen), true);
    }
  }
  return evidence;
}

Evidence ProveAlerting(const ProofContext& context) {
  Evidence evidence;
  auto monitor = context.hosts.At("monitor");
  if (!monitor.ok()) return evidence;  // the criteria then say "not observed"
  auto options = context.hosts.origin() == Origin::kRehearsed
                     ? prometheus::AlertProofOptions::ForLab()
                     : prometheus::AlertProofOptions{};
  options.site = context.site.name;
  context.progress.Note("raising a synthetic alert");
  Reading reading = prometheus::RunAlertProof(*monitor, options);
  reading.origin = context.hosts.origin();
  Observations seen = prometheus::ParseAlertProof(reading);
  // The alert proof is no probe that runs by itself; its reading is kept, and what it says beside
  // it.
  evidence.readings.push_back(std::move(reading));
  evidence.derived = std::move(seen);
  return evidence;
}

}  // namespace muster
