// The bill of materials as CycloneDX 1.5 JSON (cyclonedx.org/docs/1.5/json): a node is a component
// of type device, what it runs are components inside it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bom.h"
#include "base/strings.h"

namespace muster {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string_view TypeOf(std::string_view name) {
  if (StartsWith(name, "firmware:")) return "firmware";
  if (name == "driver" || name == "ofed") return "device-driver";
  if (name == "kernel" || name == "os") return "operating-system";
  if (name == "cuda" || StartsWith(name, "package:lib")) return "library";
  if (StartsWith(name, "pin:")) return "data";
  return "application";
}

OrderedJson ComponentOf(const BomItem& item) {
  OrderedJson json = {{"type", TypeOf(item.name)}, {"name", item.name}};
  if (!item.version.empty()) json["version"] = item.version;
  if (!item.unknown.empty())
    json["properties"] = {{{"name", "muster:unknown"}, {"value", item.unknown}}};
  return json;
}

std::string Property(const nlohmann::json& component, const char* name) {
  const auto list = component.find("properties");
  if (list == component.end() || !list->is_array()) return {};
  for (const auto& entry : *list) {
    if (entry.is_object() && entry.value("name", "") == name && entry.contains("value") &&
        entry["value"].is_string())
      return entry["value"].get<std::string>();
  }
  return {};
}

std::string TextOf(const nlohmann::json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Result<BomItem> ItemOf(const nlohmann::json& component, const std::string& node,
                       const std::string& name, const std::string& where) {
  if (!component.is_object() || TextOf(component, "name").empty())
    return Fail(Code::kInvalid, fmt::format("{}: {}: a component without a name", name, where));
  BomItem item{node, TextOf(component, "name"), TextOf(component, "version"),
               Property(component, "muster:unknown")};
  if (item.version.empty() && item.unknown.empty()) item.unknown = "the record has no version";
  return item;
}

}  // namespace

std::string ToCycloneDx(const Bom& bom) {
  OrderedJson json = {{"$schema", "http://cyclonedx.org/schema/bom-1.5.schema.json"},
                      {"bomFormat", "CycloneDX"},
                      {"specVersion", "1.5"},
                      {"serialNumber", bom.serial},
                      {"version", 1}};
  json["metadata"] = {
      {"timestamp", FormatTime(bom.at)},
      {"component", {{"type", "platform"}, {"name", bom.site}}},
      {"properties", {{{"name", "muster:origin"}, {"value", ToString(bom.origin)}}}}};
  json["components"] = OrderedJson::array();
  for (const BomItem& item : bom.items) {
    if (item.node.empty()) {
      json["components"].push_back(ComponentOf(item));
      continue;
    }
    const bool same_node = !json["components"].empty() &&
                           json["components"].back()["type"] == "device" &&
                           json["components"].back()["name"] == item.node;
    if (!same_node) {
      json["components"].push_back(
          {{"type", "device"}, {"name", item.node}, {"components", OrderedJson::array()}});
    }
    json["components"].back()["components"].push_back(ComponentOf(item));
  }
  return json.dump(2) + "\n";
}

Result<Bom> FromCycloneDx(std::string_view text, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const auto fail = [&](const std::string& what) {
    return Fail(Code::kInvalid, fmt::format("{}: {}", name, what));
  };
  if (!json.is_object()) return fail("no JSON object; expected a CycloneDX document");
  if (TextOf(json, "bomFormat") != "CycloneDX")
    return fail("bomFormat is not \"CycloneDX\"; only CycloneDX JSON is read");
  Bom bom;
  bom.serial = TextOf(json, "serialNumber");
  if (const auto metadata = json.find("metadata");
      metadata != json.end() && metadata->is_object()) {
    if (const auto at = ParseTime(TextOf(*metadata, "timestamp")); at.ok()) bom.at = *at;
    if (metadata->contains("component") && (*metadata)["component"].is_object())
      bom.site = TextOf((*metadata)["component"], "name");
    const std::string origin = Property(*metadata, "muster:origin");
    bom.origin = origin == "rehearsed" ? Origin::kRehearsed
                 : origin == "live"    ? Origin::kLive
                                       : Origin::kReplayed;
  }
  const auto components = json.find("components");
  if (components == json.end() || !components->is_array())
    return fail("components: expected a list");
  size_t index = 0;
  for (const auto& component : *components) {
    const std::string where = fmt::format("components[{}]", index++);
    const bool device = component.is_object() && TextOf(component, "type") == "device" &&
                        component.contains("components");
    if (!device) {
      TRY(BomItem item, ItemOf(component, "", name, where));
      bom.items.push_back(std::move(item));
      continue;
    }
    if (!component["components"].is_array()) return fail(where + ".components: expected a list");
    for (const auto& part : component["components"]) {
      TRY(BomItem item, ItemOf(part, TextOf(component, "name"), name, where));
      bom.items.push_back(std::move(item));
    }
  }
  std::sort(bom.items.begin(), bom.items.end(), [](const BomItem& a, const BomItem& b) {
    return std::tie(a.node, a.name) < std::tie(b.node, b.name);
  });
  for (size_t i = 1; i < bom.items.size(); ++i) {
    const BomItem &a = bom.items[i - 1], &b = bom.items[i];
    if (a.node == b.node && a.name == b.name)
      return fail(
          fmt::format("{} of {} is there twice", b.name, b.node.empty() ? "the site" : b.node));
  }
  return bom;
}

}  // namespace muster
