// The model as text, between the build's training and the binary: a line of layers, a line of how
// many examples there are, then a line a word. Counts of layers are "index:count".
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/words/words.h"

namespace muster::diagnose::words {

namespace {

constexpr std::string_view kExamples = "*";

Result<uint16_t> Count(std::string_view text) {
  const auto n = ParseInt(text);
  if (!n.ok() || *n < 0 || *n > UINT16_MAX) return Fail(Code::kInvalid, "expected a count");
  return static_cast<uint16_t>(*n);
}

}  // namespace

std::string Model::Write() const {
  std::string out = Join(layers_, " ") + "\n";
  const auto add = [&](std::string_view word, const Seen& seen) {
    out += fmt::format("{}\t{}", word, seen.health);
    for (size_t i = 0; i < layers_.size(); ++i)
      if (seen.layer[i] > 0) out += fmt::format(" {}:{}", i, seen.layer[i]);
    out += '\n';
  };
  add(kExamples, examples_);
  const std::map<std::string, Seen> sorted(words_.begin(), words_.end());
  for (const auto& [word, seen] : sorted) add(word, seen);
  return out;
}

Result<Model> Model::Parse(std::string_view text) {
  Model model;
  const auto lines = Lines(text);
  if (lines.size() < 2) return Fail(Code::kInvalid, "1: expected the layers and the examples");
  for (const std::string_view layer : SplitBlank(lines[0])) model.layers_.emplace_back(layer);
  if (model.layers_.empty() || model.layers_.size() > kMostLayers)
    return Fail(Code::kInvalid, fmt::format("1: expected 1 to {} layers", kMostLayers));
  model.words_.reserve(lines.size());
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto bad = [&](std::string_view what) {
      return Fail(Code::kInvalid, fmt::format("{}: {}", i + 1, what));
    };
    const size_t tab = lines[i].find('\t');
    if (tab == std::string_view::npos) return bad("expected a word and a tab");
    const auto fields = Split(lines[i].substr(tab + 1), ' ');
    Seen seen;
    const auto health = Count(fields[0]);
    if (!health.ok()) return bad(health.error().message);
    seen.health = *health;
    for (size_t f = 1; f < fields.size(); ++f) {
      const size_t colon = fields[f].find(':');
      if (colon == std::string_view::npos) return bad("expected layer:count");
      const auto layer = Count(fields[f].substr(0, colon)),
                 count = Count(fields[f].substr(colon + 1));
      if (!layer.ok() || !count.ok() || *layer >= model.layers_.size())
        return bad("expected layer:count");
      seen.layer[*layer] = *count;
      seen.failure = static_cast<uint16_t>(seen.failure + *count);
    }
    const std::string_view word = lines[i].substr(0, tab);
    if (word == kExamples)
      model.examples_ = seen;
    else
      model.words_.emplace(word, seen);
  }
  return model;
}

}  // namespace muster::diagnose::words
