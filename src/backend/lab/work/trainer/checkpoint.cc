#include "backend/lab/work/trainer/checkpoint.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace muster::lab {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "muster-checkpoint-1";
constexpr int kLargest = 1 << 16;  // of any dimension: a manifest that says more is damaged

std::string ManifestPath(const std::string& folder) { return folder + "/manifest.json"; }

void AppendFloats(std::string& to, std::span<const float> values, Slice slice) {
  const size_t bytes = (slice.to - slice.from) * sizeof(float);
  const size_t at = to.size();
  to.resize(at + bytes);
  if (bytes > 0) std::memcpy(to.data() + at, values.data() + slice.from, bytes);
}

Result<Manifest> Decode(const Json& json) {
  if (json.at("format") != kFormat)
    return Fail(Code::kParse, fmt::format("not of format {}", kFormat));
  Manifest manifest;
  manifest.step = json.at("step").get<int64_t>();
  manifest.seed = json.at("seed").get<uint64_t>();
  manifest.loss = json.at("loss").get<double>();
  const Json& shape = json.at("model");
  manifest.shape = {shape.at("context").get<int>(), shape.at("embedding").get<int>(),
                    shape.at("hidden").get<int>()};
  for (const int n : {manifest.shape.context, manifest.shape.embedding, manifest.shape.hidden})
    if (n < 1 || n > kLargest)
      return Fail(Code::kParse, "a dimension of the model is out of range");
  for (const Json& shard : json.at("shards")) {
    manifest.shards.push_back({shard.at("rank").get<int>(), shard.at("node").get<std::string>(),
                               shard.at("file").get<std::string>(),
                               shard.at("bytes").get<uint64_t>(),
                               shard.at("sha256").get<std::string>()});
    const ShardRecord& record = manifest.shards.back();
    if (record.rank != static_cast<int>(manifest.shards.size()) - 1)
      return Fail(Code::kParse, "shards are not in rank order");
    if (record.file.find('/') != std::string::npos)
      return Fail(Code::kParse, "a shard's file has a folder in its name");
  }
  if (manifest.shards.empty()) return Fail(Code::kParse, "no shards");
  return manifest;
}

}  // namespace

std::string Manifest::ToJson() const {
  Json json = {
      {"format", kFormat},
      {"step", step},
      {"seed", seed},
      {"loss", loss},
      {"model",
       {{"context", shape.context}, {"embedding", shape.embedding}, {"hidden", shape.hidden}}},
      {"shards", Json::array()}};
  for (const ShardRecord& s : shards) {
    json["shards"].push_back({{"rank", s.rank},
                              {"node", s.node},
                              {"file", s.file},
                              {"bytes", s.bytes},
                              {"sha256", s.sha256}});
  }
  return json.dump(1) + "\n";
}

Result<Manifest> Manifest::FromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Fail(Code::kParse, "manifest.json is not JSON");
  try {
    return Decode(json).Context("manifest.json");
  } catch (const Json::exception& e) {
    return Fail(Code::kParse, fmt::format("manifest.json: {}", e.what()));
  }
}

std::string ShardName(int rank, int world) {
  return fmt::format("shard-{:05}-of-{:05}.bin", rank, world);
}

Slice SliceOf(size_t parameters, int rank, int world) {
  const auto r = static_cast<size_t>(rank), w = static_cast<size_t>(world);
  return {parameters * r / w, parameters * (r + 1) / w};
}

Result<ShardRecord> WriteShard(Files& files, const std::string& folder, int rank, int world,
                               const std::string& node, std::span<const float> parameters,
                               std::span<const float> first, std::span<const float> second) {
  const Slice slice = SliceOf(parameters.size(), rank, world);
  std::string bytes;
  for (const auto& part : {parameters, first, second}) AppendFloats(bytes, part, slice);
  ShardRecord record{rank, node, ShardName(rank, world), bytes.size(), Sha256Hex(bytes)};
  TRY_VOID(files.MakeFolders(folder).Context("making the checkpoint's folder"));
  TRY_VOID(files.WriteAtomic(folder + "/" + record.file, bytes)
               .Context(fmt::format("writing {}", record.file)));
  return record;
}

Status WriteManifest(Files& files, const std::string& folder, const Manifest& manifest, int world) {
  if (manifest.shards.size() != static_cast<size_t>(world)) {
    return Fail(Code::kInvalid,
                fmt::format("{} of {} shards are written: no manifest, so no checkpoint",
                            manifest.shards.size(), world));
  }
  return files.WriteAtomic(ManifestPath(folder), manifest.ToJson());
}

Status RemoveManifest(Files& files, const std::string& folder) {
  return files.Remove(ManifestPath(folder));
}

Result<Manifest> ReadManifest(Files& files, const std::string& folder) {
  TRY(const std::string text,
      files.Read(ManifestPath(folder), 64u << 20).Context("reading the manifest of " + folder));
  return Manifest::FromJson(text);
}

Result<TrainingState> ReadCheckpoint(Files& files, const std::string& folder,
                                     const Manifest& manifest) {
  const size_t size = manifest.shape.Parameters();
  TrainingState state;
  for (auto* part : {&state.parameters, &state.first, &state.second}) part->resize(size);
  const int world = static_cast<int>(manifest.shards.size());
  for (const ShardRecord& shard : manifest.shards) {
    const auto damaged = [&](std::string_view how) {
      return Fail(Code::kCorrupt, fmt::format("{}/{}: {}", folder, shard.file, how));
    };
    const auto bytes = files.Read(folder + "/" + shard.file);
    if (!bytes.ok()) return damaged(bytes.error().ToString());
    if (bytes->size() != shard.bytes)
      return damaged(fmt::format("{} bytes, the manifest says {}", bytes->size(), shard.bytes));
    if (Sha256Hex(*bytes) != shard.sha256) return damaged("SHA-256 differs from the manifest");
    const Slice slice = SliceOf(size, shard.rank, world);
    const size_t part_bytes = (slice.to - slice.from) * sizeof(float);
    if (bytes->size() != 3 * part_bytes) return damaged("not the size of its slice");
    const char* from = bytes->data();
    for (auto* part : {&state.parameters, &state.first, &state.second}) {
      if (part_bytes > 0) std::memcpy(part->data() + slice.from, from, part_bytes);
      from += part_bytes;
    }
  }
  return state;
}

}  // namespace muster::lab
