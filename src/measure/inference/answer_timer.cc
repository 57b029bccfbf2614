#include "measure/inference/answer_timer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::inference {
namespace {

using Json = nlohmann::json;

const Json* Member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool HasText(const Json& object, const char* key) {
  const Json* text = Member(object, key);
  return text != nullptr && text->is_string() && !text->get_ref<const std::string&>().empty();
}

// vLLM and DeepSeek write "reasoning_content", newer vLLM and OpenRouter "reasoning".
bool DeltaHasText(const Json& delta) {
  const Json* calls = Member(delta, "tool_calls");
  return HasText(delta, "content") || HasText(delta, "reasoning_content") ||
         HasText(delta, "reasoning") || (calls != nullptr && calls->is_array() && !calls->empty());
}

}  // namespace

void AnswerTimer::Feed(std::string_view bytes, Duration at) {
  if (bytes.empty()) return;
  if (!first_byte) first_byte = at;
  parser_.Feed(bytes, [&](std::string_view data) { Take(data, at); });
  if (parser_.damaged() && error.empty()) error = "a message has no end";
}

void AnswerTimer::Take(std::string_view data, Duration at) {
  if (Trim(data) == "[DONE]") {
    done = true;
    return;
  }
  const Json json = Json::parse(data, nullptr, false);
  if (!json.is_object()) {
    if (error.empty())
      error = fmt::format("a message is not a JSON object: {}", Shorten(Printable(data), 80));
    return;
  }
  if (const Json* said = Member(json, "error"); said != nullptr && error.empty()) {
    const Json* message = Member(*said, "message");
    error = Shorten(Printable(message != nullptr && message->is_string()
                                  ? message->get<std::string>()
                                  : said->dump(-1, ' ', true, Json::error_handler_t::replace)),
                    160);
  }
  if (const Json* usage = Member(json, "usage"); usage != nullptr) {
    const Json* tokens = Member(*usage, "completion_tokens");
    if (tokens != nullptr && tokens->is_number_unsigned() && tokens->get<uint64_t>() < 100'000'000)
      completion_tokens = static_cast<int>(tokens->get<uint64_t>());
  }
  const Json* choices = Member(json, "choices");
  if (choices == nullptr || !choices->is_array()) return;
  for (const Json& choice : *choices) {
    const Json* delta = Member(choice, "delta");
    // /v1/completions has "text" where the chat has "delta".
    if (delta != nullptr ? DeltaHasText(*delta) : HasText(choice, "text")) {
      if (!first_content) first_content = at;
      last_content = at;
      ++messages;
    } else if (delta != nullptr && Member(*delta, "role") != nullptr && !role) {
      role = at;
    }
    if (const Json* reason = Member(choice, "finish_reason");
        reason != nullptr && reason->is_string())
      finish_reason = reason->get<std::string>();
  }
}

}  // namespace muster::inference
