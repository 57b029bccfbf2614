#include "engine/entry.h"

#include <nlohmann/json.hpp>

#include "backend/lease_text.h"
#include "engine/entry_words.h"

namespace muster::engine {

namespace {
using Json = nlohmann::json;
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

}  // namespace muster::engine
