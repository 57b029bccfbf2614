// Does a job keep its pace? The numbers that a training prints for each step (tokens/s, TFLOP/s,
// milliseconds), and where they fall and stay low until the text ends. Nothing else in such a log
// complains.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"

namespace muster::diagnose {

// A number that follows `anchor` (lower case) in a line; `falls`: less is slower.
struct PaceKey {
  std::string_view anchor;
  bool falls = true;
};
std::span<const PaceKey> PaceKeys();

// The first sample from which on all are below 0.8 of the median of those before it, which must be
// steady (three of four within a quarter of their median); three samples on each side at least. A
// pace that comes back is none. Pure, O(samples^2), of at most Paces::kMostSamples.
struct Fall {
  size_t at = 0;
  double before = 0, after = 0;  // medians
};
std::optional<Fall> FallOf(std::span<const double> samples);

class Paces {
 public:
  static constexpr size_t kMostSamples = 1024;

  // A line in which key number `key` stands; `folded`: the same as FoldInto makes it.
  void Line(size_t key, std::string_view line, std::string_view folded, const Place& at);
  // The text ends: a fact "pace.fell" (what, before, after) for the first key that fell.
  void End(FactStore& facts);

 private:
  struct Sample {
    double value = 0;
    Place at;
    std::string text;
  };
  struct Series {
    std::vector<Sample> samples;
    size_t seen = 0, every = 1;  // of long texts every n-th is kept
  };
  std::map<size_t, Series> series_;  // by key
};

}  // namespace muster::diagnose
