// Documents in JSON, recognised by what they hold: flight recorder dumps, dcgmi diag, nccl-tests,
// Redfish, and objects of Kubernetes. What they say in words is matched by the catalogue too, since
// its patterns run over every line of every file.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "diagnose/bandwidth.h"
#include "diagnose/document_alerts.h"
#include "diagnose/hang.h"
#include "diagnose/node_devices.h"
#include "diagnose/section.h"
#include "probes/dcgm/diag_document.h"
#include "probes/nccl_tests/collective_run.h"

namespace muster::diagnose {

namespace {

using Json = nlohmann::json;

std::string Text(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return "";
  if (it->is_string()) return it->get<std::string>();
  if (it->is_number_integer()) return std::to_string(it->get<int64_t>());
  if (it->is_boolean()) return it->get<bool>() ? "true" : "false";
  return "";
}
int64_t Int(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<int64_t>() : 0;
}

// ---- flight recorder ----

void ReadDump(const Section& s, const Json& root, HangTable& hang) {
  RankDump dump;
  dump.at = s.At(0);
  if (root.contains("rank")) dump.rank = static_cast<int>(Int(root, "rank"));
  for (const Json& e : root["entries"]) {
    if (!e.is_object() || Text(e, "is_p2p") == "true") continue;
    Recorded r;
    r.sequence = Int(e, "collective_seq_id");
    if (const auto group = e.find("process_group");
        group != e.end() && group->is_array() && !group->empty() && (*group)[0].is_string())
      r.group = (*group)[0].get<std::string>();
    r.op = Text(e, "profiling_name");
    if (e.contains("input_sizes")) r.sizes = e["input_sizes"].dump();
    r.state = Text(e, "state");
    r.created_ns = Int(e, "time_created_ns");
    r.completed_ns = Int(e, "time_discovered_completed_ns");
    dump.entries.push_back(std::move(r));
  }
  hang.AddDump(std::move(dump));
}

// ---- dcgmi diag ----

void ReadDiagJson(const Section& s, FactStore& facts) {
  const auto diag = dcgm::ReadDiag(s.text);
  if (!diag.ok()) return AddDamage(s, facts, "dcgmi diag: " + diag.error().message);
  if (!diag->runtime_error.empty())
    facts.Add(s.Make("dcgm.runtime_error", {{"what", diag->runtime_error}},
                     s.Where("runtime_error"), diag->runtime_error));
  size_t ran = 0, skipped = 0;
  for (const auto& test : diag->tests) {
    const auto failed = [](const dcgm::DiagResult& r) { return r.outcome == dcgm::Outcome::kFail; };
    if (test.has_summary && failed(test.summary) &&
        std::none_of(test.results.begin(), test.results.end(), failed))
      facts.Add(s.Make("dcgm.fail", {{"gpu", ""}, {"test", test.name}, {"what", "summary"}},
                       s.Where("\"" + test.name + "\""),
                       fmt::format("{}: its summary says Fail, no single result does", test.name)));
    for (const auto& result : test.results) {
      const std::string gpu = result.gpus.empty() ? "" : std::to_string(result.gpus.front());
      const std::string line =
          fmt::format("{} of GPU {}: {}{}{}", test.name, gpu, dcgm::ToString(result.outcome),
                      result.first_complaint.empty() ? "" : ": ", result.first_complaint);
      (result.outcome == dcgm::Outcome::kSkip ? skipped : ran) += 1;
      if (result.outcome == dcgm::Outcome::kFail)
        facts.Add(s.Make("dcgm.fail",
                         {{"gpu", gpu}, {"test", test.name}, {"what", result.first_complaint}},
                         s.Where(result.first_complaint), line));
      else if (result.outcome == dcgm::Outcome::kWarn || result.complaints > 0)
        facts.Add(s.Make("dcgm.warning",
                         {{"gpu", gpu}, {"test", test.name}, {"what", result.first_complaint}},
                         s.Where(result.first_complaint), line));
      else if (result.outcome == dcgm::Outcome::kUnreadable)
        AddDamage(s, facts, "dcgmi diag: the status of " + test.name + " cannot be read");
    }
  }
  if (ran <= 1 && skipped > 0)
    facts.Add(s.Make("dcgm.skipped", {{"count", std::to_string(skipped)}}, s.At(0),
                     fmt::format("{} tests skipped, {} ran", skipped, ran)));
  if (diag->tests.empty() && diag->runtime_error.empty())
    AddDamage(s, facts, "dcgmi diag holds no test");
}

// ---- Redfish ----

// One entry of a log or list, one event, or a resource: what it says of its severity and health.
void ReadRedfishItem(const Section& s, const Json& item, const char* list, FactStore& facts) {
  if (!item.is_object()) return;
  std::string severity = Text(item, "Severity");
  if (severity.empty() || severity == "OK") severity = Text(item, "MessageSeverity");
  const std::string message = Text(item, "Message");
  std::string name = Text(item, "Name").empty() ? Text(item, "MemberId") : Text(item, "Name");
  if (name.empty()) name = Text(item, "Id");
  if (severity == "Critical" || severity == "Warning")
    facts.Add(s.Make("redfish.event", {{"name", name}, {"value", severity}, {"what", message}},
                     s.Where(message), message));
  if (const std::string leak = Text(item, "DetectorState"); leak == "Critical" || leak == "Warning")
    facts.Add(s.Make("redfish.event", {{"name", name}, {"value", leak}, {"what", "leak"}},
                     s.Where("\"DetectorState\""),
                     fmt::format("{}: DetectorState {}", name, leak)));
  const auto status = item.find("Status");
  if (status == item.end() || !status->is_object()) return;
  const std::string health = Text(*status, "Health"), state = Text(*status, "State");
  if (state == "UnavailableOffline")
    facts.Add(s.Make("redfish.health", {{"name", name}, {"value", state}, {"list", list}},
                     s.Where(name), fmt::format("{}: Health {}, State {}", name, health, state)));
  else if (!health.empty() && health != "OK")
    facts.Add(s.Make("redfish.health", {{"name", name}, {"value", health}, {"list", list}},
                     s.Where(*list == '\0' ? "\"Health\"" : name),
                     fmt::format("{}: Health {}, State {}", name, health, state)));
}

void ReadRedfish(const Section& s, const Json& root, FactStore& facts) {
  ReadRedfishItem(s, root, "", facts);
  for (const char* list :
       {"Temperatures", "PowerSupplies", "Fans", "Members", "Redundancy", "Events"}) {
    const auto items = root.find(list);
    if (items == root.end() || !items->is_array()) continue;
    for (const Json& item : *items) ReadRedfishItem(s, item, list, facts);
  }
}

// ---- Kubernetes ----

void ReadNodeDevices(const Section& s, const Json& status, const std::string& node,
                     FactStore& facts) {
  const auto capacity = status.find("capacity"), allocatable = status.find("allocatable");
  if (capacity == status.end() || !capacity->is_object() || allocatable == status.end() ||
      !allocatable->is_object())
    return;
  for (const auto& [resource, unused] : capacity->items()) {
    if (!Contains(resource, "/")) continue;
    const auto has = ParseInt(Text(*capacity, resource.c_str())),
               offers = ParseInt(Text(*allocatable, resource.c_str()));
    if (has.ok() && offers.ok()) TellShort(resource, *has, *offers, node, s.Where(resource), facts);
  }
}

void ReadKubeObject(const Section& s, const Json& object, FactStore& facts, int depth = 0) {
  const std::string kind = Text(object, "kind");
  if (const auto items = object.find("items");
      items != object.end() && items->is_array() && depth == 0) {
    for (const Json& item : *items)
      if (item.is_object()) ReadKubeObject(s, item, facts, 1);
    return;
  }
  const auto meta = object.find("metadata"), status = object.find("status");
  if (status == object.end() || !status->is_object()) return;
  const std::string name =
      meta != object.end() && meta->is_object() ? Text(*meta, "name") : std::string();
  if (kind == "Node" || kind.empty()) {
    bool ready = false;
    if (const auto conditions = status->find("conditions");
        conditions != status->end() && conditions->is_array())
      for (const Json& c : *conditions) {
        if (!c.is_object()) continue;
        const std::string type = Text(c, "type"), value = Text(c, "status");
        ready = ready || type == "Ready";
        if (kind == "Node" && ((type == "Ready" && value != "True") ||
                               (type.ends_with("Pressure") && value == "True")))
          facts.Add(
              s.Make("kube.node", {{"host", name}, {"status", type == "Ready" ? "NotReady" : type}},
                     s.Where(Text(c, "message")),
                     fmt::format("node {}: {} is {}: {}", name, type, value, Text(c, "message"))));
      }
    if (kind == "Node") ReadNodeDevices(s, *status, name, facts);
    if (kind == "Node" && !ready) AddDamage(s, facts, "a node without its condition Ready");
  }
  if (kind == "Pod")
    facts.Add(s.Make("pod.status", {{"pod", name}, {"status", Text(*status, "phase")}},
                     s.Where(name), fmt::format("pod {}: {}", name, Text(*status, "phase"))));
}

// ---- nvbandwidth -j ----

void ReadBandwidth(const Section& s, const Json& root, FactStore& facts) {
  const auto tests = root.find("testcases");
  if (!root.is_object() || tests == root.end() || !tests->is_array())
    return AddDamage(s, facts, "nvbandwidth holds no test");
  for (const Json& test : *tests) {
    if (!test.is_object()) continue;
    const std::string name = Text(test, "name"), status = Text(test, "status");
    if (status == "Error" || status == "Running")
      facts.Add(s.Make("bandwidth.failed", {{"test", name}, {"what", Text(test, "error")}},
                       s.Where(name), fmt::format("{}: {} {}", name, status, Text(test, "error"))));
    const auto rows = test.find("bandwidth_matrix");
    if (rows == test.end() || !rows->is_array()) continue;
    BandwidthMatrix matrix{name, Contains(Text(test, "bandwidth_description"), "CPU(row)"), {}};
    for (const Json& row : *rows) {
      auto& values = matrix.rows.emplace_back();
      for (const Json& cell : row)
        values.push_back(cell.is_string() ? ParseDouble(cell.get<std::string>()).value_or(-1) : -1);
    }
    if (Contains(Text(test, "bandwidth_description"), "bandwidth")) JudgeMatrix(s, matrix, facts);
  }
}

}  // namespace

bool ReadJsonDocument(const Section& s, FactStore& facts, HangTable& hang) {
  if (Contains(s.text, "DCGM GPU Diagnostic") || Contains(s.text, "DCGM Diagnostic")) {
    ReadDiagJson(s, facts);
    return true;
  }
  const Json root = Json::parse(s.text, nullptr, false);
  if (root.is_discarded()) {
    if (Contains(s.text, "\"collective_seq_id\"") || Contains(s.text, "\"apiVersion\"") ||
        Contains(s.text, "\"@odata") || Contains(s.text, "\"bus_bw\"")) {
      AddDamage(s, facts, "a JSON document is cut or damaged");
      return true;
    }
    return false;
  }
  if (ReadAlerts(s, root, facts)) return true;
  if (!root.is_object()) return false;
  if (root.contains("entries") && root["entries"].is_array()) {
    ReadDump(s, root, hang);
    return true;
  }
  if (const auto bandwidth = root.find("nvbandwidth"); bandwidth != root.end()) {
    ReadBandwidth(s, *bandwidth, facts);
    return true;
  }
  if (root.contains("@odata.id") || root.contains("@odata.type") || root.contains("MessageId") ||
      (root.contains("Events") && root["Events"].is_array())) {
    ReadRedfish(s, root, facts);
    return true;
  }
  if (root.contains("apiVersion") && root.contains("kind")) {
    ReadKubeObject(s, root, facts);
    return true;
  }
  if (Contains(s.text, "\"bus_bw\"")) {
    const auto run = nccl_tests::ParseCollectiveJson(s.text);
    if (!run.ok()) {
      AddDamage(s, facts, "nccl-tests JSON: " + run.error().message);
      return true;
    }
    for (const auto& row : run->rows)
      for (const auto& half : {row.out_of_place, row.in_place})
        if (half && half->wrong && *half->wrong > 0)
          facts.Add(s.Make("collective.wrong", {{"bytes", std::to_string(row.bytes)}}, s.At(0),
                           fmt::format("{} bytes: {} wrong values", row.bytes, *half->wrong)));
    if (!run->damage.empty()) AddDamage(s, facts, "nccl-tests JSON: " + run->damage.front());
    return true;
  }
  return false;
}

}  // namespace muster::diagnose
