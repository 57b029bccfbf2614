#include "diagnose/document_alerts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diagnose/second_opinion.h"

namespace muster::diagnose {

namespace {

using Json = nlohmann::json;

std::string Member(const Json& object, const char* group, const char* key) {
  const auto found = object.find(group);
  if (found == object.end() || !found->is_object()) return "";
  const auto value = found->find(key);
  return value != found->end() && value->is_string() ? value->get<std::string>() : "";
}

std::string Word(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

// The list, wherever the three forms keep it; nullptr: this is none of them.
const Json* ListOf(const Json& root) {
  if (root.is_array())
    return !root.empty() && root[0].is_object() && root[0].contains("labels") &&
                   root[0].contains("annotations")
               ? &root
               : nullptr;
  const auto data = root.find("data");
  const Json& holder = data != root.end() && data->is_object() ? *data : root;
  const auto alerts = holder.find("alerts");
  return alerts != holder.end() && alerts->is_array() ? &*alerts : nullptr;
}

bool Fires(const Json& alert) {
  return Word(alert, "status") == "firing" || Word(alert, "state") == "firing" ||
         Member(alert, "status", "state") == "active";
}

}  // namespace

bool ReadAlerts(const Section& s, const Json& root, FactStore& facts) {
  const Json* alerts = ListOf(root);
  if (alerts == nullptr) return false;
  for (const Json& alert : *alerts) {
    if (!alert.is_object()) {
      AddDamage(s, facts, "a list of alerts holds something else");
      continue;
    }
    if (!Fires(alert)) continue;
    const std::string name = Member(alert, "labels", "alertname");
    std::string what = Member(alert, "annotations", "summary");
    if (what.empty()) what = Member(alert, "annotations", "description");
    Fact fact = s.Make(std::string(kAnyComplaint), {}, s.Where(name),
                       fmt::format("alert {} fires{}{}", name, what.empty() ? "" : ": ", what));
    for (const char* label : {"node", "host", "hostname", "Hostname", "instance"})
      if (fact.Get("host").empty()) fact.Set("host", Member(alert, "labels", label));
    facts.Add(std::move(fact));
  }
  return true;
}

}  // namespace muster::diagnose
