#include "backend/lab/work/serve/generator.h"

#include <algorithm>

#include "backend/lab/work/trainer/text.h"

namespace muster::lab {

Generator::Generator(const CharModel& model, const GenerationRequest& request, uint64_t seed)
    : model_(model),
      request_(request),
      random_(request.seed.value_or(seed)),
      context_(Encode(request.prompt)) {
  usage_.prompt_tokens = static_cast<int>(context_.size());
  for (const std::string& stop : request_.stop) hold_ = std::max(hold_, stop.size() - 1);
}

std::string Generator::Release(bool last) {
  const size_t keep = last ? 0 : std::min(hold_, held_.size());
  std::string text = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return text;
}

std::optional<std::string> Generator::Next() {
  if (done_) return std::nullopt;
  const std::vector<float> next = model_.Next(context_, static_cast<float>(request_.temperature));
  const uint8_t token = Draw(next, random_);
  context_.push_back(token);
  ++usage_.completion_tokens;
  held_ += CharacterOf(token);
  for (const std::string& stop : request_.stop) {
    if (const size_t at = held_.find(stop); at != std::string::npos) {
      held_.resize(at);
      finish_reason_ = "stop";
      done_ = true;
      return Release(true);
    }
  }
  if (usage_.completion_tokens >= request_.max_tokens) {
    finish_reason_ = "length";
    done_ = true;
  }
  return Release(done_);
}

}  // namespace muster::lab
