#include "engine/entry.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::engine {

namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 21> kTypes = {
    "",         "open",   "attached", "approved", "paused",   "continued", "started",
    "checked",  "intent", "again",    "outcome",  "verified", "skipped",   "asked",
    "rollback", "round",  "ended",    "unlocked", "closed",   "attested",  "unbound"};
constexpr std::array<std::string_view, 6> kOutcomes = {
    "", "done", "already so", "not applied", "applied and failed", "unknown"};
constexpr std::array<std::string_view, 11> kEnds = {
    "",       "done",     "stale",        "skipped",    "released",   "rolled back",
    "parked", "in doubt", "needs person", "taken over", "not started"};
constexpr std::array<std::string_view, 3> kWays = {"", "release", "rollback"};

template <typename E, size_t N>
Result<E> FromName(const std::array<std::string_view, N>& names, const std::string& name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return Fail(Code::kCorrupt, fmt::format("unknown word \"{}\"", Printable(name)));
}

Json LeaseJson(const Lease& lease) {
  return {{"owner", lease.owner},
          {"run", lease.run},
          {"reason", lease.reason},
          {"priorSchedulable", lease.prior_schedulable},
          {"priorNote", lease.prior_note},
          {"since", FormatTime(lease.since)},
          {"until", FormatTime(lease.until)},
          {"fence", lease.fence}};
}

Result<Lease> LeaseFrom(const Json& json) {
  Lease lease;
  lease.owner = json.at("owner").get<std::string>();
  lease.run = json.at("run").get<std::string>();
  lease.reason = json.at("reason").get<std::string>();
  lease.prior_schedulable = json.at("priorSchedulable").get<bool>();
  lease.prior_note = json.at("priorNote").get<std::string>();
  TRY(lease.since, ParseTime(json.at("since").get<std::string>()));
  TRY(lease.until, ParseTime(json.at("until").get<std::string>()));
  lease.fence = json.at("fence").get<uint64_t>();
  return lease;
}

Result<Entry> FromJson(uint32_t type, const Json& json) {
  if (type == 0 || type >= kTypes.size())
    return Fail(Code::kCorrupt, fmt::format("unknown type of record {}", type));
  Entry entry;
  entry.type = static_cast<EntryType>(type);
  TRY(entry.at, ParseTime(json.at("at").get<std::string>()));
  entry.target = json.value("target", -1);
  entry.step = json.value("step", "");
  entry.cursor = json.value("cursor", -1);
  entry.attempt = json.value("attempt", 0);
  entry.destructive = json.value("destructive", false);
  entry.effect = json.value("effect", false);
  entry.proof = json.value("proof", false);
  TRY(entry.outcome, FromName<Outcome>(kOutcomes, json.value("outcome", "")));
  TRY(entry.end, FromName<End>(kEnds, json.value("end", "")));
  TRY(entry.way, FromName<Way>(kWays, json.value("way", "")));
  if (json.contains("level")) {
    TRY(entry.level, ParseLevel(json["level"].get<std::string>()));
  }
  if (json.contains("rung")) {
    TRY(entry.rung, ParseRung(json["rung"].get<std::string>()));
  }
  if (json.contains("act")) {
    TRY(entry.act, ParseActKind(json["act"].get<std::string>()));
  }
  entry.token = json.value("token", "");
  entry.by = json.value("by", "");
  entry.detail = json.value("detail", "");
  entry.evidence = json.value("evidence", "");
  entry.plan_hash = json.value("planHash", "");
  entry.fence = json.value("fence", uint64_t{0});
  if (json.contains("before")) entry.before = json["before"].get<Fingerprint>();
  if (json.contains("lease")) {
    TRY(entry.lease, LeaseFrom(json["lease"]));
  }
  if (json.contains("until")) {
    TRY(entry.until, ParseTime(json["until"].get<std::string>()));
  }
  return entry;
}

}  // namespace

std::string_view ToString(EntryType type) { return kTypes[static_cast<size_t>(type)]; }
std::string_view ToString(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }
std::string_view ToString(End end) { return kEnds[static_cast<size_t>(end)]; }
std::string_view ToString(Way way) { return kWays[static_cast<size_t>(way)]; }

std::string EncodeEntry(const Entry& entry) {
  Json json = {{"at", FormatTime(entry.at)}};
  const auto put = [&](const char* key, const auto& value, const auto& otherwise) {
    if (value != otherwise) json[key] = value;
  };
  put("target", entry.target, -1);
  put("step", entry.step, "");
  put("cursor", entry.cursor, -1);
  put("attempt", entry.attempt, 0);
  put("destructive", entry.destructive, false);
  put("effect", entry.effect, false);
  put("proof", entry.proof, false);
  put("outcome", ToString(entry.outcome), "");
  put("end", ToString(entry.end), "");
  put("way", ToString(entry.way), "");
  put("token", entry.token, "");
  put("by", entry.by, "");
  put("detail", entry.detail, "");
  put("evidence", entry.evidence, "");
  put("planHash", entry.plan_hash, "");
  put("fence", entry.fence, uint64_t{0});
  if (entry.type == EntryType::kVerified || entry.type == EntryType::kChecked ||
      entry.type == EntryType::kAttested)
    json["level"] = ToString(entry.level);
  if (entry.rung != Rung::kNone) json["rung"] = ToString(entry.rung);
  if (entry.type == EntryType::kIntent || entry.type == EntryType::kOutcome)
    json["act"] = ToString(entry.act);
  if (!entry.before.empty()) json["before"] = entry.before;
  if (!entry.lease.owner.empty()) json["lease"] = LeaseJson(entry.lease);
  if (entry.until != TimePoint{}) json["until"] = FormatTime(entry.until);
  // What a tool printed may be no UTF-8: replaced, never thrown over.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Entry> DecodeEntry(uint32_t type, std::string_view payload) {
  try {
    auto entry = FromJson(type, Json::parse(payload));
    if (entry.ok()) return entry;
    return Fail(Code::kCorrupt, entry.error().message);
  } catch (const Json::exception& e) {
    return Fail(Code::kCorrupt, fmt::format("not a record: {}", Printable(Shorten(e.what(), 200))));
  }
}

}  // namespace muster::engine
