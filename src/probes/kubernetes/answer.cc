#include "probes/kubernetes/answer.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::kubernetes_answer {

const Json& In(const Json& object, const char* key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string TextIn(const Json& object, const char* key) {
  const Json& value = In(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Answer Read(const Reading& reading) {
  Answer answer;
  if (reading.fault) {
    answer.why = reading.fault;
  } else if (reading.exit_code != 0) {
    const std::string said = Shorten(std::string(Trim(reading.stderr_text)), 300);
    const bool refused = Contains(said, "orbidden") || Contains(said, "may not");
    answer.why = Unobserved{refused ? UnknownReason::kNotPermitted : UnknownReason::kToolFault,
                            said.empty() ? fmt::format("exit {}", reading.exit_code) : said};
  } else {
    answer.json = Json::parse(reading.text, nullptr, false);
    if (!answer.json.is_object())
      answer.why = Unobserved{UnknownReason::kUnparsable, "no JSON object, or a cut one"};
  }
  return answer;
}

const Json* Items(const Answer& answer, ObservationBuilder& builder, const Subject& about,
                  std::initializer_list<std::string_view> facts) {
  const Json& items = In(answer.json, "items");
  if (!answer.why && items.is_array()) return &items;
  const Unobserved why = answer.why.value_or(
      Unobserved{UnknownReason::kUnparsable, "expected a list with the key items"});
  for (const std::string_view fact : facts)
    builder.AddUnobserved(about, fact, why.reason, why.detail);
  return nullptr;
}

std::string ConditionOf(const Json& status, std::string_view type, const char* field) {
  const Json& conditions = In(status, "conditions");
  if (!conditions.is_array()) return "";
  for (const Json& c : conditions) {
    if (TextIn(c, "type") == type) return TextIn(c, field);
  }
  return "";
}

}  // namespace muster::kubernetes_answer
