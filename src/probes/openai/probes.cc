#include "probes/openai/probes.h"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {
namespace openai {
namespace {

using Json = nlohmann::json;

constexpr int kNobodyAnswered = -1;
constexpr Duration kPatience = std::chrono::seconds(5);

Reading Get(const HostPorts& endpoint, std::string_view probe, std::string_view path) {
  HttpRequest request;
  request.url = BaseUrl(endpoint.host) + std::string(path);
  request.headers["Accept"] = "application/json";
  request.timeout = kPatience;
  return ReadUrl(endpoint, probe, request);
}

// libcurl's words for a wrong name, which says nothing about the endpoint's health.
bool IsAboutTheName(std::string_view detail) { return Contains(ToLower(detail), "resolve"); }

// The ids of the list, or why it is none.
Result<std::vector<std::string>> ModelIds(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Fail(Code::kParse, "not a whole JSON document");
  if (!json.is_object() || !json.contains("data") || !json["data"].is_array())
    return Fail(Code::kParse, "expected an object with a list \"data\"");
  std::vector<std::string> ids;
  for (const Json& model : json["data"]) {
    if (!model.is_object() || !model.contains("id") || !model["id"].is_string())
      return Fail(Code::kParse, fmt::format("data[{}]: expected an id", ids.size()));
    ids.push_back(model["id"].get<std::string>());
  }
  return ids;
}

}  // namespace

std::string BaseUrl(std::string_view host) {
  while (EndsWith(host, "/")) host.remove_suffix(1);
  return Contains(host, "://") ? std::string(host) : "http://" + std::string(host);
}

Subject EndpointSubject(std::string_view host) {
  while (EndsWith(host, "/")) host.remove_suffix(1);
  if (const size_t scheme = host.find("://"); scheme != std::string_view::npos)
    host.remove_prefix(scheme + 3);
  return {SubjectKind::kEndpoint, std::string(host)};
}

Reading CollectHealth(const HostPorts& endpoint) {
  Reading reading = Get(endpoint, "openai.health", "/health");
  if (!reading.fault) return reading;
  const bool refused = reading.exit_code == kNobodyAnswered &&
                       reading.fault->reason == UnknownReason::kUnreachable &&
                       !IsAboutTheName(reading.fault->detail);
  const bool answered = reading.exit_code >= 300 && reading.exit_code != 401 &&
                        reading.exit_code != 403 && reading.exit_code != 404;
  if (refused || answered) {
    reading.stderr_text = reading.fault->detail;
    reading.fault.reset();
  }
  return reading;
}

Reading CollectModels(const HostPorts& endpoint) {
  return Get(endpoint, "openai.models", "/v1/models");
}

Observations ParseHealth(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject endpoint = EndpointSubject(reading.host);
  if (reading.fault) {
    out.AddUnobserved(endpoint, "serve.healthy", reading.fault->reason, reading.fault->detail);
  } else if (reading.exit_code == 0) {
    out.Add(endpoint, "serve.healthy", true, Unit::kNone,
            fmt::format("{}: 200 {}", reading.command, reading.text));
  } else {
    out.Add(endpoint, "serve.healthy", false, Unit::kNone,
            fmt::format("{}: {}", reading.command,
                        reading.stderr_text.empty() ? fmt::format("status {}", reading.exit_code)
                                                    : reading.stderr_text));
  }
  return out.Take();
}

Observations ParseModels(const Reading& reading, std::string_view model) {
  ObservationBuilder out(reading);
  const Subject endpoint = EndpointSubject(reading.host);
  const auto unknown = [&](UnknownReason reason, std::string_view why) {
    out.AddUnobserved(endpoint, "serve.model_listed", reason, why);
    return out.Take();
  };
  if (reading.fault) return unknown(reading.fault->reason, reading.fault->detail);
  if (reading.exit_code != 0)
    return unknown(UnknownReason::kToolFault, fmt::format("status {}", reading.exit_code));
  const auto ids = ModelIds(reading.text);
  if (!ids.ok()) return unknown(UnknownReason::kUnparsable, ids.error().ToString());
  bool listed = model.empty() && !ids->empty();
  for (const std::string& id : *ids) listed = listed || id == model;
  out.Add(
      endpoint, "serve.model_listed", listed, Unit::kNone,
      fmt::format("{} lists: {}", reading.command, ids->empty() ? "nothing" : Join(*ids, ", ")));
  return out.Take();
}

}  // namespace openai

std::span<const Probe> OpenaiProbes() {
  static const std::array probes = {
      Probe{"openai.health", "json", {"serve.healthy"}, openai::CollectHealth, openai::ParseHealth},
      Probe{"openai.models",
            "json",
            {"serve.model_listed"},
            openai::CollectModels,
            [](const Reading& reading) { return openai::ParseModels(reading, ""); }},
  };
  return probes;
}

}  // namespace muster
