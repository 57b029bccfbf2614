#include "measure/training/checkpoint_check.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace muster::training {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxShard = 4ull << 30;
constexpr uint64_t kMaxManifest = 64u << 20;

// The digests that a manifest seals, by file name.
Result<std::map<std::string, std::string>> Sealed(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("shards") || !json["shards"].is_array())
    return Fail(Code::kParse, "manifest.json is not a whole manifest");
  std::map<std::string, std::string> sealed;
  for (const Json& shard : json["shards"]) {
    if (!shard.is_object() || !shard.contains("file") || !shard["file"].is_string() ||
        !shard.contains("sha256") || !shard["sha256"].is_string())
      return Fail(Code::kParse, "manifest.json: a shard without file or sha256");
    sealed[shard["file"].get<std::string>()] = shard["sha256"].get<std::string>();
  }
  return sealed;
}

// Missing, short and altered are seen; not permitted and not reachable are not.
ShardCheck LookAt(Files& files, const RankReport& report) {
  ShardCheck check{report.rank, Seal::kUnknown, ""};
  if (!report.shard) {
    check.detail = fmt::format("rank {} did not speak of its shard", report.rank);
    return check;
  }
  const ShardReport& shard = *report.shard;
  const auto broken = [&](std::string why) {
    check.seal = Seal::kBroken;
    check.detail = fmt::format("{}: {}", shard.file, why);
    return check;
  };
  if (!shard.written) return broken("not written: " + shard.error);
  const auto bytes = files.Read(shard.folder + "/" + shard.file, kMaxShard);
  if (!bytes.ok()) {
    if (bytes.error().code == Code::kNotFound) return broken("is not there");
    check.detail = fmt::format("{}: {}", shard.file, bytes.error().ToString());
    return check;
  }
  if (bytes->size() != shard.bytes)
    return broken(fmt::format("has {} bytes, its rank wrote {}", bytes->size(), shard.bytes));
  if (Sha256Hex(*bytes) != shard.sha256) return broken("is not what its rank wrote (SHA-256)");
  check.seal = Seal::kVerified;
  check.detail = fmt::format("{}: {} bytes, sha256 {}", shard.file, shard.bytes, shard.sha256);
  return check;
}

void CheckManifest(Files& files, const std::string& folder, const std::vector<RankReport>& reports,
                   int expected_ranks, CheckpointCheck& check) {
  const auto text = files.Read(folder + "/manifest.json", kMaxManifest);
  if (!text.ok()) {
    const bool absent = text.error().code == Code::kNotFound;
    check.manifest = absent ? Seal::kBroken : Seal::kUnknown;
    check.manifest_detail =
        absent ? folder + " has no manifest, so it is no checkpoint" : text.error().ToString();
    return;
  }
  const auto broken = [&](std::string why) {
    check.manifest = Seal::kBroken;
    check.manifest_detail = std::move(why);
  };
  const auto sealed = Sealed(*text);
  if (!sealed.ok()) return broken(sealed.error().ToString());
  if (sealed->size() != static_cast<size_t>(expected_ranks)) {
    return broken(
        fmt::format("manifest.json has {} shards for {} ranks", sealed->size(), expected_ranks));
  }
  for (const RankReport& report : reports) {
    if (!report.shard || !report.shard->written) continue;
    const auto found = sealed->find(report.shard->file);
    if (found == sealed->end() || found->second != report.shard->sha256)
      return broken(fmt::format("manifest.json does not seal {}", report.shard->file));
  }
  check.manifest = Seal::kVerified;
  check.manifest_detail = fmt::format("{}/manifest.json: {} shards", folder, sealed->size());
}

}  // namespace

CheckpointCheck CheckCheckpoint(Files& files, const std::vector<RankReport>& reports,
                                int expected_ranks) {
  CheckpointCheck check;
  check.manifest_detail = "no rank spoke of a checkpoint";
  for (int r = 0; r < expected_ranks; ++r)
    check.shards.push_back({r, Seal::kUnknown, fmt::format("rank {} has no log", r)});
  std::string folder;
  for (const RankReport& report : reports) {
    if (report.rank < 0 || report.rank >= expected_ranks) continue;
    check.shards[static_cast<size_t>(report.rank)] = LookAt(files, report);
    if (!report.shard) continue;
    check.asked = true;
    if (folder.empty()) folder = report.shard->folder;
  }
  if (check.asked) CheckManifest(files, folder, reports, expected_ranks, check);
  return check;
}

}  // namespace muster::training
