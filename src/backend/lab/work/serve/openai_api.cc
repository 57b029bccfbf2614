#include "backend/lab/work/serve/openai_api.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxTokens = 4096;
constexpr size_t kMaxPrompt = 16384;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::string Event(const Json& json) { return "data: " + Dump(json) + "\n\n"; }

ApiError Wrong(std::string param, std::string message) {
  return {400, std::move(message), "invalid_request_error", std::move(param)};
}

// Reads fields one after the other; the first that is wrong stays as the error.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  std::optional<ApiError>& error() { return error_; }

  const Json* Find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  void Integer(const char* name, int low, int high, int& to) {
    const Json* value = Find(name);
    if (value == nullptr || error_) return;
    const bool fits = value->is_number_integer() &&
                      (value->is_number_unsigned() ? value->get<uint64_t>() <= 1'000'000'000
                                                   : value->get<int64_t>() >= -1'000'000'000);
    const int64_t n = fits ? value->get<int64_t>() : 0;
    if (!fits || n < low || n > high) {
      error_ = Wrong(name, fmt::format("{}: expected an integer from {} to {}", name, low, high));
    } else {
      to = static_cast<int>(n);
    }
  }
  void Real(const char* name, double low, double high, double& to) {
    const Json* value = Find(name);
    if (value == nullptr || error_) return;
    if (!value->is_number() || value->get<double>() < low || value->get<double>() > high) {
      error_ = Wrong(name, fmt::format("{}: expected a number from {} to {}", name, low, high));
    } else {
      to = value->get<double>();
    }
  }
  void Flag(const char* name, bool& to) {
    const Json* value = Find(name);
    if (value == nullptr || error_) return;
    if (!value->is_boolean()) {
      error_ = Wrong(name, fmt::format("{}: expected true or false", name));
    } else {
      to = value->get<bool>();
    }
  }
  void Text(const char* name, std::string& to) {
    const Json* value = Find(name);
    if (value == nullptr || error_) return;
    if (!value->is_string()) {
      error_ = Wrong(name, fmt::format("{}: expected a string", name));
    } else {
      to = value->get<std::string>();
    }
  }
  void Fail(ApiError error) {
    if (!error_) error_ = std::move(error);
  }

 private:
  const Json& json_;
  std::optional<ApiError> error_;
};

// A message's content is a string, or parts of which the text ones count.
std::optional<std::string> ContentOf(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return std::nullopt;
  std::string text;
  for (const Json& part : content) {
    if (!part.is_object() || part.value("type", Json()) != "text" || !part.contains("text") ||
        !part["text"].is_string())
      return std::nullopt;
    text += part["text"].get<std::string>();
  }
  return text;
}

void ReadMessages(Fields& fields, std::string& prompt) {
  const Json* messages = fields.Find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty())
    return fields.Fail(Wrong("messages", "messages: expected at least one message"));
  for (const Json& message : *messages) {
    const auto content = message.is_object() && message.contains("content")
                             ? ContentOf(message["content"])
                             : std::nullopt;
    if (!content || !message.contains("role") || !message["role"].is_string()) {
      return fields.Fail(
          Wrong("messages", "messages: expected a role and text content in each message"));
    }
    prompt += *content + "\n";
  }
}

void ReadStop(Fields& fields, std::vector<std::string>& to) {
  const Json* stop = fields.Find("stop");
  if (stop == nullptr) return;
  const Json list = stop->is_array() ? *stop : Json::array({*stop});
  if (list.size() > 4) return fields.Fail(Wrong("stop", "stop: expected at most 4 strings"));
  for (const Json& text : list) {
    if (!text.is_string() || text.get<std::string>().empty())
      return fields.Fail(Wrong("stop", "stop: expected a string or an array of strings"));
    to.push_back(text.get<std::string>());
  }
}

