// Of which layer a text speaks, and whether it speaks of a failure, by its words alone: a naive
// Bayes model (complement form: Rennie et al., ICML 2003) of the golden cases and of the
// catalogue's own words, trained when the binary is built. A second opinion where no rule speaks:
// it can name where to look, and can take a clean bill of health away; it never is a finding. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace muster::diagnose::words {

// Words of two letters or more and pairs of neighbours, lower case, by how much they count: those
// of a line that complains more than others, and none more than kMostWeight however often it comes.
using Weights = std::unordered_map<std::string, double>;
inline constexpr double kMostWeight = 2.5;

// A line with a word that begins as "failed", "timed out" or "unreachable" do: what a reader looks
// at first.
bool Complains(std::string_view line);
Weights WordsOf(std::span<const std::string_view> lines);

// What the model learns from: `layer` "" is a text in which nothing is wrong.
struct Example {
  std::string layer, text;
};

// What a text reads like. No layer: none of its words was ever seen.
struct Reading {
  std::string layer;
  double failure = 0;  // above 0: more like the failures than like health
};

class Model {
 public:
  static Model Train(std::span<const std::string_view> layers, std::span<const Example> examples);
  // kInvalid, with the line: not what Write wrote.
  static Result<Model> Parse(std::string_view text);
  std::string Write() const;

  // O(words of the text x layers).
  Reading Read(std::span<const std::string_view> lines) const;
  // Of the lines that complain, the one that speaks most for `layer` and for failure; the number of
  // lines when none does.
  size_t MostTelling(std::span<const std::string_view> lines, std::string_view layer) const;

 private:
  static constexpr size_t kMostLayers = 16;
  struct Seen {  // in how many examples a word stands
    std::array<uint16_t, kMostLayers> layer{};
    uint16_t failure = 0, health = 0;
  };
  double ForLayer(const Seen& seen, size_t layer) const;
  double ForFailure(const Seen& seen) const;

  std::vector<std::string> layers_;
  Seen examples_;  // how many there are
  std::unordered_map<std::string, Seen> words_;
};

// What the build's trainer wrote for this binary; see CMakeLists.txt. Its own library defines it.
std::string_view EmbeddedModelText();

}  // namespace muster::diagnose::words
