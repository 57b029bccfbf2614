#include "sched/numa/node_lines.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "manifest/quantity.h"

namespace muster::numa {
namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 16;

// One line, and where in it a key stands: the tree knows no columns.
struct Line {
  std::string_view text;
  int number;

  tl::unexpected<Error> Wrong(const std::string& key, const std::string& what) const {
    const size_t at = text.find("\"" + key + "\"");
    return At(at == std::string_view::npos ? 1 : at + 1, what);
  }
  tl::unexpected<Error> At(size_t column, const std::string& what) const {
    return Fail(Code::kInvalid, fmt::format("line {}, column {}: {}", number, column, what));
  }
};

Status OnlyKeys(const Line& line, const Json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) return line.Wrong(key, fmt::format("unknown key \"{}\"", key));
  }
  return {};
}

Result<int64_t> Amount(const Line& line, const std::string& name, const Json& value) {
  if (!value.is_string())
    return line.Wrong(name, fmt::format("{}: expected a quantity text", name));
  const auto amount = ParseResourceAmount(name, value.get_ref<const std::string&>());
  if (!amount.ok()) return line.Wrong(name, fmt::format("{}: {}", name, amount.error().message));
  if (*amount < 0) return line.Wrong(name, fmt::format("{}: expected 0 or more", name));
  return *amount;
}

Result<Resources> Amounts(const Line& line, const std::string& key, const Json& object) {
  if (!object.is_object()) return line.Wrong(key, key + ": expected an object of quantities");
  Resources resources;
  for (const auto& [name, value] : object.items()) {
    TRY(resources[name], Amount(line, name, value));
  }
  return resources;
}

Result<ZoneFacts> ReadZone(const Line& line, const Json& object) {
  if (!object.is_object()) return line.Wrong("numa", "numa: expected objects");
  ZoneFacts zone;
  for (const auto& [name, value] : object.items()) {
    if (name.find('/') == std::string::npos) {
      TRY(zone.amounts[name], Amount(line, name, value));
      continue;
    }
    if (!value.is_array()) return line.Wrong(name, name + ": expected a list of device ids");
    for (const Json& id : value) {
      if (!id.is_number_integer() || id < 0 || id >= kMaxDevices) {
        return line.Wrong(name, fmt::format("{}: expected ids of 0 to {}", name, kMaxDevices - 1));
      }
      zone.devices[name].push_back(id.get<int>());
    }
  }
  return zone;
}

Status ReadManagers(const Line& line, const Json& object, NodeFacts* node) {
  if (!object.is_object()) {
    return line.Wrong("topology_manager", "topology_manager: expected an object");
  }
  TRY_VOID(
      OnlyKeys(line, object, {"policy", "scope", "cpu_manager", "memory_manager", "reserved"}));
  const std::pair<const char*, std::string*> texts[] = {{"policy", &node->policy},
                                                        {"scope", &node->scope},
                                                        {"cpu_manager", &node->cpu_manager},
                                                        {"memory_manager", &node->memory_manager}};
  for (const auto& [key, into] : texts) {
    if (!object.contains(key)) continue;
    if (!object[key].is_string()) return line.Wrong(key, std::string(key) + ": expected a text");
    *into = object[key].get<std::string>();
  }
  if (object.contains("reserved")) {
    TRY(node->reserved, Amounts(line, "reserved", object["reserved"]));
  }
  return {};
}

Result<NodeFacts> ReadNode(const Line& line, const Json& object) {
  TRY_VOID(OnlyKeys(
      line, object,
      {"t", "op", "name", "at", "labels", "taints", "capacity", "numa", "topology_manager"}));
  NodeFacts node;
  if (!object.contains("name") || !object["name"].is_string()) {
    return line.Wrong("name", "a node needs a \"name\"");
  }
  node.name = object["name"].get<std::string>();
  if (!object.contains("capacity")) return line.Wrong("op", "a node needs its \"capacity\"");
  TRY(node.capacity, Amounts(line, "capacity", object["capacity"]));
  if (object.contains("numa")) {
    if (!object["numa"].is_array()) return line.Wrong("numa", "numa: expected a list of zones");
    for (const Json& zone : object["numa"]) {
      TRY(ZoneFacts facts, ReadZone(line, zone));
      node.zones.push_back(std::move(facts));
    }
  }
  if (object.contains("topology_manager")) {
    TRY_VOID(ReadManagers(line, object["topology_manager"], &node));
  }
  return node;
}

// The library keeps the last of two equal keys and recurses without bound: both are refused here.
Result<Json> ParseLine(const Line& line) {
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  bool deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostDepth) deep = true;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty() && repeated.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  try {
    Json object = Json::parse(line.text, watch);
    if (deep) return line.At(1, fmt::format("nested deeper than {}", kMostDepth));
    if (!repeated.empty()) return line.Wrong(repeated, fmt::format("\"{}\" twice", repeated));
    if (!object.is_object()) return line.At(1, "expected an object");
    return object;
  } catch (const Json::parse_error& error) {
    return line.At(std::max<size_t>(1, error.byte), "not JSON");
  } catch (const Json::exception&) {
    return line.At(1, "not JSON");
  }
}

}  // namespace

Result<std::vector<NodeFacts>> ReadNodeLines(std::string_view text) {
  std::vector<NodeFacts> nodes;
  std::set<std::string> names;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const Line line{text.substr(0, end), ++number};
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line.text[first] == '#') continue;
    TRY(const Json object, ParseLine(line));
    if (!object.contains("op") || !object["op"].is_string()) {
      return line.At(1, "expected an event with \"op\"");
    }
    if (object["op"] != "node.add") continue;
    TRY(NodeFacts node, ReadNode(line, object));
    if (!names.insert(node.name).second) {
      return line.Wrong("name", fmt::format("node {} is added twice", node.name));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace muster::numa
