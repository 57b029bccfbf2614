// Gate 8's first two questions to an endpoint that speaks the OpenAI API: is it ready, and does it
// serve the model. The host of a reading is the endpoint: a name that the backend maps ("openai"),
// "127.0.0.1:8000", or a base URL with its scheme.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "probes/probe.h"

namespace muster {

// openai.health, openai.models. Both read only.
std::span<const Probe> OpenaiProbes();

namespace openai {

// "openai" -> "http://openai", "https://models.example/x" as it is; no "/" at the end.
std::string BaseUrl(std::string_view host);
// The endpoint as a subject: the host without its scheme.
Subject EndpointSubject(std::string_view host);

// A refused connection and a status other than 2xx are answers to "is it ready", not faults of the
// reading; a time-out or a name that does not resolve is a fault.
Reading CollectHealth(const HostPorts& endpoint);
Reading CollectModels(const HostPorts& endpoint);

// serve.healthy. vLLM and llama.cpp answer 200 (llama.cpp 503 while it loads), transformers serve
// 200 {"status":"ok"}.
Observations ParseHealth(const Reading& reading);
// serve.model_listed: GET /v1/models lists `model` by its id; with an empty name, that it lists one
// at all.
Observations ParseModels(const Reading& reading, std::string_view model);

}  // namespace openai
}  // namespace muster
