#include "backend/lab/work/serve/serve_metrics.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::lab {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

void ServeMetrics::Histogram::Add(double value) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), value) - kBounds.begin();
  ++counts[static_cast<size_t>(bucket)];
  sum += value;
}

void ServeMetrics::Began() {
  const std::lock_guard lock(mutex_);
  ++running_;
}

void ServeMetrics::Ended(const Answered& answered) {
  const std::lock_guard lock(mutex_);
  --running_;
  ++finished_[answered.finish];
  prompt_tokens_ += static_cast<uint64_t>(answered.prompt_tokens);
  generation_tokens_ += static_cast<uint64_t>(answered.generation_tokens);
  if (answered.generation_tokens == 0) return;
  first_token_.Add(Seconds(answered.first_token));
  whole_.Add(Seconds(answered.whole));
  if (answered.generation_tokens > 1) {
    per_token_.Add(Seconds(answered.whole - answered.first_token) /
                   (answered.generation_tokens - 1));
  }
}

int ServeMetrics::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void ServeMetrics::Print(std::string& to, std::string_view name, std::string_view help,
                         const Histogram& histogram) const {
  const std::string label = Escaped(model_);
  to += fmt::format("# HELP {} {}\n# TYPE {} histogram\n", name, help, name);
  uint64_t below = 0;
  for (size_t i = 0; i <= kBounds.size(); ++i) {
    below += histogram.counts[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    to += fmt::format("{}_bucket{{model_name=\"{}\",le=\"{}\"}} {}\n", name, label, bound, below);
  }
  to += fmt::format("{}_sum{{model_name=\"{}\"}} {}\n", name, label, histogram.sum);
  to += fmt::format("{}_count{{model_name=\"{}\"}} {}\n", name, label, below);
}

std::string ServeMetrics::Text() const {
  const std::lock_guard lock(mutex_);
  const std::string label = Escaped(model_);
  std::string text;
  const auto single = [&](std::string_view name, std::string_view type, std::string_view help,
                          uint64_t value) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0}{{model_name=\"{3}\"}} {4}\n", name,
                        type, help, label, value);
  };
  single("vllm:num_requests_running", "gauge", "Requests being answered now.",
         static_cast<uint64_t>(std::max(0, running_)));
  single("vllm:prompt_tokens_total", "counter", "Prompt tokens read.", prompt_tokens_);
  single("vllm:generation_tokens_total", "counter", "Tokens generated.", generation_tokens_);
  text +=
      "# HELP vllm:request_success_total Answers by how they ended.\n"
      "# TYPE vllm:request_success_total counter\n";
  for (const auto& [finish, count] : finished_) {
    text +=
        fmt::format("vllm:request_success_total{{finished_reason=\"{}\",model_name=\"{}\"}} {}\n",
                    finish, label, count);
  }
  Print(text, "vllm:time_to_first_token_seconds", "Time to the first token.", first_token_);
  Print(text, "vllm:request_time_per_output_token_seconds", "Time per token after the first.",
        per_token_);
  Print(text, "vllm:e2e_request_latency_seconds", "Time to the last token.", whole_);
  return text;
}

}  // namespace muster::lab
