// What the hosts of one job do not have alike: NCCL's versions, adapters, networks.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/job.h"

namespace muster::diagnose {

namespace {

// "mlx5_0", "mlx5_1" of "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eno1:10.0.0.1<0>".
std::set<std::string> AdaptersOf(std::string_view list) {
  std::set<std::string> names;
  if (!list.starts_with("NET/IB")) return names;
  for (const std::string_view word : SplitBlank(list.substr(0, list.find("; OOB")))) {
    const size_t close = word.find(']'), colon = word.find(':');
    if (word.starts_with('[') && close < colon && colon != std::string_view::npos)
      names.emplace(word.substr(close + 1, colon - close - 1));
  }
  return names;
}

// "10.1" of "eno1:10.1.4.2<0>"; empty for other families.
std::string_view NetworkOf(std::string_view said) {
  const std::string_view address = said.substr(said.find(':') + 1);
  const size_t dot = address.find('.');
  const size_t second = dot == std::string_view::npos ? dot : address.find('.', dot + 1);
  return second == std::string_view::npos ? "" : address.substr(0, second);
}

}  // namespace

std::vector<std::string> JobMap::VersionsApart() const {
  std::vector<std::string> names;
  for (auto at = versions_.begin(); at != versions_.end(); ++at) {
    // '+' sorts before what else may follow a number.
    const auto next = std::next(at);
    if (next == versions_.end() || !next->first.starts_with(at->first + '+'))
      names.push_back(at->first);
  }
  return names;
}

void JobMap::AddAdaptersApart(FactStore& facts) const {
  std::string most_host, fewest_host;
  std::set<std::string> most, fewest;
  for (const auto& [host, list] : devices_) {
    const std::set<std::string> names = AdaptersOf(list);
    if (host.empty() || names.empty()) continue;
    if (most.empty() || names.size() > most.size()) {
      most = names;
      most_host = host;
    }
    if (fewest.empty() || names.size() < fewest.size()) {
      fewest = names;
      fewest_host = host;
    }
  }
  if (most.size() == fewest.size()) return;
  std::vector<std::string> lacks;
  std::set_difference(most.begin(), most.end(), fewest.begin(), fewest.end(),
                      std::back_inserter(lacks));
  facts.Add({"job.adapters_apart",
             {{"host", fewest_host},
              {"has", std::to_string(fewest.size())},
              {"other", most_host},
              {"most", std::to_string(most.size())},
              {"lacks", Shorten(Join(lacks, ", "), kTextBytes / 4)}},
             {"NCCL log", 0},
             fmt::format("{} lists {} adapters, {} lists {}", fewest_host, fewest.size(), most_host,
                         most.size())});
}

void JobMap::AddNetworksApart(FactStore& facts) const {
  if (bootstraps_.empty() || NetworkOf(bootstraps_.begin()->second).empty()) return;
  const auto& [host, said] = *bootstraps_.begin();
  for (const auto& [other, uses] : bootstraps_) {
    const std::string_view network = NetworkOf(uses);
    if (other.empty() || network.empty() || network == NetworkOf(said)) continue;
    facts.Add({"job.networks_apart",
               {{"host", host}, {"uses", said}, {"other", other}, {"other_uses", uses}},
               {"NCCL log", 0},
               fmt::format("{} sets up over {}, {} over {}", host, said, other, uses)});
    return;
  }
}

}  // namespace muster::diagnose
