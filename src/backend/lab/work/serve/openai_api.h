// The words of the OpenAI API, as far as the lab's server speaks it: requests in, answers, chunks
// and errors out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::lab {

// What is to be generated, from either kind of request.
struct GenerationRequest {
  bool chat = true;
  std::string model;   // empty when the request names none
  std::string prompt;  // of a chat: the contents of its messages, one a line
  int max_tokens = 64;
  double temperature = 0.7;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool stream = false, include_usage = false;
};

// An error as the API writes it, with the HTTP status it travels with.
struct ApiError {
  int status = 400;
  std::string message, type = "invalid_request_error",
                       param;  // param: the field at fault, or empty
  std::string ToJson() const;
};

// Reads the body of a request. Fields that are not known are ignored, as OpenAI's servers do
// (ignore_eos, user, ...).
struct ParsedRequest {
  std::optional<GenerationRequest> request;
  ApiError error;  // when there is no request
};
ParsedRequest ParseGeneration(bool chat, std::string_view body);

struct Usage {
  int prompt_tokens = 0, completion_tokens = 0;
};

// Names one answer in everything that is said of it.
struct AnswerHead {
  bool chat = true;
  std::string id, model;
  int64_t created = 0;  // Unix seconds
};
std::string WholeAnswer(const AnswerHead& head, std::string_view text,
                        std::string_view finish_reason, const Usage& usage);
// Server-sent events, each with its "data: " and its empty line.
std::string RoleEvent(const AnswerHead& head);
std::string ContentEvent(const AnswerHead& head, std::string_view text);
std::string FinishEvent(const AnswerHead& head, std::string_view finish_reason);
std::string UsageEvent(const AnswerHead& head, const Usage& usage);
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

std::string ModelList(std::string_view model, int64_t created);

}  // namespace muster::lab
