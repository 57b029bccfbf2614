#include "diagnose/job.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

std::string Ranges(const std::vector<int>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!out.empty()) out += ",";
    out += j == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[j]);
    i = j + 1;
    if (out.size() > 120) return out + ",...";
  }
  return out;
}

}  // namespace

std::vector<int> Communicator::Silent() const {
  std::vector<int> silent;
  for (int r = 0; r < nranks && silent.size() < 65536; ++r)
    if (!ranks.contains(r)) silent.push_back(r);
  return silent;
}

std::vector<int> Communicator::Unfinished() const {
  std::vector<int> open;
  for (const auto& [number, rank] : ranks)
    if (!rank.complete) open.push_back(number);
  return open;
}

bool Communicator::AllComplete() const {
  return !ranks.empty() &&
         std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.second.complete; });
}

const Communicator* JobMap::Largest() const {
  const Communicator* best = nullptr;
  for (const auto& [id, comm] : comms_)
    if (best == nullptr || comm.nranks > best->nranks ||
        (comm.nranks == best->nranks && comm.ranks.size() > best->ranks.size()))
      best = &comm;
  return best;
}

std::vector<TransportUse> JobMap::Transports() const {
  std::map<std::tuple<std::string, std::string, bool>, TransportUse> merged;
  for (size_t i = 0; i < uses_.size(); ++i) {
    TransportUse use = uses_[i];
    use.edges = edges_[i];
    auto [it, fresh] = merged.try_emplace({use.host, use.transport, use.gdr}, use);
    if (fresh) continue;
    it->second.edges += use.edges;
    it->second.devices.insert(use.devices.begin(), use.devices.end());
    if (use.at.file == it->second.at.file && use.at.line < it->second.at.line) {
      it->second.at = use.at;
      it->second.text = use.text;
    }
  }
  std::vector<TransportUse> out;
  for (auto& [key, use] : merged) out.push_back(std::move(use));
  return out;
}

bool JobMap::OnOneHost() const {
  const Communicator* all = Largest();
  if (all == nullptr || all->ranks.empty()) return false;
  const bool all_seen = all->ranks.size() == static_cast<size_t>(std::max(all->nranks, 0));
  const bool done = all->Unfinished().size() < all->ranks.size() && !uses_.empty();
  const std::string& host = all->ranks.begin()->second.host;
  return (all_seen || done) && !host.empty() &&
         std::all_of(uses_.begin(), uses_.end(),
                     [&](const TransportUse& use) { return !use.net && use.host == host; }) &&
         std::all_of(all->ranks.begin(), all->ranks.end(),
                     [&](const auto& r) { return r.second.host == host; });
}

void JobMap::AddFacts(FactStore& facts) const {
  const auto add = [&](std::string id, Attributes attrs, Place at, std::string text) {
    facts.Add({std::move(id), std::move(attrs), std::move(at), std::move(text)});
  };
  for (const TransportUse& use : Transports()) {
    if (use.net && use.transport.starts_with("NET/Socket")) {
      add("job.socket", {{"host", use.host}, {"edges", std::to_string(use.edges)}}, use.at,
          use.text);
    } else if (use.net && !use.gdr && use.transport.starts_with("NET/IB")) {
      add("job.no_gdr",
          {{"host", use.host}, {"transport", use.transport}, {"edges", std::to_string(use.edges)}},
          use.at, use.text);
    } else if (use.net) {
      add("job.rdma", {{"host", use.host}, {"transport", use.transport}}, use.at, use.text);
    } else if (use.transport.starts_with("SHM")) {
      add("job.shm", {{"host", use.host}, {"edges", std::to_string(use.edges)}}, use.at, use.text);
    } else {
      add("job.p2p", {{"host", use.host}, {"transport", use.transport}}, use.at, use.text);
    }
  }
  if (const auto names = VersionsApart(); names.size() > 1)
    add("job.versions", {{"versions", Join(names, ", ")}}, {"NCCL log", 0},
        "ranks print different versions: " + Join(names, ", "));
  AddAdaptersApart(facts);
  AddNetworksApart(facts);
  if (OnOneHost()) {
    const JobRank& any = Largest()->ranks.begin()->second;
    add("job.one_host", {{"host", any.host}}, any.at, "the job is inside one host");
  } else if (!uses_.empty() && hosts_seen_.size() == 1 &&
             std::none_of(uses_.begin(), uses_.end(), [](const auto& use) { return use.net; })) {
    add("job.stays_inside", {{"host", *hosts_seen_.begin()}}, uses_.front().at, uses_.front().text);
  }
  for (const auto& [id, comm] : comms_) {
    const auto silent = comm.Silent(), open = comm.Unfinished();
    const JobRank& any = comm.ranks.begin()->second;
    const bool none_done = open.size() == comm.ranks.size();
    if (comm.AllComplete())
      add("job.complete", {{"nranks", std::to_string(comm.nranks)}}, any.at,
          fmt::format("{} of {} ranks finished their set-up", comm.ranks.size(), comm.nranks));
    // A rank that finished proves that all joined: then a silent one only has no log here.
    if (none_done && !silent.empty() && silent.size() < comm.ranks.size())
      add("job.silent_ranks",
          {{"ranks", Ranges(silent)},
           {"present", std::to_string(comm.ranks.size())},
           {"nranks", std::to_string(comm.nranks)}},
          any.at,
          fmt::format("{} of {} ranks began their set-up, none finished; no line of rank {}",
                      comm.ranks.size(), comm.nranks, Ranges(silent)));
    else if (none_done && !silent.empty())
      add("job.few_ranks",
          {{"present", std::to_string(comm.ranks.size())}, {"nranks", std::to_string(comm.nranks)}},
          any.at,
          fmt::format("only {} of {} ranks have a line here", comm.ranks.size(), comm.nranks));
    else if (!open.empty())
      add("job.unfinished",
          {{"ranks", Ranges(open)},
           {"done", std::to_string(comm.ranks.size() - open.size())},
           {"nranks", std::to_string(comm.nranks)}},
          comm.ranks.at(open.front()).at,
          fmt::format("rank {} began its set-up and did not end it ({} of {} did)", Ranges(open),
                      comm.ranks.size() - open.size(), comm.nranks));
  }
}

}  // namespace muster::diagnose
