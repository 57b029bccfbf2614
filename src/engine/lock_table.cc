#include "engine/lock_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::engine {

void LockTable::Add(const std::string& name, const Holder& holder, uint64_t fence) {
  held_[name][holder] = fence;
  holds_[holder].insert(name);
}

void LockTable::Drop(const std::string& name, const Holder& holder) {
  const auto lock = held_.find(name);
  if (lock == held_.end() || lock->second.erase(holder) == 0) return;
  if (lock->second.empty()) held_.erase(lock);
  const auto names = holds_.find(holder);
  names->second.erase(name);
  if (names->second.empty()) holds_.erase(names);
}

size_t LockTable::Holders(const std::string& name) const {
  const auto lock = held_.find(name);
  return lock == held_.end() ? 0 : lock->second.size();
}

Result<uint64_t> LockTable::Take(
    const std::string& run, const std::string& node, const std::vector<Locks::Want>& wants,
    const std::function<Standing(const std::string&)>& standing,
    const std::function<bool(const std::string&, const std::string&)>& marked) {
  const Holder mine{run, node};
  const auto others = [&](const std::string& name) {
    const auto names = holds_.find(mine);
    const bool there = names != holds_.end() && names->second.contains(name);
    return static_cast<int>(Holders(name)) - (there ? 1 : 0);
  };
  for (const Locks::Want& want : wants) {
    if (others(want.name) < want.slots) continue;
    std::vector<Holder> nobodys;
    if (const auto lock = held_.find(want.name); lock != held_.end()) {
      for (const auto& [holder, fence] : lock->second) {
        if (holder.run != run && standing(holder.run) != Standing::kLive &&
            !marked(holder.node, holder.run))
          nobodys.push_back(holder);
      }
    }
    for (const Holder& holder : nobodys) Drop(want.name, holder);
    if (others(want.name) < want.slots) continue;
    if (others(want.name) == 0)
      return Fail(Code::kConflict, fmt::format("{}: no more may be out of service", want.name));
    const auto& holders = held_.at(want.name);
    const Holder& first =
        holders.begin()->first == mine ? std::next(holders.begin())->first : holders.begin()->first;
    return Fail(Code::kConflict,
                fmt::format("{} is locked by run {} (node {}): resume it or roll it "
                            "back, or return the node",
                            want.name, first.run, first.node));
  }
  const uint64_t fence = ++last_fence_;
  for (const Locks::Want& want : wants) Add(want.name, mine, fence);
  return fence;
}

void LockTable::Release(const std::string& run, const std::string& node) {
  const Holder mine{run, node};
  const auto names = holds_.find(mine);
  if (names == holds_.end()) return;
  const std::set<std::string> all = names->second;
  for (const std::string& name : all) Drop(name, mine);
}

std::string LockTable::Encode() const {
  nlohmann::json json = {
      {"version", 1}, {"lastFence", last_fence_}, {"held", nlohmann::json::object()}};
  for (const auto& [name, holders] : held_) {
    for (const auto& [holder, fence] : holders)
      json["held"][name].push_back({{"run", holder.run}, {"node", holder.node}, {"fence", fence}});
  }
  return json.dump(1) + "\n";
}

Result<LockTable> LockTable::Decode(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    LockTable table;
    if (json.at("version").get<int>() != 1)
      return Fail(Code::kCorrupt, "the locks are of another format version");
    table.last_fence_ = json.at("lastFence").get<uint64_t>();
    for (const auto& [name, holders] : json.at("held").items()) {
      for (const auto& holder : holders)
        table.Add(name, {holder.at("run").get<std::string>(), holder.at("node").get<std::string>()},
                  holder.at("fence").get<uint64_t>());
    }
    return table;
  } catch (const nlohmann::json::exception& e) {
    // Never "no locks": that would let two runs onto one node.
    return Fail(Code::kCorrupt,
                fmt::format("the locks cannot be read: {}", Printable(Shorten(e.what(), 160))));
  }
}

}  // namespace muster::engine
