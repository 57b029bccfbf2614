#include "backend/kubernetes/kueue/topology_assignment.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace muster::kueue {

namespace {

using Json = nlohmann::json;

constexpr size_t kMostDomains = 100'000;

Status Malformed(const char* what) {
  return Fail(Code::kParse, std::string("a topologyAssignment with ") + what);
}

// Of one level in one slice: the same value for all, or a root each between prefix and suffix.
Result<std::vector<std::string>> ValuesOf(const Json& level, size_t count) {
  if (const auto all = level.find("universalValue"); all != level.end() && all->is_string())
    return std::vector<std::string>(count, all->get<std::string>());
  const auto roots = level.find("roots");
  if (roots == level.end() || !roots->is_array() || roots->size() != count)
    return Fail(Code::kParse, "a topologyAssignment without a root for each domain");
  const std::string prefix = level.value("prefix", ""), suffix = level.value("suffix", "");
  std::vector<std::string> values;
  for (const Json& root : *roots) values.push_back(prefix + root.get<std::string>() + suffix);
  return values;
}

Status ReadSlice(const Json& slice, TopologyAssignment& assignment) {
  const auto count = slice.value("domainCount", int64_t{0});
  if (count < 1 || static_cast<size_t>(count) + assignment.domains.size() > kMostDomains)
    return Malformed("no domains, or too many");
  const size_t first = assignment.domains.size(), n = static_cast<size_t>(count);
  assignment.domains.resize(first + n);
  const Json levels = slice.value("valuesPerLevel", Json::array());
  if (levels.size() != assignment.levels.size()) return Malformed("values of other levels");
  for (const Json& level : levels) {
    TRY(const auto values, ValuesOf(level, n));
    for (size_t i = 0; i < n; ++i) assignment.domains[first + i].values.push_back(values[i]);
  }
  const auto each = slice.find("podCounts");
  if (each != slice.end() && each->size() != n) return Malformed("other counts than domains");
  for (size_t i = 0; i < n; ++i)
    assignment.domains[first + i].count =
        each != slice.end() ? (*each)[i].get<int>() : slice.value("universalPodCount", 0);
  return {};
}

Result<TopologyAssignment> Read(const Json& json) {
  TopologyAssignment assignment;
  assignment.levels = json.value("levels", std::vector<std::string>());
  if (assignment.levels.empty()) return Fail(Code::kParse, "a topologyAssignment without levels");
  for (const Json& slice : json.value("slices", Json::array()))
    TRY_VOID(ReadSlice(slice, assignment));
  for (const Json& domain : json.value("domains", Json::array())) {  // v1beta1
    TopologyAssignment::Domain one{domain.value("values", std::vector<std::string>()),
                                   domain.value("count", 0)};
    if (one.values.size() != assignment.levels.size() || assignment.domains.size() >= kMostDomains)
      return Fail(Code::kParse, "a topologyAssignment with values of other levels");
    assignment.domains.push_back(std::move(one));
  }
  const bool counts = std::all_of(assignment.domains.begin(), assignment.domains.end(),
                                  [](const auto& domain) { return domain.count > 0; });
  if (!counts || assignment.domains.empty())
    return Fail(Code::kParse, "a topologyAssignment with domains of no pods");
  return assignment;
}

// The same for all is written once.
Json LevelOf(const TopologyAssignment& assignment, size_t level) {
  const auto& domains = assignment.domains;
  const std::string& first = domains[0].values[level];
  if (std::all_of(domains.begin(), domains.end(),
                  [&](const auto& domain) { return domain.values[level] == first; }))
    return {{"universalValue", first}};
  Json roots = Json::array();
  for (const auto& domain : domains) roots.push_back(domain.values[level]);
  return {{"roots", std::move(roots)}};
}

}  // namespace

Result<TopologyAssignment> DecodeTopologyAssignment(std::string_view json) {
  const Json read = Json::parse(json, nullptr, false);
  if (!read.is_object()) return Fail(Code::kParse, "a topologyAssignment that is no object");
  try {
    return Read(read);
  } catch (const Json::exception&) {
    return Fail(Code::kParse, "a topologyAssignment of an unexpected form");
  }
}

std::string EncodeTopologyAssignment(const TopologyAssignment& assignment,
                                     std::string_view version) {
  const auto& domains = assignment.domains;
  Json json = {{"levels", assignment.levels}};
  if (version == "v1beta1" || domains.empty()) {
    json["domains"] = Json::array();
    for (const auto& domain : domains)
      json["domains"].push_back({{"values", domain.values}, {"count", domain.count}});
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  Json slice = {{"domainCount", domains.size()}, {"valuesPerLevel", Json::array()}};
  for (size_t level = 0; level < assignment.levels.size(); ++level)
    slice["valuesPerLevel"].push_back(LevelOf(assignment, level));
  if (std::all_of(domains.begin(), domains.end(),
                  [&](const auto& domain) { return domain.count == domains[0].count; })) {
    slice["universalPodCount"] = domains[0].count;
  } else {
    for (const auto& domain : domains) slice["podCounts"].push_back(domain.count);
  }
  json["slices"] = Json::array({std::move(slice)});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace muster::kueue
