// What the server counts about itself, printed for Prometheus under vLLM's metric names
// (docs.vllm.ai, "Production Metrics"), so that a dashboard made for vLLM reads the lab as well.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/time.h"

namespace muster::lab {

// Safe for threads.
class ServeMetrics {
 public:
  explicit ServeMetrics(std::string model) : model_(std::move(model)) {}

  void Began();
  // One answer ended. `finish` is "length", "stop", "abort" (the client left) or "error".
  struct Answered {
    std::string finish;
    int prompt_tokens = 0, generation_tokens = 0;
    Duration first_token{}, whole{};
  };
  void Ended(const Answered& answered);
  int running() const;
  std::string Text() const;

 private:
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                         0.25,  0.5,    1.0,   2.5,  5.0,   10.0};
  struct Histogram {
    std::array<uint64_t, kBounds.size() + 1> counts{};
    double sum = 0;
    void Add(double value);
  };
  void Print(std::string& to, std::string_view name, std::string_view help,
             const Histogram& histogram) const;

  mutable std::mutex mutex_;
  const std::string model_;
  int running_ = 0;
  uint64_t prompt_tokens_ = 0, generation_tokens_ = 0;
  std::map<std::string, uint64_t> finished_;
  Histogram first_token_, per_token_, whole_;
};

}  // namespace muster::lab
