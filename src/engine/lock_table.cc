#include "engine/lock_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::engine {

Result<uint64_t> LockTable::Take(
    const std::string& run, const std::string& node, const std::vector<Locks::Want>& wants,
    const std::function<Standing(const std::string&)>& standing,
    const std::function<bool(const std::string&, const std::string&)>& marked) {
  for (const Locks::Want& want : wants) {
    auto& holders = held[want.name];
    std::erase_if(holders, [&](const Holder& holder) {
      if (holder.run == run) return false;
      return standing(holder.run) != Standing::kLive && !marked(holder.node, holder.run);
    });
    const auto others = std::count_if(holders.begin(), holders.end(), [&](const Holder& holder) {
      return holder.run != run || holder.node != node;
    });
    if (others < want.slots) continue;
    if (others == 0)
      return Fail(Code::kConflict, fmt::format("{}: no more may be out of service", want.name));
    const Holder& first = *std::find_if(holders.begin(), holders.end(), [&](const Holder& holder) {
      return holder.run != run || holder.node != node;
    });
    return Fail(Code::kConflict,
                fmt::format("{} is locked by run {} (node {}): resume it or roll it "
                            "back, or return the node",
                            want.name, first.run, first.node));
  }
  const uint64_t fence = ++last_fence;
  for (const Locks::Want& want : wants) {
    auto& holders = held[want.name];
    const auto mine = std::find_if(holders.begin(), holders.end(), [&](const Holder& holder) {
      return holder.run == run && holder.node == node;
    });
    if (mine == holders.end()) {
      holders.push_back({run, node, fence});
    } else {
      mine->fence = fence;
    }
  }
  return fence;
}

void LockTable::Release(const std::string& run, const std::string& node) {
  for (auto it = held.begin(); it != held.end();) {
    std::erase_if(it->second,
                  [&](const Holder& holder) { return holder.run == run && holder.node == node; });
    it = it->second.empty() ? held.erase(it) : std::next(it);
  }
}

std::string LockTable::Encode() const {
  nlohmann::json json = {
      {"version", 1}, {"lastFence", last_fence}, {"held", nlohmann::json::object()}};
  for (const auto& [name, holders] : held) {
    for (const Holder& holder : holders)
      json["held"][name].push_back(
          {{"run", holder.run}, {"node", holder.node}, {"fence", holder.fence}});
  }
  return json.dump(1) + "\n";
}

Result<LockTable> LockTable::Decode(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    LockTable table;
    if (json.at("version").get<int>() != 1)
      return Fail(Code::kCorrupt, "the locks are of another format version");
    table.last_fence = json.at("lastFence").get<uint64_t>();
    for (const auto& [name, holders] : json.at("held").items()) {
      for (const auto& holder : holders)
        table.held[name].push_back({holder.at("run").get<std::string>(),
                                    holder.at("node").get<std::string>(),
                                    holder.at("fence").get<uint64_t>()});
    }
    return table;
  } catch (const nlohmann::json::exception& e) {
    // Never "no locks": that would let two runs onto one node.
    return Fail(Code::kCorrupt,
                fmt::format("the locks cannot be read: {}", Printable(Shorten(e.what(), 160))));
  }
}

}  // namespace muster::engine
