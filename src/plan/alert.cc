#include "plan/alert.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::json;
constexpr size_t kLongestLabel = 4096;

tl::unexpected<Error> BadAlert(size_t index, std::string_view what) {
  return Fail(Code::kInvalid, fmt::format("alerts[{}]: {}", index, what));
}

std::string TextAt(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool Hex(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

Result<Alert> OneAlert(const Json& json, size_t index) {
  if (!json.is_object()) return BadAlert(index, "expected an object");
  Alert alert;
  const std::string status = TextAt(json, "status");
  if (status != "firing" && status != "resolved")
    return BadAlert(index, "status: expected firing or resolved");
  alert.firing = status == "firing";
  alert.fingerprint = TextAt(json, "fingerprint");
  if (!Hex(alert.fingerprint)) return BadAlert(index, "fingerprint: expected hex digits");
  const auto starts = ParseTime(TextAt(json, "startsAt"));
  if (!starts.ok()) return BadAlert(index, "startsAt: " + starts.error().message);
  alert.starts_at = std::chrono::floor<std::chrono::milliseconds>(*starts);
  const auto labels = json.find("labels");
  if (labels == json.end() || !labels->is_object())
    return BadAlert(index, "labels: expected an object");
  for (const auto& [name, value] : labels->items()) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kLongestLabel)
      return BadAlert(index, fmt::format("labels.{}: expected a text of at most {} bytes",
                                         Shorten(Printable(name), 60), kLongestLabel));
    alert.labels[name] = value.get<std::string>();
  }
  alert.name = alert.labels["alertname"];
  if (alert.name.empty()) return BadAlert(index, "labels.alertname: expected a name");
  return alert;
}

bool Plain(std::string_view text) {
  if (text.empty() || text.size() > 256 || text.front() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._:/,@+-").find(c) != std::string_view::npos;
  });
}

const Node* NodeOfLabels(const Alert& alert, const Cluster& cluster) {
  for (const char* name : {"node", "hostname", "Hostname", "instance"}) {
    const auto label = alert.labels.find(name);
    if (label == alert.labels.end()) continue;
    std::string_view host = label->second;
    if (const Node* node = cluster.FindNode(host)) return node;
    host = host.substr(0, host.rfind(':'));
    if (const Node* node = cluster.FindNode(host)) return node;
    // "gpu-01.example.org" is the node gpu-01 where the site calls it so.
    if (const Node* node = cluster.FindNode(host.substr(0, host.find('.')))) return node;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<Alert>> ParseAlerts(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return Fail(Code::kInvalid, "the body is no JSON object");
  if (TextAt(json, "version") != "4")
    return Fail(Code::kInvalid, "version: expected \"4\", as Alertmanager's webhook sends it");
  const auto alerts = json.find("alerts");
  if (alerts == json.end() || !alerts->is_array())
    return Fail(Code::kInvalid, "alerts: expected a list");
  if (alerts->size() > kMostAlertsAtOnce)
    return Fail(Code::kInvalid, fmt::format("alerts: {} at once, expected at most {} (max_alerts "
                                            "of the receiver)",
                                            alerts->size(), kMostAlertsAtOnce));
  std::vector<Alert> all;
  for (size_t i = 0; i < alerts->size(); ++i) {
    TRY(Alert alert, OneAlert((*alerts)[i], i));
    all.push_back(std::move(alert));
  }
  return all;
}

AlertMatch MatchAlert(const Alert& alert, std::span<const Runbook* const> books,
                      const Cluster& cluster) {
  AlertMatch match;
  const auto refuse = [&](std::string why) {
    match.why_not = std::move(why);
    return match;
  };
  const auto book = std::find_if(books.begin(), books.end(), [&](const Runbook* candidate) {
    const auto& names = candidate->trigger.alerts;
    return candidate->trigger.kind == Trigger::Kind::kAlert &&
           std::find(names.begin(), names.end(), alert.name) != names.end();
  });
  if (book == books.end()) return refuse("no runbook has it as its trigger");
  match.runbook = (*book)->id;
  match.stale_after = (*book)->trigger.stale_after;
  const Node* node = NodeOfLabels(alert, cluster);
  if (node == nullptr)
    return refuse("none of its labels node, hostname, instance names a node of the site");
  match.on = NodeSubject(node->name);
  if ((*book)->on == SubjectKind::kGpu) {
    const auto label = alert.labels.find("gpu");
    const auto index = label == alert.labels.end() ? Result<int64_t>(Fail(Code::kInvalid, ""))
                                                   : ParseInt(label->second);
    const bool known = index.ok() && std::any_of(node->gpus.begin(), node->gpus.end(),
                                                 [&](const Gpu& g) { return g.index == *index; });
    if (!known)
      return refuse(fmt::format("{} is planned for a GPU, and the label gpu names none of {}",
                                match.runbook, node->name));
    match.on = GpuSubject(node->name, static_cast<int>(*index));
  }
  for (const Input& input : (*book)->inputs) {
    const auto label = alert.labels.find("input_" + input.name);
    if (label == alert.labels.end()) {
      if (input.required)
        return refuse(
            fmt::format("{0} needs {1}, and no label input_{1} says it: a person plans it",
                        match.runbook, input.name));
      continue;
    }
    if (!Plain(label->second))
      return refuse(fmt::format("the label input_{} is no plain word", input.name));
    match.inputs[input.name] = label->second;
  }
  return match;
}

}  // namespace muster
