#include "backend/lab/work/trainer/model.h"

#include <algorithm>
#include <cmath>

#include "backend/lab/work/trainer/gemm.h"
#include "backend/lab/work/trainer/text.h"
#include "base/check.h"

namespace muster::lab {
namespace {

constexpr size_t kWords = kVocabulary;

template <typename T>
void Grow(std::vector<T>& v, size_t size) {
  if (v.size() < size) v.resize(size);
}

void AddRows(size_t rows, size_t columns, std::span<const float> bias, float* to) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t j = 0; j < columns; ++j) to[r * columns + j] += bias[j];
}

void SumRows(size_t rows, size_t columns, const float* from, std::span<float> to) {
  std::fill(to.begin(), to.end(), 0.0f);
  for (size_t r = 0; r < rows; ++r)
    for (size_t j = 0; j < columns; ++j) to[j] += from[r * columns + j];
}

}  // namespace

size_t ModelShape::Parameters() const {
  const auto h = static_cast<size_t>(hidden);
  return kWords * static_cast<size_t>(embedding) + inputs() * h + h + h * kWords + kWords;
}

double ModelShape::FlopsPerToken() const {
  const auto h = static_cast<size_t>(hidden);
  return 6.0 * static_cast<double>(inputs() * h + h * kWords);
}

Batch SampleBatch(std::span<const uint8_t> text, const ModelShape& shape, size_t size,
                  Random& random) {
  const auto window = static_cast<size_t>(shape.context);
  CHECK(text.size() > window, "the text is longer than a window");
  Batch batch;
  batch.contexts.reserve(size * window);
  batch.targets.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    const size_t start = random.Below(text.size() - window);
    batch.contexts.insert(batch.contexts.end(), text.begin() + static_cast<ptrdiff_t>(start),
                          text.begin() + static_cast<ptrdiff_t>(start + window));
    batch.targets.push_back(text[start + window]);
  }
  return batch;
}

CharModel::Layout CharModel::LayoutOf(const ModelShape& shape) {
  const auto h = static_cast<size_t>(shape.hidden);
  Layout at{};
  at.embedding = 0;
  at.w1 = kWords * static_cast<size_t>(shape.embedding);
  at.b1 = at.w1 + shape.inputs() * h;
  at.w2 = at.b1 + h;
  at.b2 = at.w2 + h * kWords;
  at.end = at.b2 + kWords;
  return at;
}

CharModel::CharModel(const ModelShape& shape, uint64_t seed)
    : shape_(shape), at_(LayoutOf(shape)), parameters_(at_.end) {
  SeededRandom random(seed);
  const auto uniform = [&](size_t from, size_t to, double limit) {
    for (size_t i = from; i < to; ++i)
      parameters_[i] = static_cast<float>((2 * random.Unit() - 1) * limit);
  };
  // He et al. 2015 for the rectified layer; a small output layer starts near the uniform guess.
  uniform(at_.embedding, at_.w1, 1.0);
  uniform(at_.w1, at_.b1, std::sqrt(6.0 / static_cast<double>(shape.inputs())));
  uniform(at_.w2, at_.b2, 0.02);
}

void CharModel::Forward(std::span<const uint8_t> contexts, size_t rows) {
  const size_t in = shape_.inputs(), h = static_cast<size_t>(shape_.hidden),
               e = static_cast<size_t>(shape_.embedding);
  Grow(input_, rows * in);
  Grow(hidden_, rows * h);
  Grow(probability_, rows * kWords);
  const std::span<const float> all(parameters_);
  for (size_t i = 0; i < contexts.size(); ++i)
    std::copy_n(parameters_.begin() + static_cast<ptrdiff_t>(at_.embedding + contexts[i] * e), e,
                input_.begin() + static_cast<ptrdiff_t>(i * e));
  Gemm(rows, h, in, input_, all.subspan(at_.w1), hidden_);
  AddRows(rows, h, all.subspan(at_.b1, h), hidden_.data());
  for (size_t i = 0; i < rows * h; ++i) hidden_[i] = std::max(hidden_[i], 0.0f);
  Gemm(rows, kWords, h, hidden_, all.subspan(at_.w2), probability_);
  AddRows(rows, kWords, all.subspan(at_.b2, kWords), probability_.data());
}

void CharModel::Softmax(size_t rows, float temperature) {
  for (size_t r = 0; r < rows; ++r) {
    const std::span<float> row = std::span(probability_).subspan(r * kWords, kWords);
    const float highest = *std::max_element(row.begin(), row.end());
    float sum = 0;
    for (float& p : row) sum += p = std::exp((p - highest) / temperature);
    for (float& p : row) p /= sum;
  }
}

