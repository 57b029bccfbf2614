#include "probes/facility/redfish.h"

#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/facility/signoff.h"
#include "probes/facility/signoff_json.h"

namespace muster::facility {

namespace {

constexpr size_t kMaxMembers = 128;  // outlets of one PDU; more is a page that we do not follow

// "http://pdu00:8000" of "http://pdu00:8000/redfish/v1/...".
std::string Origin(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "";
  return std::string(url.substr(0, url.find('/', scheme + 3)));
}

Json Ask(const HostPorts& ports, const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.headers = {{"accept", "application/json"}, {"odata-version", "4.0"}};
  const auto response = ports.world.http.Do(request);
  if (!response.ok()) return {{"url", url}, {"error", response.error().ToString()}};
  return {{"url", url}, {"status", response->status}, {"body", response->body}};
}

// Members that are only references ({"@odata.id": "..."}) have to be asked one by one.
void AskMembers(const HostPorts& ports, const std::string& url, Json& answers) {
  const Json body = ParseJson(Text(answers.front(), "body").value_or(""));
  const Json* members = Array(body, "Members");
  if (members == nullptr || members->size() > kMaxMembers) return;
  for (const Json& member : *members) {
    const auto id = Text(member, "@odata.id");
    if (!id || Member(member, "PowerState") != nullptr || !StartsWith(*id, "/")) continue;
    answers.push_back(Ask(ports, Origin(url) + *id));
  }
}

struct Outlets {
  size_t expected = 0, on = 0;
  std::string off, problem;  // first of each
};

void Count(const Json& outlet, Outlets& outlets) {
  const auto state = Text(outlet, "PowerState");
  const std::string id = Text(outlet, "Id").value_or(Text(outlet, "Name").value_or("an outlet"));
  if (state == "On") {
    ++outlets.on;
  } else if (!state) {
    outlets.problem = fmt::format("{} has no PowerState", id);
  } else if (outlets.off.empty()) {
    outlets.off = fmt::format("{}: PowerState {}", id, *state);
  }
}

std::optional<Json> BodyOf(const Json& answer, std::string& problem) {
  const std::string url = Text(answer, "url").value_or("");
  if (const auto error = Text(answer, "error")) {
    problem = *error;
    return std::nullopt;
  }
  const Json* status = Member(answer, "status");
  if (status == nullptr || *status != 200) {
    problem = fmt::format("{} answered {}", url, status == nullptr ? "nothing" : Dump(*status));
    return std::nullopt;
  }
  Json body = ParseJson(Text(answer, "body").value_or(""));
  if (body.is_object()) return body;
  problem = fmt::format("{} answered no whole JSON document", url);
  return std::nullopt;
}

Outlets CountOutlets(const Json& answers) {
  Outlets outlets;
  const auto first = BodyOf(answers.front(), outlets.problem);
  if (!first) return outlets;
  const Json* members = Array(*first, "Members");
  if (members == nullptr) {  // a single outlet or a PDU with one state
    outlets.expected = 1;
    Count(*first, outlets);
    return outlets;
  }
  const Json* count = Member(*first, "Members@odata.count");
  outlets.expected =
      count != nullptr && count->is_number_unsigned() ? count->get<size_t>() : members->size();
  if (Member(*first, "Members@odata.nextLink") != nullptr)
    outlets.problem = "the list of outlets goes on on another page";
  for (const Json& member : *members) {
    if (Member(member, "PowerState") != nullptr) Count(member, outlets);
  }
  for (size_t i = 1; i < answers.size(); ++i) {
    if (const auto body = BodyOf(answers[i], outlets.problem)) Count(*body, outlets);
  }
  return outlets;
}

void Say(const Subject& pdu, const Outlets& outlets, ObservationBuilder& out) {
  if (!outlets.off.empty()) {
    out.Add(pdu, "pdu.energised", false, Unit::kNone, outlets.off);
  } else if (!outlets.problem.empty()) {
    out.AddUnobserved(pdu, "pdu.energised", UnknownReason::kToolFault, outlets.problem);
  } else if (outlets.expected == 0 || outlets.on != outlets.expected) {
    out.AddUnobserved(pdu, "pdu.energised", UnknownReason::kNotObserved,
                      fmt::format("{} of {} outlets were read", outlets.on, outlets.expected));
  } else {
    out.Add(pdu, "pdu.energised", true, Unit::kNone,
            fmt::format("{} outlets, every PowerState On", outlets.on));
  }
}

}  // namespace

Reading CollectRedfish(const HostPorts& ports) {
  Reading reading = ReadFile(ports, "facility.redfish", std::string(kSignoffPath));
  if (reading.fault) return reading;
  const Json signoff = ParseJson(reading.text);
  Json document = {{"pdus", Json::array()}};
  if (const Json* pdus = Array(signoff, "pdus")) {
    for (const Json& pdu : *pdus) {
      const auto name = Text(pdu, "name"), url = Text(pdu, "redfish_url");
      if (!name || !url) continue;
      Json answers = Json::array({Ask(ports, *url)});
      AskMembers(ports, *url, answers);
      document["pdus"].push_back({{"name", *name}, {"answers", std::move(answers)}});
    }
  }
  reading.command = "GET redfish_url of each PDU in " + std::string(kSignoffPath);
  reading.text = Dump(document);
  reading.at = ports.world.clock.Now();
  return reading;
}

Observations ParseRedfish(const Reading& reading) {
  if (reading.fault) return {};
  ObservationBuilder out(reading, "Redfish");
  const Json document = ParseJson(reading.text);
  const Json* pdus = Array(document, "pdus");
  if (pdus == nullptr) {
    out.AddUnobserved(NodeSubject(reading.host), "pdu.energised", UnknownReason::kUnparsable,
                      "no whole list of answers");
    return out.Take();
  }
  for (const Json& pdu : *pdus) {
    const auto name = Text(pdu, "name");
    const Json* answers = Array(pdu, "answers");
    if (!name || name->empty()) continue;
    const Subject subject{SubjectKind::kPdu, *name};
    if (answers == nullptr || answers->empty()) {
      out.AddUnobserved(subject, "pdu.energised", UnknownReason::kNotObserved, "it was not asked");
    } else {
      Say(subject, CountOutlets(*answers), out);
    }
  }
  return out.Take();
}

}  // namespace muster::facility
