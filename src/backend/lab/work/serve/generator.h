// Turns a prompt into text, a token at a time, from the trained model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/lab/work/serve/openai_api.h"
#include "backend/lab/work/trainer/model.h"

namespace muster::lab {

// One answer in the making; used by one thread.
class Generator {
 public:
  // Copies the model: its work space belongs to one thread.
  Generator(const CharModel& model, const GenerationRequest& request, uint64_t seed);

  // The text that became final with the next token (empty while it could be the beginning of a stop
  // string), or nothing when the answer is complete. Stop strings are not part of the answer.
  std::optional<std::string> Next();

  const Usage& usage() const { return usage_; }
  std::string_view finish_reason() const { return finish_reason_; }

 private:
  std::string Release(bool last);

  CharModel model_;
  const GenerationRequest request_;
  SeededRandom random_;
  std::vector<uint8_t> context_;
  std::string held_;
  size_t hold_ = 0;  // characters that may begin a stop string
  Usage usage_;
  std::string finish_reason_;
  bool done_ = false;
};

}  // namespace muster::lab