Json Choice(const AnswerHead& head, std::string_view text, const char* field, Json finish_reason) {
  Json choice = {{"index", 0}};
  if (head.chat) {
    choice[field] = Json::object();
    if (!text.empty()) choice[field]["content"] = text;
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = std::move(finish_reason);
  return choice;
}

Json Head(const AnswerHead& head, bool chunk) {
  const std::string object =
      head.chat ? (chunk ? "chat.completion.chunk" : "chat.completion") : "text_completion";
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

Json UsageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json Chunk(const AnswerHead& head, Json choice) {
  Json json = Head(head, true);
  json["choices"] = Json::array({std::move(choice)});
  return json;
}

}  // namespace

std::string ApiError::ToJson() const {
  return Dump({{"error",
                {{"message", message},
                 {"type", type},
                 {"param", param.empty() ? Json() : Json(param)},
                 {"code", status}}}});
}

ParsedRequest ParseGeneration(bool chat, std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return {std::nullopt, Wrong("", "the body is not JSON")};
  if (!json.is_object()) return {std::nullopt, Wrong("", "the body is not a JSON object")};
  GenerationRequest request;
  request.chat = chat;
  Fields fields(json);
  fields.Text("model", request.model);
  if (chat) {
    ReadMessages(fields, request.prompt);
  } else {
    if (fields.Find("prompt") == nullptr) fields.Fail(Wrong("prompt", "prompt: expected a string"));
    fields.Text("prompt", request.prompt);
  }
  fields.Integer("max_tokens", 1, kMaxTokens, request.max_tokens);
  fields.Integer("max_completion_tokens", 1, kMaxTokens, request.max_tokens);
  fields.Real("temperature", 0, 2, request.temperature);
  fields.Flag("stream", request.stream);
  if (const Json* options = fields.Find("stream_options"); options != nullptr) {
    if (!options->is_object()) {
      fields.Fail(Wrong("stream_options", "stream_options: expected an object"));
    } else {
      Fields inner(*options);
      inner.Flag("include_usage", request.include_usage);
      if (inner.error()) fields.Fail(*inner.error());
    }
  }
  int n = 1, seed = -1;
  fields.Integer("n", 1, 1, n);
  fields.Integer("seed", 0, 1'000'000'000, seed);
  if (seed >= 0) request.seed = static_cast<uint64_t>(seed);
  ReadStop(fields, request.stop);
  if (request.prompt.size() > kMaxPrompt) {
    fields.Fail(
        Wrong(chat ? "messages" : "prompt", fmt::format("the prompt has {} tokens, the most is {}",
                                                        request.prompt.size(), kMaxPrompt)));
  }
  if (fields.error()) return {std::nullopt, *fields.error()};
  return {std::move(request), {}};
}

std::string WholeAnswer(const AnswerHead& head, std::string_view text,
                        std::string_view finish_reason, const Usage& usage) {
  Json json = Head(head, false);
  Json choice = {{"index", 0}};
  if (head.chat) {
    choice["message"] = {{"role", "assistant"}, {"content", text}};
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = finish_reason;
  json["choices"] = Json::array({std::move(choice)});
  json["usage"] = UsageJson(usage);
  return Dump(json);
}

std::string RoleEvent(const AnswerHead& head) {
  Json choice = Choice(head, "", "delta", nullptr);
  choice["delta"] = {{"role", "assistant"}, {"content", ""}};
  return Event(Chunk(head, std::move(choice)));
}

std::string ContentEvent(const AnswerHead& head, std::string_view text) {
  return Event(Chunk(head, Choice(head, text, "delta", nullptr)));
}

std::string FinishEvent(const AnswerHead& head, std::string_view finish_reason) {
  return Event(Chunk(head, Choice(head, "", "delta", finish_reason)));
}

std::string UsageEvent(const AnswerHead& head, const Usage& usage) {
  Json json = Head(head, true);
  json["choices"] = Json::array();
  json["usage"] = UsageJson(usage);
  return Event(json);
}

std::string ModelList(std::string_view model, int64_t created) {
  return Dump({{"object", "list"},
               {"data", Json::array({{{"id", model},
                                      {"object", "model"},
                                      {"created", created},
                                      {"owned_by", "muster"}}})}});
}

}  // namespace muster::lab
