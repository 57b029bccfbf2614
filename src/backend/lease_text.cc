#include "backend/lease_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

nlohmann::json LeaseJson(const Lease& lease) {
  return {{"owner", lease.owner},
          {"run", lease.run},
          {"reason", lease.reason},
          {"priorSchedulable", lease.prior_schedulable},
          {"priorNote", lease.prior_note},
          {"since", FormatTime(lease.since)},
          {"until", FormatTime(lease.until)},
          {"fence", lease.fence}};
}

std::string WriteLease(const Lease& lease) {
  return LeaseJson(lease).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Lease> ReadLease(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const auto word = [&](const char* key) -> std::string {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (!json.is_object() || word("owner").empty())
    return Fail(Code::kParse,
                fmt::format("no lease of Muster's: \"{}\"", Shorten(Printable(text), 120)));
  Lease lease;
  lease.owner = word("owner");
  lease.run = word("run");
  lease.reason = word("reason");
  lease.prior_note = word("priorNote");
  const auto prior = json.find("priorSchedulable");
  lease.prior_schedulable = prior == json.end() || !prior->is_boolean() || prior->get<bool>();
  TRY(lease.since, ParseTime(word("since")));
  TRY(lease.until, ParseTime(word("until")));
  if (const auto fence = json.find("fence"); fence != json.end() && fence->is_number_unsigned())
    lease.fence = fence->get<uint64_t>();
  return lease;
}

}  // namespace muster