float CharModel::LossAndGradient(const Batch& batch, std::span<float> gradient) {
  CHECK(gradient.size() == parameters_.size(), "a gradient for each parameter");
  const size_t rows = batch.size(), in = shape_.inputs(), h = static_cast<size_t>(shape_.hidden),
               e = static_cast<size_t>(shape_.embedding);
  Forward(batch.contexts, rows);
  Softmax(rows, 1.0f);

  float loss = 0;
  const float each = 1.0f / static_cast<float>(rows);
  for (size_t r = 0; r < rows; ++r) {
    float& right = probability_[r * kWords + batch.targets[r]];
    loss -= std::log(std::max(right, 1e-30f));
    right -= 1.0f;
  }
  for (size_t i = 0; i < rows * kWords; ++i) probability_[i] *= each;

  Grow(transposed_, std::max({rows * h, rows * in, h * kWords, in * h}));
  Grow(hidden_gradient_, rows * h);
  Grow(input_gradient_, rows * in);
  const std::span<const float> all(parameters_);

  Transpose(rows, h, hidden_, transposed_);
  Gemm(h, kWords, rows, transposed_, probability_, gradient.subspan(at_.w2));
  SumRows(rows, kWords, probability_.data(), gradient.subspan(at_.b2, kWords));

  Transpose(h, kWords, all.subspan(at_.w2), transposed_);
  Gemm(rows, h, kWords, probability_, transposed_, hidden_gradient_);
  for (size_t i = 0; i < rows * h; ++i)
    hidden_gradient_[i] = hidden_[i] > 0.0f ? hidden_gradient_[i] : 0.0f;

  Transpose(rows, in, input_, transposed_);
  Gemm(in, h, rows, transposed_, hidden_gradient_, gradient.subspan(at_.w1));
  SumRows(rows, h, hidden_gradient_.data(), gradient.subspan(at_.b1, h));

  Transpose(in, h, all.subspan(at_.w1), transposed_);
  Gemm(rows, in, h, hidden_gradient_, transposed_, input_gradient_);
  std::fill_n(gradient.begin() + static_cast<ptrdiff_t>(at_.embedding), at_.w1, 0.0f);
  for (size_t i = 0; i < batch.contexts.size(); ++i)
    for (size_t j = 0; j < e; ++j)
      gradient[at_.embedding + batch.contexts[i] * e + j] += input_gradient_[i * e + j];
  return loss * each;
}

std::vector<float> CharModel::Next(std::span<const uint8_t> text, float temperature) {
  const auto window = static_cast<size_t>(shape_.context);
  std::vector<uint8_t> context(window, TokenOf(' '));
  const size_t known = std::min(window, text.size());
  std::copy(text.end() - static_cast<ptrdiff_t>(known), text.end(),
            context.end() - static_cast<ptrdiff_t>(known));
  Forward(context, 1);
  Softmax(1, std::max(temperature, 0.01f));
  return {probability_.begin(), probability_.begin() + kWords};
}

uint8_t Draw(std::span<const float> probabilities, Random& random) {
  auto left = static_cast<float>(random.Unit());
  for (size_t i = 0; i < probabilities.size(); ++i) {
    left -= probabilities[i];
    if (left < 0) return static_cast<uint8_t>(i);
  }
  return static_cast<uint8_t>(std::max_element(probabilities.begin(), probabilities.end()) -
                              probabilities.begin());
}

void Adam::Step(std::span<float> parameters, std::span<const float> gradient) {
  constexpr float kBeta1 = 0.9f, kBeta2 = 0.99f, kEpsilon = 1e-8f;
  ++steps_;
  const float fix1 = 1.0f - std::pow(kBeta1, static_cast<float>(steps_));
  const float fix2 = 1.0f - std::pow(kBeta2, static_cast<float>(steps_));
  const float rate = rate_ * std::sqrt(fix2) / fix1;
  for (size_t i = 0; i < parameters.size(); ++i) {
    first_[i] += (1 - kBeta1) * (gradient[i] - first_[i]);
    second_[i] += (1 - kBeta2) * (gradient[i] * gradient[i] - second_[i]);
    parameters[i] -= rate * first_[i] / (std::sqrt(second_[i]) + kEpsilon);
  }
}

}  // namespace muster::lab
