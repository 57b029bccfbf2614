// The language model of the lab: the next character from the sixteen before it, by an embedding,
// one hidden layer and a softmax (Bengio et al., "A Neural Probabilistic Language Model", JMLR
// 2003). Small enough that a gang of processes on two cores learns it in seconds; nearly all of its
// work is matrix multiplication, so that MFU means something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "world/random.h"

namespace muster::lab {

struct ModelShape {
  int context = 16, embedding = 16, hidden = 256;

  size_t inputs() const { return static_cast<size_t>(context) * static_cast<size_t>(embedding); }
  size_t Parameters() const;
  // Training FLOPs per token by 6N (2 forward, 4 backward; arXiv 2204.02311), N without the input
  // embedding, as usual.
  double FlopsPerToken() const;
  bool operator==(const ModelShape&) const = default;
};

// Examples in rows: `context` tokens each, and the token that follows.
struct Batch {
  std::vector<uint8_t> contexts;
  std::vector<uint8_t> targets;
  size_t size() const { return targets.size(); }
};
// Windows of the text at places that `random` chooses; the text must be longer than a window.
Batch SampleBatch(std::span<const uint8_t> text, const ModelShape& shape, size_t size,
                  Random& random);

// The parameters in one flat vector (so that gradients are reduced, and checkpoints cut, without
// knowing layers) and the work space of one thread.
class CharModel {
 public:
  CharModel(const ModelShape& shape, uint64_t seed);  // the same seed gives the same parameters

  const ModelShape& shape() const { return shape_; }
  std::vector<float>& parameters() { return parameters_; }
  const std::vector<float>& parameters() const { return parameters_; }

  // Mean cross-entropy in nats; `gradient` (as long as the parameters) is overwritten.
  float LossAndGradient(const Batch& batch, std::span<float> gradient);
  // The probabilities of the next token after `text` (its last `context` tokens; blanks are put
  // before a shorter one).
  std::vector<float> Next(std::span<const uint8_t> text, float temperature);

 private:
  struct Layout {
    size_t embedding, w1, b1, w2, b2, end;
  };
  static Layout LayoutOf(const ModelShape& shape);
  void Forward(std::span<const uint8_t> contexts, size_t rows);
  void Softmax(size_t rows, float temperature);

  ModelShape shape_;
  Layout at_;
  std::vector<float> parameters_;
  std::vector<float> input_, hidden_, probability_, hidden_gradient_, input_gradient_, transposed_;
};

// Draws a token from the probabilities.
uint8_t Draw(std::span<const float> probabilities, Random& random);

// Adam (Kingma and Ba, 2015) with its two moments beside the parameters.
class Adam {
 public:
  Adam(size_t parameters, float rate) : rate_(rate), first_(parameters), second_(parameters) {}
  void Step(std::span<float> parameters, std::span<const float> gradient);
  // Kept in checkpoints, so that a resumed run goes on where it was.
  std::vector<float>& first() { return first_; }
  std::vector<float>& second() { return second_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  float rate_;
  int64_t steps_ = 0;
  std::vector<float> first_, second_;
};

}  // namespace muster::lab
