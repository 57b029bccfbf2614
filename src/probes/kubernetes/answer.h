// Private to src/probes/kubernetes: an answer of the API server as JSON, or why there is none.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "probes/probe.h"

namespace muster::kubernetes_answer {

using Json = nlohmann::json;

// A missing key, or one of what is no object, is null, or "".
const Json& In(const Json& object, const char* key);
std::string TextIn(const Json& object, const char* key);

// What came in place of the object: why nothing is known. A failed command prints a sentence on
// stderr; an API that is not served is no silence, but the operator's absence.
struct Answer {
  Json json;
  std::optional<Unobserved> why;
};
Answer Read(const Reading& reading);

// The items of a list; a list without the key "items" is none: the facts are then not known.
const Json* Items(const Answer& answer, ObservationBuilder& builder, const Subject& about,
                  std::initializer_list<std::string_view> facts);

// A field ("status", "message") of the condition of this type; "" where there is none.
std::string ConditionOf(const Json& status, std::string_view type, const char* field);

}  // namespace muster::kubernetes_answer
