// The words that stand in stored records, beside their enums. Private to what writes and what reads
// records.
#pragma once

#include <array>
#include <string_view>

namespace muster::engine {

inline constexpr std::array<std::string_view, 21> kTypes = {
    "",         "open",   "attached", "approved", "paused",   "continued", "started",
    "checked",  "intent", "again",    "outcome",  "verified", "skipped",   "asked",
    "rollback", "round",  "ended",    "unlocked", "closed",   "attested",  "unbound"};
inline constexpr std::array<std::string_view, 6> kOutcomes = {
    "", "done", "already so", "not applied", "applied and failed", "unknown"};
inline constexpr std::array<std::string_view, 11> kEnds = {
    "",       "done",     "stale",        "skipped",    "released",   "rolled back",
    "parked", "in doubt", "needs person", "taken over", "not started"};
inline constexpr std::array<std::string_view, 3> kWays = {"", "release", "rollback"};

}  // namespace muster::engine
